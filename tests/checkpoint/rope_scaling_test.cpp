// Scaled rotary frequencies against the transformers library's (5.24, single precision), and their names.
#include "checkpoint/rope_scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace lenbench {
namespace {

using Kind = RopeScaling::Kind;
using testing::AllOf;
using testing::HasSubstr;

struct Frequencies {
  const char* scaling;
  std::int64_t context, length;
  double base;
  std::vector<double> expected;
  double attention_factor;
};

class RopeFrequencies : public testing::TestWithParam<Frequencies> {};

TEST_P(RopeFrequencies, AreThoseOfTransformers) {
  const Frequencies& wanted = GetParam();
  const RopeScaling scaling = parse_rope_scaling(wanted.scaling, wanted.context);
  check_rope_scaling(scaling, wanted.base, 16, "test");
  const std::vector<double> got = rope_frequencies(scaling, wanted.base, 16, wanted.length);
  ASSERT_EQ(got.size(), wanted.expected.size());
  for (std::size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c] / wanted.expected[c], 1, 1e-6) << c;
  EXPECT_NEAR(rope_attention_factor(scaling), wanted.attention_factor, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
    All, RopeFrequencies,
    testing::Values(
        Frequencies{"linear:factor=4",
                    64,
                    500,
                    10000,
                    {0.25, 0.079056941, 0.0250000004, 0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012,
                     7.90569466e-05},
                    1},
        Frequencies{
            "dynamic:factor=2",
            64,
            64,
            10000,
            {1, 0.316227764, 0.100000001, 0.0316227786, 0.00999999978, 0.00316227786, 0.00100000005, 0.000316227786},
            1},
        Frequencies{
            "dynamic:factor=2",
            64,
            256,
            10000,
            {1, 0.239481375, 0.057351321, 0.0137345716, 0.00328917382, 0.00078769587, 0.000188638471, 4.51753949e-05},
            1},
        Frequencies{"llama3:factor=8,low=1,high=4,original=8192",
                    131072,
                    9000,
                    500000,
                    {1, 0.193922758, 0.0376060307, 0.00729266508, 0.000524846022, 3.42810235e-05, 6.64786967e-06,
                     1.28917316e-06},
                    1},
        Frequencies{
            "yarn:factor=4,original=8192",
            32768,
            9000,
            10000,
            {1, 0.316227764, 0.100000001, 0.0316227786, 0.0081249997, 0.00197642366, 0.000437500014, 7.90569466e-05},
            1.138629436111989},
        Frequencies{
            "yarn:factor=4,original=8192,truncate=false,beta_fast=16,beta_slow=2,mscale=0.5,mscale_all_dim=1",
            32768,
            9000,
            10000,
            {1, 0.316227764, 0.100000001, 0.0316227786, 0.0092616193, 0.001615674, 0.000250000012, 7.90569466e-05},
            0.939124428143471}),
    [](const auto& test) { return "case" + std::to_string(test.index); });

TEST(RopeScaling, WithoutOneTheFrequenciesAreThePlainOnes) {
  const std::vector<double> plain = rope_frequencies({}, 100, 4, 7);
  EXPECT_DOUBLE_EQ(plain[0], 1);
  EXPECT_DOUBLE_EQ(plain[1], 0.1);
}

TEST(RopeScaling, AParameterGivenTwiceIsRefused) {
  try {
    parse_rope_scaling("yarn:factor=4,original=32,factor=2", 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("factor is given twice"), std::string::npos) << error.what();
  }
}

TEST(RopeScaling, WhatIsGivenIsJudgedAsGiven) {
  const auto check = [](const char* text) { check_rope_scaling(parse_rope_scaling(text, 0), 100, 4, "here"); };
  for (const char* text : {"none:factor=4", "default:factor=4", "yarn:factor=4,original=0"}) {
    try {
      check(text);
      FAIL() << text;
    } catch (const Error& error) {
      const bool is_none = std::string(text).find("original") == std::string::npos;
      EXPECT_NE(
          std::string(error.what()).find(is_none ? "takes no parameters" : "original_max_position_embeddings is 0"),
          std::string::npos)
          << error.what();
    }
  }
}

TEST(RopeScaling, TextSaysWhatItTakesToBeReadBack) {
  EXPECT_EQ(rope_scaling_text({}), "");
  EXPECT_EQ(rope_scaling_text(parse_rope_scaling("linear:factor=4", 0)), "linear(factor=4)");
  EXPECT_EQ(rope_scaling_text(parse_rope_scaling("dynamic:factor=2", 64)), "dynamic(factor=2,original=64)");
  for (const std::string text : {"yarn:factor=4,beta_fast=8,original=32,attention_factor=1.25,truncate=false",
                                 "llama3:factor=8,low=2,high=5,original=64", "yarn:factor=2.5,mscale=0.5,original=9"}) {
    const RopeScaling scaling = parse_rope_scaling(text, 0);
    std::string shown = rope_scaling_text(scaling);
    shown.replace(shown.find('('), 1, ":");
    shown.pop_back();
    EXPECT_EQ(shown, text);
    EXPECT_EQ(parse_rope_scaling(shown, 0), scaling);
  }
  EXPECT_EQ(parse_rope_scaling("none", 64), RopeScaling{});
}

std::string error_of(const std::string& text, std::int64_t context = 64) {
  try {
    check_rope_scaling(parse_rope_scaling(text, context), 10000, 16, "model");
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(RopeScaling, RefusalsNameTheValueAndTheKnownOnes) {
  EXPECT_THAT(error_of("longrope:factor=4"), AllOf(HasSubstr("longrope"), HasSubstr("linear, dynamic, llama3, yarn")));
  EXPECT_THAT(error_of("yran:factor=4"), HasSubstr("did you mean 'yarn'"));
  EXPECT_THAT(error_of("yarn"), HasSubstr("needs a factor"));
  EXPECT_THAT(error_of("yarn:4"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error_of("yarn:factor=four"), HasSubstr("four"));
  EXPECT_THAT(error_of("yarn:factor=0"), HasSubstr("factor is 0"));
  EXPECT_THAT(error_of("yarn:factor=2,attention_factor=-1"), HasSubstr("attention_factor is -1"));
  EXPECT_THAT(error_of("yarn:factor=2,beta_fast=1,beta_slow=2"), HasSubstr("beta_fast (1)"));
  EXPECT_THAT(error_of("yarn:factor=2,truncate=1"), HasSubstr("true or false"));
  EXPECT_THAT(error_of("linear:factor=2,beta_fast=3"), HasSubstr("linear has no parameter 'beta_fast'"));
  EXPECT_THAT(error_of("linear:factor=2,original=3"), HasSubstr("it takes factor"));
  EXPECT_THAT(error_of("dynamic:factor=0.5"), HasSubstr("at least 1"));
  EXPECT_THAT(error_of("dynamic:factor=2", 0), HasSubstr("needs original=N"));
  EXPECT_THAT(error_of("llama3:factor=2,low=4,high=4"), HasSubstr("high_freq_factor (4)"));
  EXPECT_THAT(error_of("none:factor=2"), HasSubstr("none"));
}

}  // namespace
}  // namespace lenbench
