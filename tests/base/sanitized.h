// Tests of time and memory in builds whose sanitizers take more of both than the program.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LENBENCH_SKIP_IF_SANITIZED() GTEST_SKIP() << "a sanitizer's time and memory are not the program's"
#else
#define LENBENCH_SKIP_IF_SANITIZED() static_cast<void>(0)
#endif
