// Element types that a weight file may hold, and what can be said about their bits without a tensor library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lenbench {

enum class Dtype { kF64, kF32, kF16, kBF16, kI64, kI32, kU8, kBool };

// "F64", "F32", "F16", "BF16", "I64", "I32", "U8", "BOOL": the names of the safetensors format.
const char* dtype_name(Dtype dtype);
std::int64_t dtype_bytes(Dtype dtype);
bool is_floating(Dtype dtype);

// Throws Error with `where` for a type that the format knows but lenbench cannot load (F8_E4M3, I16, ...) and for an
// unknown one.
Dtype parse_dtype(std::string_view name, const std::string& where);

// Element `index` of little-endian `bytes` as a double: exact for every type but I64 beyond 2^53.
double element_as_double(Dtype dtype, std::span<const std::byte> bytes, std::int64_t index);

// Index of the first NaN or infinity; none for a finite tensor and for types that cannot hold one.
std::optional<std::int64_t> first_nonfinite(Dtype dtype, std::span<const std::byte> bytes);

}  // namespace lenbench
