// Tests of base/names.h.
#include "base/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lenbench {
namespace {

using ::testing::ElementsAre;

TEST(DidYouMean, FindsTheNearestName) {
  const std::vector<std::string> known = {"recall", "mqar", "mqmtar", "copy", "reverse"};
  EXPECT_EQ(did_you_mean("recal", known), " (did you mean 'recall'?)");
  EXPECT_EQ(did_you_mean("mqmtr", known), " (did you mean 'mqmtar'?)");
  EXPECT_EQ(did_you_mean("cpoy", known), " (did you mean 'copy'?)");
  EXPECT_EQ(did_you_mean("COPY", known), " (did you mean 'copy'?)");
}

TEST(DidYouMean, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("zebra", {"recall", "copy"}), "");
  EXPECT_EQ(did_you_mean("", {"a", "recall"}), "");
  EXPECT_EQ(did_you_mean("x", {"y"}), "");
  EXPECT_EQ(did_you_mean("recall", {}), "");
  EXPECT_EQ(did_you_mean(std::string(1'000'000, 'r'), {"recall"}), "");
}

TEST(DidYouMean, FirstOfEquallyNearNamesWins) {
  EXPECT_EQ(did_you_mean("sort", {"sorts", "short"}), " (did you mean 'sorts'?)");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split("a,", ','), ElementsAre("a", ""));
}

TEST(Join, UndoesSplit) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  for (const std::string text : {"", "a", "a,b", ",a,,b,"}) EXPECT_EQ(join(split(text, ','), ","), text);
}

}  // namespace
}  // namespace lenbench
