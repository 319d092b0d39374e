// The fixed Records behind the golden renders, and where these are.
#pragma once

#include <string>
#include <vector>

#include "report/grid.h"
#include "stats/intervals.h"
#include "tests/report/records.h"

namespace lenbench {

inline Record counted(const std::string& name, std::int64_t length, const std::string& outcomes,
                      std::uint64_t seed = 0) {
  Record record = record_of(name, length, seed);
  std::int64_t right = 0;
  for (const char outcome : outcomes) right += outcome == '1';
  const auto n = static_cast<std::int64_t>(outcomes.size());
  const Interval interval = wilson(static_cast<double>(right), static_cast<double>(n));
  record.outcomes = outcomes;
  record.samples_requested = record.measurement.samples = n;
  record.measurement.exact = proportion_of(right, n, interval.low, interval.high);
  record.measurement.answer = record.measurement.exact;
  record.measurement.chance = 1.0 / 64;
  record.measurement.seconds = 0.5;
  record.subject.train_length = 64;
  return record;
}

inline const char* const kHostile = "<script>alert(\"x\")</script>|50%_&";
inline const char* const kGreek = "\xCE\xB1-entmax \xC3\xA9";
inline const char* const kLong = "a_model_with_a_name_that_is_longer_than_any_that_a_table_was_made_for_and_then_some";

// A skip, a failure, an empty row, a long, a hostile and a non-ASCII name, 0 % and 100 %, one seed and many, a floor.
inline std::vector<Record> golden_records() {
  const std::string all(40, '1'), none(40, '0'), most = std::string(30, '1') + std::string(10, '0');
  std::vector<Record> records = {counted(kGreek, 64, all),
                                 counted(kGreek, 128, all),
                                 counted(kGreek, 256, most),
                                 counted(kHostile, 64, all),
                                 counted(kHostile, 128, none),
                                 counted(kLong, 64, most),
                                 failed_record(kLong, 128, "out of memory | at <batch> 1")};
  Record skipped = failed_record(kHostile, 256, "256 tokens, and \"it\" takes 200");
  skipped.status = "skipped";
  records.push_back(skipped);
  for (const std::int64_t length : {64, 128, 256}) {
    records.push_back(failed_record("empty", length, "no answer came"));
    for (const std::uint64_t seed : {0, 1, 2}) {
      records.push_back(counted("many seeds", length, seed == 0 ? most : seed == 1 ? all : none, seed));
    }
    records.push_back(counted("blind", length, "1" + std::string(39, '0')));
  }
  for (Record& record : records) {
    if (record.subject.name == kGreek) record.subject.transform = "entmax";
    if (record.subject.name == kHostile) record.subject.transform = "softmax";
    record.subject.train_length = 64;
    if (record.subject.name == "blind") record.subject.train_length = 0;
  }
  return records;
}

}  // namespace lenbench
