// JSON of untrusted origin in, one-line JSON out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lenbench {

inline constexpr int kMaxJsonDepth = 64;

// Exactly one JSON value (RFC 8259). `where` opens every message: a path, a path with a line, or a flag. Throws Error
// with line and byte on anything else: malformed text, bytes after the value, a key that occurs twice in one object,
// more than kMaxJsonDepth nested brackets, a number beyond double, invalid UTF-8. Integers beyond 64 bits become
// doubles.
nlohmann::ordered_json parse_json(std::string_view text, const std::string& where);

// One line without a line feed, keys in insertion order, shortest round-trip numbers, the same in every locale. Bytes
// that are not UTF-8 are written as the characters \xNN. Throws std::logic_error on NaN or infinity.
std::string dump_json(const nlohmann::ordered_json& value);

}  // namespace lenbench
