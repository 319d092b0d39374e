// Philox streams, exact integer laws on them, and the keyed permutation.
#include "tasks/rng.h"

#include <Random123/philox.h>

#include <algorithm>
#include <cassert>
#include <numeric>

namespace lenbench {
namespace {

constexpr std::uint64_t kFnvOffset = 14695981039346656037ULL;
constexpr std::uint64_t kFnvPrime = 1099511628211ULL;

// The 64-bit finalizer of MurmurHash3.
constexpr std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  value ^= value >> 33;
  return value;
}

constexpr std::uint32_t low32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high32(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

// The displaced entries of a conceptual array 0, 1, 2, ...: open addressing, never more than half full.
class SparseIdentity {
 public:
  explicit SparseIdentity(std::int64_t entries) {
    std::size_t capacity = 16;
    while (capacity < 2 * static_cast<std::size_t>(entries)) capacity *= 2;
    slots_.assign(capacity, {-1, 0});
  }
  std::int64_t get(std::int64_t index) const {
    const Slot& slot = slots_[find(index)];
    return slot.index == index ? slot.value : index;
  }
  void set(std::int64_t index, std::int64_t value) { slots_[find(index)] = {index, value}; }

 private:
  struct Slot {
    std::int64_t index, value;
  };
  std::size_t find(std::int64_t index) const {
    std::size_t slot = mix(static_cast<std::uint64_t>(index)) & (slots_.size() - 1);
    while (slots_[slot].index != -1 && slots_[slot].index != index) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  std::vector<Slot> slots_;
};

}  // namespace

Rng::Rng(std::uint64_t key, std::uint64_t stream) : key_(key), stream_(stream) {}

void Rng::refill() {
  const r123::Philox4x32 philox;
  const r123::Philox4x32::ctr_type counter = {{low32(block_), high32(block_), low32(stream_), high32(stream_)}};
  const r123::Philox4x32::key_type key = {{low32(key_), high32(key_)}};
  const r123::Philox4x32::ctr_type words = philox(counter, key);
  for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = words[i];
  ++block_;
  used_ = 0;
}

std::uint64_t Rng::next_u64() {
  const std::uint64_t low = next_u32();
  return low | (static_cast<std::uint64_t>(next_u32()) << 32);
}

// Lemire's multiply-and-reject: the high half of word * bound is uniform once the short residues are rejected.
std::uint64_t Rng::below(std::uint64_t bound) {
  assert(bound >= 1);
  if (bound <= 0xffffffffULL) {
    const auto bound32 = static_cast<std::uint32_t>(bound);
    std::uint64_t product = static_cast<std::uint64_t>(next_u32()) * bound;
    if (low32(product) < bound32) {
      const std::uint32_t reject = (0U - bound32) % bound32;
      while (low32(product) < reject) product = static_cast<std::uint64_t>(next_u32()) * bound;
    }
    return product >> 32;
  }
  const std::uint64_t reject = (0ULL - bound) % bound;
  while (true) {
    const auto product = static_cast<unsigned __int128>(next_u64()) * bound;
    if (static_cast<std::uint64_t>(product) >= reject) return static_cast<std::uint64_t>(product >> 64);
  }
}

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  assert(low <= high);
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = span == 0 ? next_u64() : below(span);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

bool Rng::chance(std::uint64_t numerator, std::uint64_t denominator) {
  assert(numerator <= denominator);
  return below(denominator) < numerator;
}

// A forward Fisher-Yates shuffle cut off after `count` steps. The dense and the sparse table give the same values.
std::vector<std::int64_t> Rng::distinct(std::int64_t count, std::int64_t bound) {
  assert(0 <= count && count <= bound);
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  const auto pick = [&](std::int64_t i) {
    return i + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(bound - i)));
  };
  if (bound <= 16 * count) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(bound));
    std::iota(values.begin(), values.end(), std::int64_t{0});
    for (std::int64_t i = 0; i < count; ++i) {
      std::swap(values[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(pick(i))]);
    }
    std::copy_n(values.begin(), count, drawn.begin());
    return drawn;
  }
  SparseIdentity values(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t j = pick(i);
    drawn[static_cast<std::size_t>(i)] = values.get(j);
    values.set(j, values.get(i));
  }
  return drawn;
}

KeyedPermutation::KeyedPermutation(std::uint64_t key, std::uint64_t stream, std::uint64_t size) : size_(size) {
  assert(1 <= size && size <= (std::uint64_t{1} << 32));
  while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  Rng rng(key, stream);
  for (std::uint64_t& round_key : round_keys_) round_key = rng.next_u64();
}

std::uint64_t KeyedPermutation::at(std::uint64_t index) const {
  assert(index < size_);
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (const std::uint64_t round_key : round_keys_) {
      const std::uint64_t next = left ^ (mix(right + round_key) & mask);
      left = right;
      right = next;
    }
    index = (left << half_bits_) | right;
  } while (index >= size_);
  return index;
}

std::uint64_t stable_hash(std::string_view bytes) {
  std::uint64_t hash = kFnvOffset;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= kFnvPrime;
  }
  return mix(hash);
}

}  // namespace lenbench
