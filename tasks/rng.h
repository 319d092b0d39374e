// Counter-based random numbers for tasks (Philox 4x32-10 of Random123). The only source of randomness in this room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace lenbench {

enum class Split : std::uint32_t { kTrain = 0, kValidation = 1, kTest = 2 };

// A stream of random numbers that is a pure function of its key: the same on every machine, in any order of use of
// other streams. No floating point is involved in any integer draw.
class Rng {
 public:
  // `key` and `stream` together name the stream; equal names give equal numbers. Streams of one key never share a
  // counter, so they never overlap.
  Rng(std::uint64_t key, std::uint64_t stream);

  std::uint32_t next_u32() {
    if (used_ == 4) refill();
    return buffer_[used_++];
  }
  std::uint64_t next_u64();
  // Uniform on [0, bound), exactly (rejection, no modulo bias). Requires bound >= 1.
  std::uint64_t below(std::uint64_t bound);
  // Uniform on [low, high], both ends included. Requires low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  // True with probability numerator/denominator, exactly. Requires numerator <= denominator, denominator >= 1.
  bool chance(std::uint64_t numerator, std::uint64_t denominator);
  // `count` distinct values of [0, bound), in random order. Requires count <= bound. O(count) time and memory.
  std::vector<std::int64_t> distinct(std::int64_t count, std::int64_t bound);
  // Shuffles in place (Fisher-Yates).
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(below(i));
      std::swap(values[i - 1], values[j]);
    }
  }

 private:
  void refill();

  std::uint64_t key_;
  std::uint64_t stream_;
  std::uint64_t block_ = 0;
  std::array<std::uint32_t, 4> buffer_ = {};
  std::uint32_t used_ = 4;
};

// A keyed bijection of [0, size): `at(i)` for distinct i gives distinct values, without storing a table. Used for word
// pools shared by all samples. A Feistel network on the next even power of two, walked until it lands inside `size`.
class KeyedPermutation {
 public:
  // Requires 1 <= size <= 2^32.
  KeyedPermutation(std::uint64_t key, std::uint64_t stream, std::uint64_t size);
  // Requires index < size.
  std::uint64_t at(std::uint64_t index) const;

 private:
  static constexpr std::size_t kRounds = 6;

  std::array<std::uint64_t, kRounds> round_keys_ = {};
  std::uint64_t size_;
  int half_bits_ = 1;
};

// A fixed 64-bit hash of bytes (FNV-1a followed by a finalizer); stable for ever, because sample addresses depend on
// it.
std::uint64_t stable_hash(std::string_view bytes);

}  // namespace lenbench
