// The fast reader takes what is written, and never more than the strict one.
#include "base/canonical.h"

#include <gtest/gtest.h>

#include <random>

#include "base/json.h"

namespace lenbench {
namespace {

struct Inner {
  std::int64_t count = 0;
  std::optional<double> share;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("count", self.count);
    visit.sparse("share", self.share);
  }
  bool operator==(const Inner&) const = default;
};

struct Outer {
  std::string name;
  bool flag = false;
  std::uint64_t seed = 0;
  double real = 0;
  std::optional<std::int64_t> maybe;
  std::vector<Inner> list;
  std::map<std::string, double> table;
  std::int64_t kept = 7;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("name", self.name);
    visit("flag", self.flag);
    visit("seed", self.seed);
    visit("real", self.real);
    visit("maybe", self.maybe);
    visit("list", self.list);
    visit("table", self.table);
    visit.defaulted("kept", self.kept);
  }
  bool operator==(const Outer&) const = default;
};

Outer sample() {
  return {"a name", true, 18446744073709551615u, -1.25e-300, {}, {{3, 0.5}, {-4, {}}}, {{"x", 1}, {"y", -0.0}}, 9};
}

std::string written(const Outer& value) { return dump_json(write_fields(value)); }

TEST(Canonical, TakesWhatIsWritten) {
  for (Outer value : {sample(), Outer{}}) {
    for (int maybe = 0; maybe < 2; ++maybe) {
      if (maybe == 1) value.maybe = -12;
      Outer back;
      ASSERT_TRUE(read_canonical(written(value), back)) << written(value);
      EXPECT_EQ(back, value);
    }
  }
}

TEST(Canonical, AbsentFieldsThatMayBeAbsent) {
  std::string text = written(sample());
  text.replace(text.find(",\"kept\":9"), 9, "");
  text.replace(text.find("\"maybe\":null,"), 13, "");
  Outer back;
  ASSERT_TRUE(read_canonical(text, back));
  EXPECT_EQ(back.kept, 7);
}

TEST(Canonical, LeavesTheRestToTheStrictReader) {
  const std::string text = written(sample());
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  for (const std::string& other : {replaced("a name", "a\\nname"),
                                   replaced("a name", "\xCE\xB1"),
                                   replaced("\"name\":", "\"name\": "),
                                   replaced("true", "1"),
                                   replaced("18446744073709551615", "18446744073709551616"),
                                   replaced("-4", "-4.0"),
                                   replaced("-4", "01"),
                                   replaced("0.5", "0."),
                                   replaced("0.5", ".5"),
                                   replaced("0.5", "+0.5"),
                                   replaced("0.5", "NaN"),
                                   replaced("0.5", "1e999"),
                                   replaced("0.5", "1e"),
                                   replaced("\"y\"", "\"x\""),
                                   replaced("\"flag\":true,", ""),
                                   replaced("\"kept\"", "\"keep\""),
                                   text + " ",
                                   text + "x",
                                   text.substr(0, text.size() - 1),
                                   std::string(),
                                   std::string("[]")}) {
    Outer back;
    EXPECT_FALSE(read_canonical(other, back)) << other;
  }
}

// Bytes changed at random: what the fast reader takes, the strict one takes with the same result.
TEST(Canonical, NeverTakesMoreThanTheStrictReader) {
  std::mt19937_64 random(1);
  const std::string text = written(sample());
  const std::string alphabet = "{}[]\",:0123456789.-+eEntrufals \\x\x80";
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = text;
    for (std::uint64_t k = 0; k <= random() % 2; ++k) {
      const std::size_t at = random() % changed.size();
      const char c = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0) {
        changed.erase(at, 1);
      } else if (random() % 2 == 0) {
        changed.insert(at, 1, c);
      } else {
        changed[at] = c;
      }
    }
    Outer fast, strict;
    if (!read_canonical(changed, fast)) continue;
    ++taken;
    ASSERT_NO_THROW(read_fields(parse_json(changed, "t"), strict, "t")) << changed;
    ASSERT_EQ(fast, strict) << changed;
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace lenbench
