// Tests of base/numbers.h.
#include "base/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/base/expect_error.h"
#include "tests/base/german_locale.h"

namespace lenbench {
namespace {

TEST(ParseInt, ReadsTheWholeRange) {
  EXPECT_EQ(parse_int("0", "n"), 0);
  EXPECT_EQ(parse_int("-17", "n"), -17);
  EXPECT_EQ(parse_int("9223372036854775807", "n"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int("-9223372036854775808", "n"), std::numeric_limits<std::int64_t>::min());
}

TEST(ParseInt, RefusesAnythingElse) {
  for (const char* text : {"", " 7", "7 ", "+7", "64.5", "1e3", "65_536", "0x10", "--1", "-", "٣", "1,000"}) {
    const std::string message = error_of([&] { parse_int(text, "--samples"); });
    EXPECT_NE(message.find("--samples"), std::string::npos);
    EXPECT_NE(message.find(text), std::string::npos);
  }
}

TEST(ParseInt, NamesAnOverflow) {
  const std::string message = error_of([] { parse_int("9223372036854775808", "--seed"); });
  EXPECT_EQ(message, "--seed: 9223372036854775808 does not fit into 64 bits");
  error_of([] { parse_int("-9223372036854775809", "--seed"); });
}

TEST(ParseUint, HasNoSignAndTheWholeRange) {
  EXPECT_EQ(parse_uint("18446744073709551615", "s"), std::numeric_limits<std::uint64_t>::max());
  error_of([] { parse_uint("-1", "s"); });
  error_of([] { parse_uint("18446744073709551616", "s"); });
}

TEST(ParseReal, ReadsFiniteNumbers) {
  EXPECT_EQ(parse_real("0.5", "x"), 0.5);
  EXPECT_EQ(parse_real("-2", "x"), -2.0);
  EXPECT_EQ(parse_real("1e-3", "x"), 0.001);
}

TEST(ParseReal, RefusesAnythingElse) {
  for (const char* text : {"", "0,5", "nan", "inf", "-inf", "+1", " 1", "1 ", "1.5x", "0x1p3", "1e999", "."}) {
    EXPECT_NE(error_of([&] { parse_real(text, "--threshold"); }).find("--threshold"), std::string::npos) << text;
  }
}

TEST(FormatReal, IsTheShortestTextThatReadsBack) {
  EXPECT_EQ(format_real(0.1), "0.1");
  EXPECT_EQ(format_real(64), "64");
  EXPECT_EQ(format_real(1e-5), "1e-05");
  EXPECT_EQ(format_real(-0.0), "-0");
  for (const double value : {1.0 / 3, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, -123456.789}) {
    EXPECT_EQ(parse_real(format_real(value), "x"), value);
  }
}

TEST(Numbers, IgnoreTheLocale) {
  const GermanLocale german;
  EXPECT_EQ(format_real(1234.5), "1234.5");
  EXPECT_EQ(parse_real("1234.5", "x"), 1234.5);
  error_of([] { parse_real("0,5", "x"); });
  EXPECT_EQ(parse_int("1234567", "n"), 1234567);
  error_of([] { parse_int("1.234", "n"); });
}

TEST(Numbers, BytesHaveAUnitThatShowsThem) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1), "1 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(1 << 20), "1.0 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{100} << 20), "100.0 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{103} << 20), "0.10 GiB");
  EXPECT_EQ(format_bytes(std::int64_t{1025} << 20), "1.00 GiB");
  EXPECT_EQ(format_bytes(std::int64_t{3} << 40), "3072.00 GiB");
}

}  // namespace
}  // namespace lenbench
