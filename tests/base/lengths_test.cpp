// Tests of base/lengths.h.
#include "base/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;

TEST(ParseLengths, DoublesWithBothEndsIncluded) {
  EXPECT_THAT(parse_lengths("64..65536"), ElementsAre(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536));
  EXPECT_THAT(parse_lengths("64..64"), ElementsAre(64));
  EXPECT_THAT(parse_lengths("64..100"), ElementsAre(64, 100));
  EXPECT_THAT(parse_lengths("1..5"), ElementsAre(1, 2, 4, 5));
}

TEST(ParseLengths, DoublesUpToTheLargestInteger) {
  const auto lengths = parse_lengths("4611686018427387904..9223372036854775807");
  EXPECT_THAT(lengths, ElementsAre(4611686018427387904, 9223372036854775807));
  EXPECT_EQ(parse_lengths("1..9223372036854775807").size(), 64u);
}

TEST(ParseLengths, ListsAndMixes) {
  EXPECT_THAT(parse_lengths("64,96,128"), ElementsAre(64, 96, 128));
  EXPECT_THAT(parse_lengths("128,64"), ElementsAre(64, 128));
  EXPECT_THAT(parse_lengths("64..256,96"), ElementsAre(64, 96, 128, 256));
}

TEST(ParseLengths, AroundAddsNeighboursThatMeetOnce) {
  EXPECT_THAT(parse_lengths("around:64"), ElementsAre(63, 64, 65));
  EXPECT_THAT(parse_lengths("around:64..256"), ElementsAre(63, 64, 65, 127, 128, 129, 255, 256, 257));
  EXPECT_THAT(parse_lengths("64..128,around:128,around:129"), ElementsAre(64, 127, 128, 129, 130));
  EXPECT_THAT(parse_lengths("around:1"), ElementsAre(1, 2));
  EXPECT_THAT(parse_lengths("around:9223372036854775807"), ElementsAre(9223372036854775806, 9223372036854775807));
  for (const char* text : {"around:", "around", "around:0", "around:around:64", "64around:"}) {
    EXPECT_NE(error_of([&] { parse_lengths(text); }).find(text), std::string::npos) << text;
  }
}

TEST(ParseLengths, RefusesWhatIsNoLength) {
  for (const char* text : {"", "0", "-1", "64.5", "1e3", "65_536", "64,", ",64", "64,,128", "64..", "..64", "64...128",
                           "64..128..256", "0..64", "a", " 64", "64;128", "99999999999999999999"}) {
    EXPECT_NE(error_of([&] { parse_lengths(text); }).find(text), std::string::npos) << text;
  }
}

TEST(ParseLengths, RefusesDuplicatesAndReversedEnds) {
  EXPECT_EQ(error_of([] { parse_lengths("64,128,64"); }), "lengths '64,128,64': 64 occurs twice");
  EXPECT_EQ(error_of([] { parse_lengths("64..256,128"); }), "lengths '64..256,128': 128 occurs twice");
  EXPECT_NE(error_of([] { parse_lengths("128..64"); }).find("128 is above 64"), std::string::npos);
}

}  // namespace
}  // namespace lenbench
