// Labels that are not lengths are told apart in every table (bugs A7 and L2). Figures of MQMTAR by its published rule:
// 64 gives 78 tokens, 65536 gives 61,180.
#include "report/length_note.h"

#include <gmock/gmock.h>

#include "report/format.h"
#include "report/grid.h"
#include "report/run_table.h"
#include "tests/report/records.h"

namespace lenbench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Record given(std::int64_t length, double mean, double min, double max) {
  Record record = all("m", length);
  record.measurement.facts["given_tokens"] = {mean, min, max};
  return record;
}
Record given(std::int64_t length, double tokens) { return given(length, tokens, tokens, tokens); }

TEST(LengthNote, SaysMoreAndFewerBeyondTheTolerance) {
  EXPECT_EQ(length_note(given(64, 78)), "length 64: 78 tokens are given, 22 % more");
  EXPECT_EQ(length_note(given(65536, 61180)), "") << "6.6 % fewer";
  EXPECT_EQ(length_note(given(64, 51, 5, 95)), "length 64: 5 to 95 tokens are given, 51 on average, 20 % fewer");
  EXPECT_EQ(length_note(given(100, 110)), "");
  EXPECT_EQ(length_note(given(100, 90)), "");
  EXPECT_NE(length_note(given(100, 110.5)), "");
  EXPECT_NE(length_note(given(100, 89.5)), "");
}

TEST(LengthNote, UnknownTokensHaveNone) { EXPECT_EQ(length_note(all("m", 64)), ""); }

TEST(LengthNote, LengthsOfSetsCountItems) {
  Record record = given(16, 33);
  record.measurement.facts["items"] = {16, 16, 16};
  EXPECT_EQ(length_note(record), "");
}

TEST(LengthNote, PerplexityCountsItsLongestWindow) {
  Record record = perplexity_record("m", 1024, 5);
  record.measurement.effective_tokens_min = 3;
  record.measurement.effective_tokens_max = 1024;
  EXPECT_EQ(length_note(record), "");
  record.measurement.effective_tokens_max = 700;
  EXPECT_EQ(length_note(record), "length 1024: 700 tokens are given, 32 % fewer");
}

TEST(LengthNote, StandsUnderTheTableOfARun) {
  const std::string text = run_table({given(64, 78), given(128, 133)});
  EXPECT_THAT(text, HasSubstr("| 64 (1) |"));
  EXPECT_THAT(text, HasSubstr("| 128    |"));
  EXPECT_THAT(text, HasSubstr("(1) length 64: 78 tokens are given, 22 % more"));
}

TEST(LengthNote, StandsUnderEveryTableThatPeopleRead) {
  const std::vector<Grid> grids = build_grids({given(64, 78), given(128, 133), failed_record("m", 256, "broken")});
  for (const char* format : {"markdown", "latex"}) {
    const std::string text = render(format, grids);
    EXPECT_THAT(text, HasSubstr("64 (1)")) << format;
    EXPECT_THAT(text, HasSubstr("78 tokens are given")) << format;
    EXPECT_THAT(text, Not(HasSubstr("128 ("))) << format;
  }
}

}  // namespace
}  // namespace lenbench
