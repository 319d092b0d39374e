// Numbers as text, the same whatever the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lenbench {

// Decimal digits with an optional '-', nothing else. Throws Error naming `what` (e.g. "--samples") and the text on
// anything more ("64.5", "1e3", "65_536", " 7", "+7", "") and on overflow.
std::int64_t parse_int(std::string_view text, std::string_view what);
// The same without a sign, for the full unsigned range: seeds.
std::uint64_t parse_uint(std::string_view text, std::string_view what);

// A finite number with a decimal point: "0.5", "-2", "1e-3". Throws Error naming `what` and the text on "0,5", "nan",
// "inf", "+1", surrounding blanks and values beyond double.
double parse_real(std::string_view text, std::string_view what);

// The shortest text that parse_real turns into the same double: "0.1", "1e-05", "64". Requires a finite value.
std::string format_real(double value);

// An amount of memory with its binary unit: "512 B", "1.5 MiB", "0.35 GiB" (from a tenth of a GiB on), "1024.00 GiB".
std::string format_bytes(std::int64_t bytes);

}  // namespace lenbench
