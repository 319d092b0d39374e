// Tests of base/fields.h.
#include "base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/json.h"
#include "tests/base/expect_error.h"

namespace lenbench {
namespace {

struct Inner {
  std::int64_t size = 0;
  std::optional<double> mean;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("size", self.size);
    visit("mean", self.mean);
  }
};

struct Outer {
  bool flag = false;
  int small = 7;
  std::uint64_t seed = 0;
  double rate = 0;
  std::string name;
  Inner inner;
  std::optional<Inner> maybe;
  std::vector<Inner> list;
  std::map<std::string, double> map;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("flag", self.flag);
    visit.defaulted("small", self.small);
    visit("seed", self.seed);
    visit("rate", self.rate);
    visit("name", self.name);
    visit("inner", self.inner);
    visit("maybe", self.maybe);
    visit("list", self.list);
    visit("map", self.map);
  }
};

const std::string kText =
    R"({"flag":true,"small":-3,"seed":18446744073709551615,"rate":0.5,"name":"é","inner":{"size":1,"mean":2.5},)"
    R"("maybe":{"size":4,"mean":null},"list":[{"size":2,"mean":null},{"size":3,"mean":0.1}],"map":{"a":1.0,"b":2.5}})";

Outer read(const std::string& text) {
  Outer outer;
  read_fields(parse_json(text, "t"), outer, "r.json");
  return outer;
}

// kText with one piece replaced.
std::string with(const std::string& piece, const std::string& replacement) {
  std::string text = kText;
  const std::size_t at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return text.replace(at, piece.size(), replacement);
}

std::string refusal(const std::string& text) {
  return error_of([&] { read(text); });
}

TEST(Fields, WriteInOrderWhatTheyRead) {
  const Outer outer = read(kText);
  EXPECT_EQ(dump_json(write_fields(outer)), kText);
  EXPECT_EQ(outer.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(outer.inner.mean, 2.5);
  EXPECT_EQ(outer.list[1].mean, 0.1);
  EXPECT_THAT(field_names<Outer>(),
              testing::ElementsAre("flag", "small", "seed", "rate", "name", "inner", "maybe", "list", "map"));
}

TEST(Fields, ReadNullAndAbsentOptionalsAsNone) {
  EXPECT_FALSE(read(with(R"("mean":2.5)", R"("mean":null)")).inner.mean);
  EXPECT_FALSE(read(with(R"(,"mean":2.5)", "")).inner.mean);
  EXPECT_FALSE(read(with(R"({"size":4,"mean":null})", "null")).maybe);
}

TEST(Fields, KeepDefaultsOfAbsentDefaultedFieldsOnly) {
  EXPECT_EQ(read(with(R"("small":-3,)", "")).small, 7);
  EXPECT_EQ(refusal(with(R"("rate":0.5,)", "")), "r.json: the key 'rate' is missing");
  EXPECT_EQ(refusal(with(R"({"size":2,"mean":null})", "{}")), "r.json: list[0]: the key 'size' is missing");
}

TEST(Fields, RefuseUnknownKeysWithTheNearestName) {
  EXPECT_EQ(refusal(with("\"rate\"", "\"rat\"")), "r.json: unknown key 'rat' (did you mean 'rate'?)");
  EXPECT_EQ(refusal(with(R"({"size":3)", R"({"zzzzzz":1,"size":3)")),
            "r.json: list[1]: unknown key 'zzzzzz' (known: size, mean)");
}

TEST(Fields, RefuseWrongTypesWithTheirPath) {
  EXPECT_EQ(refusal(with(R"("size":3)", R"("size":"3")")), "r.json: list[1].size must be an integer, not \"3\"");
  EXPECT_EQ(refusal(with("true", "1")), "r.json: flag must be true or false, not 1");
  EXPECT_EQ(refusal(with("-3", "-3.0")), "r.json: small must be an integer, not -3.0");
  EXPECT_EQ(refusal(with("-3", "null")), "r.json: small must be an integer, not null");
  EXPECT_EQ(refusal(with(R"("rate":0.5)", R"("rate":null)")), "r.json: rate must be a number, not null");
  EXPECT_EQ(refusal(with("\"é\"", "[1]")), "r.json: name must be a text, not an array");
  EXPECT_EQ(refusal(with(R"({"a":1.0,"b":2.5})", "[]")), "r.json: map must be an object, not an array");
  EXPECT_EQ(refusal(with("1.0", "\"x\"")), "r.json: map.a must be a number, not \"x\"");
  EXPECT_EQ(refusal("[]"), "r.json must be an object, not an array");
}

TEST(Fields, RefuseIntegersThatDoNotFit) {
  EXPECT_EQ(refusal(with("-3", "2147483648")), "r.json: small: 2147483648 does not fit");
  EXPECT_EQ(refusal(with("18446744073709551615", "-1")), "r.json: seed: -1 does not fit");
  EXPECT_EQ(refusal(with(R"("size":1)", R"("size":9223372036854775808)")),
            "r.json: inner.size: 9223372036854775808 does not fit");
}

TEST(Fields, WriteNoNonFiniteNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  Outer outer = read(kText);
  outer.inner.mean = nan;
  outer.list[1].mean = infinity;
  const nlohmann::ordered_json json = write_fields(outer);
  EXPECT_TRUE(json["inner"]["mean"].is_null());
  EXPECT_TRUE(json["list"][1]["mean"].is_null());
  outer.rate = nan;
  EXPECT_EQ(error_of([&] { write_fields(outer, "record"); }, ExitCode::kNotMeasured).substr(0, 18),
            "record: rate is Na");
  outer.rate = 0;
  outer.map["b"] = -infinity;
  EXPECT_NE(error_of([&] { write_fields(outer); }, ExitCode::kNotMeasured).find("map.b is -infinity"),
            std::string::npos);
}

TEST(Fields, EqualityNoticesEveryField) {
  const Outer outer = read(kText);
  EXPECT_TRUE(fields_equal(outer, read(kText)));
  for (const auto& [piece, replacement] :
       std::vector<std::pair<std::string, std::string>>{{"true", "false"},
                                                        {"-3", "-4"},
                                                        {"18446744073709551615", "1"},
                                                        {"0.5", "0.25"},
                                                        {"é", "e"},
                                                        {R"("size":1)", R"("size":2)"},
                                                        {"2.5", "null"},
                                                        {R"({"size":4,"mean":null})", "null"},
                                                        {R"("size":4)", R"("size":5)"},
                                                        {R"({"size":2,"mean":null},)", ""},
                                                        {R"("size":3)", R"("size":4)"},
                                                        {R"("a":1.0)", R"("c":1.0)"},
                                                        {R"("a":1.0)", R"("a":1.5)"},
                                                        {R"("a":1.0,)", ""}}) {
    EXPECT_FALSE(fields_equal(outer, read(with(piece, replacement)))) << piece;
  }
}

}  // namespace
}  // namespace lenbench
