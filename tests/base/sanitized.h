// Tests of time and memory in builds whose sanitizers take more of both than the program.
#pragma once

#include <gtest/gtest.h>

namespace lenbench {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LENBENCH_HAS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LENBENCH_HAS_SANITIZER
#endif

#if defined(LENBENCH_HAS_SANITIZER)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace lenbench

#define LENBENCH_SKIP_IF_SANITIZED() \
  if (lenbench::kSanitized) GTEST_SKIP() << "a sanitizer's time and memory are not the program's"
