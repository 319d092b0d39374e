// Saving and loading: bit for bit, rounded types, refusals.
#include "model/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "../checkpoint/temp_folder.h"
#include "base/error.h"
#include "base/files.h"
#include "model/verify.h"
#include "random_models.h"

namespace lenbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string fixture(const std::string& model) { return std::string(LENBENCH_TEST_DATA) + "/model/reference/" + model; }

void expect_equal(const Decoder& left, const Decoder& right) {
  ASSERT_EQ(left.parameters().size(), right.parameters().size());
  for (std::size_t i = 0; i < left.parameters().size(); ++i) {
    EXPECT_EQ(left.parameters()[i].first, right.parameters()[i].first);
    EXPECT_TRUE(left.parameters()[i].second.equal(right.parameters()[i].second)) << left.parameters()[i].first;
  }
}

TEST(SaveCheckpoint, RoundTripIsBitForBit) {
  for (int index = 0; index < 10; ++index) {
    const TempFolder folder;
    const DecoderConfig config = random_config(index);
    for (const auto& [dtype, stored] : {std::pair{at::kFloat, Dtype::kF32}, std::pair{at::kDouble, Dtype::kF64}}) {
      const Decoder decoder = random_decoder(config, 3, dtype);
      Origin origin;
      origin.name = "model | with\n odd name";
      origin.train_length = 64;
      origin.seed = std::numeric_limits<std::uint64_t>::max();
      save_checkpoint(folder.file("deep/model"), decoder, origin, stored);
      const Checkpoint checkpoint = Checkpoint::open(folder.file("deep/model"));
      EXPECT_EQ(checkpoint.config(), config);
      EXPECT_EQ(checkpoint.origin(), origin);
      expect_equal(load_decoder(checkpoint, dtype), decoder);
      const std::string bytes = read_file(folder.file("deep/model/model.safetensors"));
      save_checkpoint(folder.file("deep/model"), decoder, origin, stored);
      EXPECT_EQ(read_file(folder.file("deep/model/model.safetensors")), bytes);
    }
  }
}

TEST(SaveCheckpoint, ReferenceModelSurvivesAndStillVerifies) {
  const TempFolder folder;
  const Decoder decoder = load_decoder(Checkpoint::open(fixture("asentmax-nape")));
  save_checkpoint(folder.file("copy"), decoder, {});
  expect_equal(load_decoder(Checkpoint::open(folder.file("copy"))), decoder);
  EXPECT_TRUE(verify_checkpoint(folder.file("copy"), fixture("asentmax-nape") + "/expected.safetensors",
                                fixture("asentmax-nape") + "/attention.json", {})
                  .passed());
}

TEST(SaveCheckpoint, HalfTypesRoundToNearestEvenAndAreReadBackExactly) {
  const TempFolder folder;
  const Decoder decoder = random_decoder(random_config(0), 3, at::kFloat);
  at::Tensor norm = decoder.parameter("model.norm.weight");
  // 1 + 2^-8 lies half way between two BF16 numbers, 1 + 2^-11 between two F16 numbers; the even one is 1.
  norm[0].fill_(1 + std::ldexp(1.0, -8));
  norm[1].fill_(1 + std::ldexp(1.0, -11));
  norm[2].fill_(1 + 3 * std::ldexp(1.0, -8));
  const auto stored_as = [&](Dtype dtype) {
    save_checkpoint(folder.file("half"), decoder, {}, dtype);
    return load_decoder(Checkpoint::open(folder.file("half"))).parameter("model.norm.weight");
  };
  const at::Tensor brain = stored_as(Dtype::kBF16), half = stored_as(Dtype::kF16);
  EXPECT_EQ(brain.scalar_type(), at::kFloat);
  EXPECT_EQ(brain[0].item<double>(), 1.0);
  EXPECT_EQ(brain[2].item<double>(), 1 + std::ldexp(1.0, -6));
  EXPECT_EQ(half[0].item<double>(), 1 + std::ldexp(1.0, -8));
  EXPECT_EQ(half[1].item<double>(), 1.0);
}

TEST(SaveCheckpoint, NonFiniteWeightsAreNeverWritten) {
  const TempFolder folder;
  const Decoder decoder = random_decoder(random_config(0), 3, at::kFloat);
  save_checkpoint(folder.file("model"), decoder, {});
  const std::string before = read_file(folder.file("model/model.safetensors"));
  at::Tensor(decoder.parameter("model.norm.weight"))[1].fill_(1e30);
  try {
    save_checkpoint(folder.file("model"), decoder, {}, Dtype::kF16);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNotMeasured);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("model.norm.weight"), HasSubstr("F16")));
  }
  EXPECT_EQ(read_file(folder.file("model/model.safetensors")), before);
}

TEST(SaveCheckpoint, UnusableFolderIsReported) {
  const TempFolder folder;
  folder.write("file", "x");
  const Decoder decoder = random_decoder(random_config(0), 3, at::kFloat);
  try {
    save_checkpoint(folder.file("file/model"), decoder, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kNotMeasured);
  }
}

TEST(LoadDecoder, RefusesWhatIsNotFiniteAsStoredOrAsComputed) {
  const TempFolder folder;
  const Decoder decoder = random_decoder(random_config(0), 3, at::kDouble);
  at::Tensor(decoder.parameter("model.norm.weight"))[2].fill_(1e300);
  save_checkpoint(folder.file("model"), decoder, {}, Dtype::kF64);
  EXPECT_NO_THROW(load_decoder(Checkpoint::open(folder.file("model")), at::kDouble));
  try {
    load_decoder(Checkpoint::open(folder.file("model")), at::kFloat);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("model.norm.weight"), HasSubstr("float64")));
  }
}

TEST(LoadDecoder, TiedWeightsShareStorage) {
  const TempFolder folder;
  DecoderConfig config = random_config(0);
  config.tie_word_embeddings = true;
  save_checkpoint(folder.file("model"), random_decoder(config, 3, at::kFloat), {});
  const Decoder decoder = load_decoder(Checkpoint::open(folder.file("model")));
  EXPECT_THROW(decoder.parameter("lm_head.weight"), std::invalid_argument);
  at::Tensor embedding = decoder.parameter("model.embed_tokens.weight");
  const at::Tensor ones = at::Tensor(decoder.parameter("model.norm.weight")).detach().clone().fill_(1).unsqueeze(0);
  const at::Tensor before = decoder.logits(ones);
  embedding.mul_(2);
  EXPECT_TRUE(decoder.logits(ones).equal(before.mul(2)));
}

}  // namespace
}  // namespace lenbench
