// SHA-256 of bytes that arrive in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lenbench::cli {

class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  void add(std::string_view bytes);
  // 64 lower-case hexadecimal digits. Ends the stream: add() and hex() may not follow.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lenbench::cli
