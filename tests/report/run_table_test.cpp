// The table at the end of a run, written by hand.
#include "report/run_table.h"

#include <gmock/gmock.h>

#include "tests/base/german_locale.h"
#include "tests/report/records.h"

namespace lenbench {
namespace {

using ::testing::HasSubstr;

Record probed_record() {
  Record record = all("asentmax", 64);
  record.subject.train_length = 64;
  record.measurement.answer = proportion_of(796, 800, 0.9860, 0.9986);
  record.measurement.chance = 1.0 / 64;
  record.measurement.effective_tokens_min = record.measurement.effective_tokens_max = 88;
  record.measurement.probe_rows = "answer";
  record.measurement.heads = {{0, 0, true, 10, 0, 0.25, 4, 0.5, 0}, {0, 1, false, 10, 0, 0.75, 10, 0.1, 0}};
  record.measurement.seconds = 1.234;
  return record;
}

const char* const kTable =
    "### asentmax on recall\n"
    "\n"
    "trained at 64; test split; data seed 0; accuracies in percent; 95 % Wilson intervals, those of answers widened "
    "because answers share a sample; chance 1.6 an answer; entropy H/ln n of answer rows, heads without / with "
    "positions; support over all heads.\n"
    "\n"
    "| length | effective |     n | exact |            answer |       entropy | support | seconds |\n"
    "| ------ | --------: | ----: | ----: | ----------------: | ------------: | ------: | ------: |\n"
    "| 64     |        88 |   100 | 100.0 | 99.5 [98.6, 99.9] | 0.750 / 0.250 |     7.0 |    1.23 |\n"
    "| 128    |         - | 0 (1) |     - |                 - |             - |       - |    0.00 |\n"
    "\n"
    "(1) failed: out of memory\n";

TEST(RunTable, AccuracyAndDispersionSideBySide) {
  Record failed = failed_record("asentmax", 128, "out of memory");
  failed.subject.train_length = 64;
  EXPECT_EQ(run_table({failed, probed_record()}), kTable);
  const GermanLocale german;
  EXPECT_EQ(run_table({failed, probed_record()}), kTable);
}

// Bug B4: right answers in samples that fail are told apart from wrong answers. Eight answers a sample that are right
// in 98 % would leave 85 % of the samples whole.
TEST(RunTable, AnswersThatAreRightInSamplesThatFailAreNoted) {
  Record record = probed_record();
  record.measurement.answer = proportion_of(784, 800, 0.967, 0.988);
  record.measurement.exact = proportion_of(0, 100, 0, 0.037);
  const std::string text = run_table({record});
  EXPECT_THAT(text, HasSubstr("| 0.0 (1) |"));
  EXPECT_THAT(text,
              HasSubstr("(1) 98.0 % of answers are right and 0.0 % of samples: what fails stands between answers"));
  record.measurement.exact = proportion_of(70, 100, 0.604, 0.781);
  EXPECT_THAT(run_table({record}), testing::Not(HasSubstr("(1)")));
}

TEST(RunTable, PerplexityHasItsOwnColumns) {
  Record record = perplexity_record("m", 1024, 12.3456);
  record.measurement.perplexity_low = 11;
  record.measurement.perplexity_high = 13.5;
  record.measurement.bits_per_byte = 3.62;
  record.measurement.nll_tokens = 102400;
  record.measurement.samples = 60;
  const std::string text = run_table({record});
  EXPECT_THAT(text, HasSubstr("| length | effective | windows | tokens |           perplexity | bits/byte |"));
  EXPECT_THAT(text, HasSubstr("|  60 (1) | 102400 | 12.35 [11.00, 13.50] |     3.620 |"));
  EXPECT_THAT(text, HasSubstr("(1) 60 of 100 samples: there are no more"));
}

TEST(RunTable, OneTableForEachTaskAndSubjectAndALineForEachSeed) {
  const std::string text = run_table({half("a", 64, 1), half("b", 64), half("a", 64, 0), half("a", 32, 1)});
  EXPECT_THAT(text, HasSubstr("### a on recall"));
  EXPECT_THAT(text, HasSubstr("### b on recall"));
  EXPECT_THAT(text, HasSubstr("| seconds | data seed |"));
  const std::size_t first = text.find("\n| 32 "), second = text.find("\n| 64 ");
  EXPECT_LT(first, second);
  EXPECT_THAT(text, HasSubstr("50.0 [40.4, 59.6]"));  // no answers: exact match carries the interval
}

TEST(RunTable, EmptyForNoRecords) { EXPECT_EQ(run_table({}), ""); }

}  // namespace
}  // namespace lenbench
