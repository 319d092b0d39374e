// Devices and the types that belong to them.
#include "model/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "model/predictor.h"

namespace lenbench {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string fixture(const std::string& name) { return std::string(LENBENCH_TEST_DATA) + "/model/reference/" + name; }

std::string refusal(const std::string& device, bool tf32 = false) {
  try {
    open_device(device, tf32);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

TEST(Devices, WhatIsMissingIsSaidInOneLine) {
  EXPECT_EQ(refusal("cpu"), "");
  // On a machine with a CUDA device and LibTorch's part for it, it opens.
  const std::string cuda = refusal("cuda");
  EXPECT_THAT(cuda, AnyOf(IsEmpty(), HasSubstr("device cuda: this LibTorch has no CUDA part"),
                          HasSubstr("device cuda: LibTorch finds no CUDA device")));
  EXPECT_EQ(cuda.find('\n'), std::string::npos);
  EXPECT_THAT(refusal("cuda:99"), HasSubstr("device cuda:99: "));
  EXPECT_THAT(refusal("cuda:x"), HasSubstr("cuda:N"));
  EXPECT_THAT(refusal("tpu"), HasSubstr("device 'tpu' is not known"));
  EXPECT_THAT(refusal("cpu", true), HasSubstr("tf32 is for CUDA devices"));
}

TEST(Devices, Bfloat16IsFloat32RoundedOnTheWay) {
  OpenOptions options;
  const std::unique_ptr<Predictor> exact = open_predictor(fixture("asentmax-nape"), options);
  options.dtype = "bfloat16";
  const std::unique_ptr<Predictor> rounded = open_predictor(fixture("asentmax-nape"), options);
  EXPECT_EQ(rounded->info().dtype, "bfloat16");
  Sample sample;
  for (std::int32_t t = 0; t < 40; ++t)
    sample.tokens.push_back(t * 7 % static_cast<std::int32_t>(exact->info().vocab_size));
  for (std::int64_t t = 10; t < 39; ++t)
    sample.scored.push_back({t, sample.tokens[static_cast<std::size_t>(t + 1)], -1, false});
  const SamplePrediction a = exact->predict({&sample, 1}, {}, nullptr).at(0),
                         b = rounded->predict({&sample, 1}, {}, nullptr).at(0);
  double largest = 0;
  for (std::size_t i = 0; i < a.nll.size(); ++i) largest = std::max(largest, std::abs(a.nll[i] - b.nll[i]));
  EXPECT_GT(largest, 0) << "nothing was rounded";
  EXPECT_LT(largest, 0.1);
}

}  // namespace
}  // namespace lenbench
