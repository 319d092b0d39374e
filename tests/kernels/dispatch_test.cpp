// Which instruction set a process runs.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "kernels/attention_kernels.h"

namespace lenbench::kernels {
namespace {

const char* best_of_this_cpu() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return "baseline";
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") ? "avx512" : "avx2";
#else
  return "baseline";
#endif
}

TEST(Dispatch, RunsWhatTheEnvironmentNamesOrTheBest) {
  const char* wanted = std::getenv("LENBENCH_KERNELS");
  EXPECT_STREQ(kernel_variant(), wanted && *wanted ? wanted : best_of_this_cpu());
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
      testing::ExitedWithCode(2), "LENBENCH_KERNELS is 'mmx': this CPU runs .*baseline");
}

}  // namespace
}  // namespace lenbench::kernels
