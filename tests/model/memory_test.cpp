// What a call of the Predictor takes of memory, said before and kept to; and what happens where there is less.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "model/predictor.h"
#include "random_models.h"
#include "tests/base/sanitized.h"

namespace lenbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::int64_t kibibytes = 0;
  while (status >> word && word != key) {
  }
  status >> kibibytes;
  return kibibytes * 1024;
}

TEST(Predictor, PredictedMemoryCoversTheMeasuredPeak) {
  LENBENCH_SKIP_IF_SANITIZED();
  DecoderConfig config;
  config.vocab_size = 390;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_layers = 2;
  config.num_heads = config.num_kv_heads = 8;
  config.head_dim = 16;
  config.positions = "nape";
  config.alibi_num_heads = 4;
  config.entmax_alpha = 1.5;
  const auto predictor = make_predictor(random_decoder(config, 3, at::kFloat), {}, AttentionPath::kAuto);
  const Sample sample = sample_of(16384, config.vocab_size, 1, {16380, 16383});
  // The pages of code that a first call touches are no part of what a call takes.
  const Sample small = sample_of(4096, config.vocab_size, 1, {4095});
  Probe warm;
  predictor->predict(std::span(&small, 1), {ProbeRows::kAnswer}, &warm);
  malloc_trim(0);  // what earlier tests freed would hide what this one takes
  std::ofstream reset("/proc/self/clear_refs");
  if (!(reset << "5" << std::flush)) GTEST_SKIP() << "the peak of this process cannot be reset here";
  const std::int64_t before = status_bytes("VmRSS:");
  Probe probe;
  predictor->predict(std::span(&sample, 1), {ProbeRows::kAnswer}, &probe);
  const std::int64_t measured = status_bytes("VmHWM:") - before, predicted = predictor->predicted_bytes(1, 16384, 2);
  EXPECT_GE(predicted, measured) << predicted - measured;
  EXPECT_LE(predicted, 2 * measured);
  EXPECT_GT(predictor->predicted_bytes(1, 65536, 2), 3 * predicted);
}

TEST(Predictor, AllocationFailureIsAReasonAndTheNextCallWorks) {
  LENBENCH_SKIP_IF_SANITIZED();
  DecoderConfig config = random_config(1);
  config.hidden_size = 256;
  const auto predictor = make_predictor(random_decoder(config, 3, at::kFloat), {}, AttentionPath::kReference);
  const Sample small = sample_of(4096, config.vocab_size, 1, {4095});
  const Sample large = sample_of(1 << 18, config.vocab_size, 1, {63});
  predictor->predict(std::span(&small, 1), {}, nullptr);

  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{}, limited{};
  getrlimit(RLIMIT_AS, &before);
  limited = before;
  limited.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (std::int64_t{100} << 20));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  std::string message;
  ExitCode code = ExitCode::kOk;
  try {
    predictor->predict(std::span(&large, 1), {}, nullptr);
  } catch (const Error& error) {
    message = error.what();
    code = error.code();
  }
  setrlimit(RLIMIT_AS, &before);
  EXPECT_THAT(message, AllOf(HasSubstr("out of memory"), HasSubstr("1 x 262144 tokens")));
  EXPECT_EQ(code, ExitCode::kNotMeasured);
  EXPECT_EQ(predictor->predict(std::span(&small, 1), {}, nullptr)[0].first_nonfinite, -1);
}

}  // namespace
}  // namespace lenbench
