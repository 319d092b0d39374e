// What an Error said and which exit code it carries.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"

namespace lenbench {

// The message of the Error that `action` throws, after checking that it is one line with this code; "" and a test
// failure when there is none.
inline std::string error_of(const std::function<void()>& action, ExitCode code = ExitCode::kBadInput) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

}  // namespace lenbench
