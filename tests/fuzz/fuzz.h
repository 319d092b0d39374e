// What every fuzz target does with bytes: reads them, and allows one kind of answer to wrong ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lenbench {

// Runs `read` on the bytes. An Error must be one line of valid length; anything else that is thrown ends the process.
template <class Read>
int fuzz(const std::uint8_t* data, std::size_t size, Read&& read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.empty() || message.find('\n') != std::string::npos) {
      std::fprintf(stderr, "an Error is no single line: %s\n", message.c_str());
      std::abort();
    }
  }
  return 0;
}

// For what is read from a path only: a file, alone in its folder, that holds the bytes of one call.
class FuzzFile {
 public:
  FuzzFile();
  ~FuzzFile();
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  // Its path.
  const std::string& write(std::string_view bytes);

 private:
  std::string folder_, path_;
};

}  // namespace lenbench
