// One look at a head's keys and values: norms, the first non-finite row, and repeated rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/key_facts.h"

namespace lenbench::kernels {
namespace {

// Bits of a row mixed 4 bytes at a time; a multiply-xorshift round per word is enough, since equality is checked.
std::uint64_t hash_row(const float* row, std::int64_t size, std::uint64_t hash) {
  for (std::int64_t c = 0; c < size; ++c) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(row[c])) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

// Four chains of additions, so that one does not wait for the other.
template <typename T>
double square_norm(const T* row, std::int64_t size) {
  double sums[4] = {};
  std::int64_t c = 0;
  for (; c + 4 <= size; c += 4)
    for (std::int64_t i = 0; i < 4; ++i) {
      const double value = static_cast<double>(row[c + i]);
      sums[i] += value * value;
    }
  for (; c < size; ++c) sums[0] += static_cast<double>(row[c]) * static_cast<double>(row[c]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <typename T>
bool all_finite(const T* row, std::int64_t size) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits broken = 0;
  for (std::int64_t c = 0; c < size; ++c) broken |= (std::bit_cast<Bits>(row[c]) & kExponent) == kExponent ? 1 : 0;
  return broken == 0;
}

// At least the squared norm of `key`, where it and `value` are finite and the norm is not too large for fp32; otherwise
// negative or not finite. A product with 0 is 0 for finite numbers alone.
double quick_square_norm(const float* key, const float* value, std::int64_t size) {
  constexpr std::int64_t kLanes = 8;
  float squares[kLanes] = {}, zeros[kLanes] = {};
  std::int64_t c = 0;
  for (; c + kLanes <= size; c += kLanes)
    for (std::int64_t i = 0; i < kLanes; ++i) {
      squares[i] += key[c + i] * key[c + i];
      zeros[i] += value[c + i] * 0.0F;
    }
  for (std::int64_t i = 0; c + i < size; ++i) {
    squares[i] += key[c + i] * key[c + i];
    zeros[i] += value[c + i] * 0.0F;
  }
  double sum = 0;
  float zero = 0;
  for (std::int64_t i = 0; i < kLanes; ++i) {
    sum += static_cast<double>(squares[i]);
    zero += zeros[i];
  }
  if (!(zero == 0)) return -1;
  // What rounding and squares too small for fp32 may have taken away.
  return sum * (1 + 1.2e-7 * static_cast<double>(size)) + 1.2e-38 * static_cast<double>(size);
}

}  // namespace

template <typename T>
KeyFacts key_facts(const T* k, std::int64_t k_stride, const T* v, std::int64_t v_stride, std::int64_t keys,
                   std::int64_t head_size) {
  KeyFacts facts;
  double largest = 0;
  for (facts.first_bad = 0; facts.first_bad < keys; ++facts.first_bad) {
    const T *key = k + facts.first_bad * k_stride, *value = v + facts.first_bad * v_stride;
    if constexpr (std::is_same_v<T, float>) {
      const double quick = quick_square_norm(key, value, head_size);
      if (quick >= 0 && quick <= std::numeric_limits<double>::max()) {
        largest = std::max(largest, quick);
        continue;
      }
    }
    if (!all_finite(key, head_size) || !all_finite(value, head_size)) break;
    largest = std::max(largest, square_norm(key, head_size));
  }
  facts.norm = std::sqrt(largest) * (1 + 1e-12);
  return facts;
}
template KeyFacts key_facts(const float*, std::int64_t, const float*, std::int64_t, std::int64_t, std::int64_t);
template KeyFacts key_facts(const double*, std::int64_t, const double*, std::int64_t, std::int64_t, std::int64_t);

bool find_distinct_rows(const float* k, std::int64_t k_stride, const float* v, std::int64_t v_stride, std::int64_t keys,
                        std::int64_t head_size, std::int64_t limit, DistinctRows& rows) {
  const std::uint64_t slots = std::bit_ceil(static_cast<std::uint64_t>(limit + 1) * 2);
  std::vector<std::int32_t> table(slots, -1);
  const auto bytes = static_cast<std::size_t>(head_size) * sizeof(float);
  rows.ids.resize(static_cast<std::size_t>(keys));
  rows.first_use.clear();
  for (std::int64_t j = 0; j < keys; ++j) {
    const float* key = k + j * k_stride;
    const float* value = v + j * v_stride;
    std::uint64_t slot = hash_row(value, head_size, hash_row(key, head_size, 1)) & (slots - 1);
    for (;; slot = (slot + 1) & (slots - 1)) {
      const std::int32_t id = table[slot];
      if (id < 0) {
        if (static_cast<std::int64_t>(rows.first_use.size()) == limit) return false;
        table[slot] = static_cast<std::int32_t>(rows.first_use.size());
        rows.first_use.push_back(j);
        break;
      }
      const std::int64_t first = rows.first_use[static_cast<std::size_t>(id)];
      if (std::memcmp(k + first * k_stride, key, bytes) == 0 && std::memcmp(v + first * v_stride, value, bytes) == 0)
        break;
    }
    rows.ids[static_cast<std::size_t>(j)] = table[slot];
  }
  rows.k.resize(rows.first_use.size() * static_cast<std::size_t>(head_size));
  rows.v.resize(rows.k.size());
  for (std::size_t u = 0; u < rows.first_use.size(); ++u) {
    std::memcpy(&rows.k[u * static_cast<std::size_t>(head_size)], k + rows.first_use[u] * k_stride, bytes);
    std::memcpy(&rows.v[u * static_cast<std::size_t>(head_size)], v + rows.first_use[u] * v_stride, bytes);
  }
  return true;
}

}  // namespace lenbench::kernels
