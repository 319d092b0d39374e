// Runs a call and gives the message of the Error it throws.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace lenbench {

template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

}  // namespace lenbench
