// Which instruction set a process runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "kernels/attention_kernels.h"

namespace lenbench::kernels {
namespace {

TEST(Dispatch, RunsWhatTheEnvironmentNames) {
  const char* wanted = std::getenv("LENBENCH_KERNELS");
  if (wanted && *wanted)
    EXPECT_STREQ(kernel_variant(), wanted);
  else
    EXPECT_THAT(kernel_variant(),
                testing::AnyOf(testing::StrEq("avx512"), testing::StrEq("avx2"), testing::StrEq("baseline")));
}

TEST(Dispatch, RefusesWhatTheCpuCannotRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, as a process chooses once
  EXPECT_EXIT(
      {
        setenv("LENBENCH_KERNELS", "mmx", 1);
        try {
          kernel_variant();
        } catch (const std::invalid_argument& error) {
          std::fprintf(stderr, "%s\n", error.what());
          std::exit(2);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(2), "names 'mmx', which this CPU cannot run: one of .*baseline");
}

}  // namespace
}  // namespace lenbench::kernels
