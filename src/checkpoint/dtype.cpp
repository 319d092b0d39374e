// Element types: names, sizes, decoding of single elements, search for non-finite ones.
#include "checkpoint/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"

namespace lenbench {
namespace {

struct DtypeRow {
  Dtype dtype;
  const char* name;
  std::int64_t bytes;
  bool floating;
};

constexpr DtypeRow kDtypes[] = {
    {Dtype::kF64, "F64", 8, true},   {Dtype::kF32, "F32", 4, true},    {Dtype::kF16, "F16", 2, true},
    {Dtype::kBF16, "BF16", 2, true}, {Dtype::kI64, "I64", 8, false},   {Dtype::kI32, "I32", 4, false},
    {Dtype::kU8, "U8", 1, false},    {Dtype::kBool, "BOOL", 1, false},
};

const DtypeRow& row(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)]; }

template <class T>
T load(std::span<const std::byte> bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// An exponent of all ones marks infinity and NaN in every IEEE-like format.
template <class Bits>
std::optional<std::int64_t> first_with_exponent(std::span<const std::byte> bytes, Bits mask) {
  const auto count = static_cast<std::int64_t>(bytes.size() / sizeof(Bits));
  // Blocks without a branch per element, which the compiler vectorises; only a block that has one is searched.
  constexpr std::int64_t kBlock = 4096;
  std::array<Bits, kBlock> block;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(count, begin + kBlock);
    block.fill(0);
    std::memcpy(block.data(), bytes.data() + static_cast<std::size_t>(begin) * sizeof(Bits),
                static_cast<std::size_t>(end - begin) * sizeof(Bits));
    Bits found = 0;
    for (std::int64_t i = 0; i < kBlock; ++i) {
      found = static_cast<Bits>(found | static_cast<Bits>((block[static_cast<std::size_t>(i)] & mask) == mask));
    }
    for (std::int64_t i = begin; found != 0 && i < end; ++i) {
      if ((load<Bits>(bytes, i) & mask) == mask) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

const char* dtype_name(Dtype dtype) { return row(dtype).name; }
std::int64_t dtype_bytes(Dtype dtype) { return row(dtype).bytes; }
bool is_floating(Dtype dtype) { return row(dtype).floating; }

Dtype parse_dtype(std::string_view name, const std::string& where) {
  std::vector<std::string> loadable;
  for (const DtypeRow& candidate : kDtypes) {
    if (name == candidate.name) return candidate.dtype;
    loadable.emplace_back(candidate.name);
  }
  for (const char* known :
       {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4", "I8", "I16", "U16", "U32", "U64", "C64"}) {
    if (name == known) {
      throw Error(where + ": dtype " + known + " is not supported; convert the weights to F32, F16 or BF16");
    }
  }
  throw Error(where + ": unknown dtype '" + printable(name) + "'" + did_you_mean(name, loadable) + "; supported are " +
              join(loadable, ", "));
}

double element_as_double(Dtype dtype, std::span<const std::byte> bytes, std::int64_t index) {
  switch (dtype) {
    case Dtype::kF64:
      return load<double>(bytes, index);
    case Dtype::kF32:
      return load<float>(bytes, index);
    case Dtype::kF16:
      return half_to_double(load<std::uint16_t>(bytes, index));
    case Dtype::kBF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(bytes, index)) << 16);
    case Dtype::kI64:
      return static_cast<double>(load<std::int64_t>(bytes, index));
    case Dtype::kI32:
      return load<std::int32_t>(bytes, index);
    case Dtype::kU8:
    case Dtype::kBool:
      return load<std::uint8_t>(bytes, index);
  }
  throw std::logic_error("element_as_double: no such dtype");
}

std::optional<std::int64_t> first_nonfinite(Dtype dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case Dtype::kF64:
      return first_with_exponent<std::uint64_t>(bytes, 0x7ff0000000000000U);
    case Dtype::kF32:
      return first_with_exponent<std::uint32_t>(bytes, 0x7f800000U);
    case Dtype::kF16:
      return first_with_exponent<std::uint16_t>(bytes, 0x7c00U);
    case Dtype::kBF16:
      return first_with_exponent<std::uint16_t>(bytes, 0x7f80U);
    default:
      return std::nullopt;
  }
}

}  // namespace lenbench
