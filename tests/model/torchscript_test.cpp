// TorchScript files, made here with LibTorch alone: what is computed, and what is refused.
#include "model/torchscript.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <functional>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "checkpoint/torch_file.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kVocab = 7;

// Logits of token v after token t: table[t][v], all distinct in a row.
at::Tensor table() {
  const at::Tensor t = at::arange(kVocab, at::kFloat).unsqueeze(1), v = at::arange(kVocab, at::kFloat).unsqueeze(0);
  return (t * 3 + v * 5).remainder(7) * 0.5;
}

constexpr const char* kForward = R"(
def forward(self, ids):
    return self.table[ids]
)";

std::string save(const TemporaryFolder& folder, const std::string& source, const std::string& facts = "") {
  torch::jit::Module module("Table");
  module.register_parameter("table", table(), false);
  module.define(source);
  std::string path = folder / "table.pt";
  std::unordered_map<std::string, std::string> extra;
  if (!facts.empty()) extra["lenbench.json"] = facts;
  module.save(path, extra);
  return path;
}

Sample sample_of(std::vector<std::int32_t> tokens, std::vector<ScoredToken> scored) {
  Sample sample;
  sample.tokens = std::move(tokens);
  sample.scored = std::move(scored);
  return sample;
}

// Two of three tokens and one of two: groups of other lengths than the batch.
std::vector<Sample> samples() {
  return {sample_of({1, 2, 3}, {{1, 4, 0, false}, {2, 0, 1, false}}), sample_of({5, 6}, {{1, 2, 0, false}}),
          sample_of({0, 4, 2}, {{0, 4, 0, true}, {2, 6, 1, false}})};
}

void expect_table_answers(Predictor& predictor) {
  const std::vector<Sample> asked = samples();
  const std::vector<SamplePrediction> said = predictor.predict(asked, {}, nullptr);
  ASSERT_EQ(said.size(), asked.size());
  for (std::size_t s = 0; s < asked.size(); ++s) {
    ASSERT_EQ(said[s].argmax.size(), asked[s].scored.size());
    for (std::size_t i = 0; i < asked[s].scored.size(); ++i) {
      const std::int64_t token = asked[s].tokens[static_cast<std::size_t>(asked[s].scored[i].position)];
      // The row's largest logit is 3, where (3 t + 5 v) % 7 is 6.
      std::int64_t best = 0;
      double sum = 0;
      for (std::int64_t v = 0; v < kVocab; ++v) {
        if ((3 * token + 5 * v) % 7 == 6) best = v;
        sum += std::exp(0.5 * static_cast<double>((3 * token + 5 * v) % 7));
      }
      const std::int64_t target = asked[s].scored[i].target;
      EXPECT_EQ(said[s].argmax[i], best);
      EXPECT_NEAR(said[s].nll[i], std::log(sum) - 0.5 * static_cast<double>((3 * token + 5 * target) % 7), 1e-12);
    }
    EXPECT_EQ(said[s].first_nonfinite, -1);
  }
}

TEST(TorchScript, ForwardGivesLogitsOfAllRows) {
  const TemporaryFolder folder;
  const std::string path = save(folder, kForward);
  EXPECT_EQ(torch_file_kind(path), TorchFile::kScript);
  const auto predictor = open_torchscript(path, {});
  expect_table_answers(*predictor);
  EXPECT_EQ(predictor->info().name, "table");
  EXPECT_EQ(predictor->info().checkpoint_sha256, sha256_file(path));
  EXPECT_EQ(predictor->info().num_parameters, kVocab * kVocab);
  EXPECT_EQ(predictor->info().dtype, "float32");
  EXPECT_EQ(predictor->info().vocab_size, 0);
}

TEST(TorchScript, ATupleAndTheMethodForRowsServeAsWell) {
  const TemporaryFolder folder;
  expect_table_answers(*open_torchscript(save(folder, R"(
def forward(self, ids):
    return (self.table[ids].double(), ids)
)"),
                                         {}));
  expect_table_answers(*open_torchscript(save(folder, R"(
def forward(self, ids):
    return ids
def logits_at(self, ids, rows):
    return self.table[ids.gather(1, rows)]
)"),
                                         {}));
}

TEST(TorchScript, FactsComeFromTheExtraFile) {
  const TemporaryFolder folder;
  const auto predictor = open_torchscript(
      save(folder, kForward,
           R"({"name":"mine","vocab_size":7,"max_tokens":99,"train_length":64,"transform":"softmax"})"),
      {});
  EXPECT_EQ(predictor->info().name, "mine");
  EXPECT_EQ(predictor->info().vocab_size, kVocab);
  EXPECT_EQ(predictor->info().max_positions, 99);
  EXPECT_EQ(predictor->info().train_length, 64);
  EXPECT_EQ(predictor->info().transform, "softmax");
  EXPECT_THAT(error_of([&] { open_torchscript(save(folder, kForward, R"({"vocab":7})"), {}); }),
              AllOf(HasSubstr("lenbench.json"), HasSubstr("vocab")));
  EXPECT_THAT(error_of([&] { open_torchscript(save(folder, kForward, R"({"vocab_size":-7})"), {}); }),
              HasSubstr("-7, below 0"));
}

TEST(TorchScript, WrongResultsAreNamed) {
  const TemporaryFolder folder;
  const auto failure = [&](const std::string& source, const std::string& facts = "") {
    const auto predictor = open_torchscript(save(folder, source, facts), {});
    return error_of([&] { predictor->predict(samples(), {}, nullptr); }, ExitCode::kNotMeasured);
  };
  EXPECT_THAT(failure("def forward(self, ids):\n    return ids\n"),
              AllOf(HasSubstr("forward gave a tensor of shape [1, 2], type Long"), HasSubstr("[1, 2, vocabulary]")));
  EXPECT_THAT(failure("def forward(self, ids):\n    return self.table[ids][:, :1]\n"), HasSubstr("shape [1, 1, 7]"));
  EXPECT_THAT(failure("def forward(self, ids):\n    return 3\n"), HasSubstr("forward gave Int"));
  EXPECT_THAT(failure("def forward(self, ids):\n    return self.table[ids + 5]\n"), HasSubstr("the module failed on"));
  EXPECT_THAT(failure("def forward(self, ids):\n    return self.table[ids][:, :, :2]\n"),
              HasSubstr("outside the module's vocabulary of 2"));
  EXPECT_THAT(failure(kForward, R"({"vocab_size":9})"), HasSubstr("logits of 7 tokens, and lenbench.json says 9"));
}

TEST(TorchScript, NonFiniteRowsAreSaidWithTheirPosition) {
  const TemporaryFolder folder;
  const auto predictor =
      open_torchscript(save(folder, "def forward(self, ids):\n    return self.table[ids].log()\n"), {});
  const std::vector<SamplePrediction> said = predictor->predict(samples(), {}, nullptr);
  EXPECT_EQ(said[0].first_nonfinite, 1);
  EXPECT_THAT(said[0].argmax, ElementsAre(-1, -1));
}

TEST(TorchScript, WhatAFinishedModuleCannotChangeIsRefused) {
  const TemporaryFolder folder;
  const std::string path = save(folder, kForward);
  const auto refusal = [&](const std::function<void(OpenOptions&)>& change) {
    OpenOptions options;
    change(options);
    return error_of([&] { open_torchscript(path, options); });
  };
  EXPECT_THAT(refusal([](OpenOptions& options) { options.dtype = "float64"; }), HasSubstr("--dtype"));
  EXPECT_THAT(refusal([](OpenOptions& options) { options.transform = "adaptive-temperature"; }),
              HasSubstr("--transform"));
  EXPECT_THAT(refusal([](OpenOptions& options) { options.attention_path = "reference"; }),
              HasSubstr("--attention-path"));
  Probe probe;
  probe.rows = ProbeRows::kAnswer;
  EXPECT_THAT(error_of([&] { open_torchscript(path, {})->predict(samples(), {.probe = ProbeRows::kAnswer}, &probe); }),
              HasSubstr("shows no attention"));
}

TEST(TorchScript, DamagedFilesAreOneLine) {
  const TemporaryFolder folder;
  const std::string whole = read_file(save(folder, kForward)), path = folder / "cut.pt";
  for (const std::size_t bytes : {whole.size() / 2, whole.size() - 30, std::size_t{0}}) {
    write_file_atomically(path, whole.substr(0, bytes));
    EXPECT_THAT(error_of([&] { open_torchscript(path, {}); }), HasSubstr("cannot be loaded as TorchScript"));
  }
}

}  // namespace
}  // namespace lenbench
