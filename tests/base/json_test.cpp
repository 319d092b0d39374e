// Tests of base/json.h.
#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/base/expect_error.h"
#include "tests/base/german_locale.h"

namespace lenbench {
namespace {

std::string refusal(const std::string& text) {
  return error_of([&] { parse_json(text, "f.json"); });
}

TEST(ParseJson, KeepsKeyOrderAndKinds) {
  const std::string text =
      R"({"z":1,"a":[true,null,-5,0.5,18446744073709551615,"é\u2028\"\\\n"],"m":{},"e":[],"nested":{"z":{"y":[[1]]},"b":2}})";
  const nlohmann::ordered_json json = parse_json(text, "t");
  EXPECT_EQ(json, nlohmann::ordered_json::parse(text));
  EXPECT_EQ(dump_json(json), nlohmann::ordered_json::parse(text).dump());
  EXPECT_EQ(dump_json(json).find("\n"), std::string::npos);
  EXPECT_EQ(json["a"][4].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
}

TEST(ParseJson, RefusesDuplicateKeysInOneObjectOnly) {
  EXPECT_EQ(refusal("{\"a\":1,\n\"b\":{\"c\":1,\"c\":2}}"), "f.json: line 2, byte 22: the key 'c' occurs twice");
  refusal(R"({"a":1,"\u0061":2})");
  EXPECT_EQ(parse_json(R"([{"a":1},{"a":2},{"b":{"a":3},"a":4}])", "t").size(), 3u);
}

TEST(ParseJson, LimitsTheDepth) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth), "t"));
  EXPECT_NE(refusal(nested(kMaxJsonDepth + 1)).find("64 nested brackets"), std::string::npos);
  refusal(std::string(5'000'000, '['));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  refusal(objects);
}

TEST(ParseJson, RefusesWhatIsNotExactlyOneValue) {
  for (const std::string text : {"",
                                 " ",
                                 "{",
                                 "{}x",
                                 "{} {}",
                                 "[1,]",
                                 "{\"a\" 1}",
                                 "nul",
                                 "NaN",
                                 "Infinity",
                                 "-",
                                 "01",
                                 "1.",
                                 "'a'",
                                 "\"a",
                                 "\"\x01\"",
                                 "\"\xFF\"",
                                 "{\"\xC3\":1}",
                                 "\"\\ud800\"",
                                 "1e999",
                                 "// c\n1",
                                 "[1 2]",
                                 "{1:2}",
                                 "\"a\nb\""}) {
    EXPECT_EQ(refusal(text).substr(0, 14), "f.json: line 1") << text;
  }
  refusal(std::string("{}\0", 3));
}

TEST(ParseJson, SaysWhereOnOneShortLine) {
  EXPECT_EQ(refusal("{\"a\":1,\n\"b\":x}").substr(0, 31), "f.json: line 2, byte 13: syntax");
  EXPECT_LT(refusal("\"" + std::string(1'000'000, 'x')).size(), 500u);
  EXPECT_EQ(error_of([] { parse_json("", "a\nb"); }).substr(0, 5), "a\\nb:");
}

TEST(ParseJson, TakesLargeObjectsInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":" + std::to_string(i);
  const nlohmann::ordered_json json = parse_json(text + "}", "t");
  EXPECT_EQ(json.size(), 200'000u);
  EXPECT_EQ(json["k199999"], 199'999);
}

TEST(DumpJson, RefusesNonFiniteNumbersAnywhere) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(dump_json(value), std::logic_error);
    EXPECT_THROW(dump_json({{"a", {1, {{"b", value}}}}}), std::logic_error);
  }
}

TEST(DumpJson, EscapesBytesThatAreNotUtf8) {
  nlohmann::ordered_json json;
  json["caf\xE9"] = {"x\xFFy", "é"};
  EXPECT_EQ(dump_json(json), R"({"caf\\xe9":["x\\xffy","é"]})");
}

TEST(Json, NumbersIgnoreTheLocale) {
  const GermanLocale german;
  EXPECT_EQ(parse_json("1234.5", "t").get<double>(), 1234.5);
  EXPECT_EQ(dump_json(nlohmann::ordered_json{1234.5, 0.1, 1234567, 1e-7}), "[1234.5,0.1,1234567,1e-07]");
}

}  // namespace
}  // namespace lenbench
