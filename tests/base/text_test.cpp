// Tests of base/text.h.
#include "base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace lenbench {
namespace {

std::string encode(unsigned code) {
  const auto byte = [](unsigned value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

TEST(IsValidUtf8, AcceptsEveryCharacterAndNoSurrogate) {
  for (unsigned code = 0; code <= 0x10FFFF; ++code) {
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    ASSERT_EQ(is_valid_utf8("a" + encode(code) + "b"), !surrogate) << code;
  }
  EXPECT_FALSE(is_valid_utf8(encode(0x110000)));
}

TEST(IsValidUtf8, RefusesBrokenBytes) {
  for (const std::string text :
       {"\x80", "\xFF", "\xC3", "\xC3(", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xE2\x80",
        "\xF0\x8F\xBF\xBF", "\xF0\x9F\x98", "\xF5\x80\x80\x80", "caf\xE9 "}) {
    EXPECT_FALSE(is_valid_utf8(text)) << escape_invalid_utf8(text);
  }
}

TEST(EscapeInvalidUtf8, ChangesOnlyBrokenBytes) {
  EXPECT_EQ(escape_invalid_utf8("模型/évaluation\n\u2028"), "模型/évaluation\n\u2028");
  EXPECT_EQ(escape_invalid_utf8("caf\xE9"), "caf\\xe9");
  EXPECT_EQ(escape_invalid_utf8("\xE2\x80"), "\\xe2\\x80");
}

TEST(Printable, IsOneLine) {
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable(std::string("\0\x1B[31m\x7F", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(printable("x\u0085y\u2028z\u2029"), "x\\u{0085}y\\u{2028}z\\u{2029}");
  EXPECT_EQ(printable("模型 é"), "模型 é");
  EXPECT_EQ(printable("\xE9"), "\\xe9");
}

}  // namespace
}  // namespace lenbench
