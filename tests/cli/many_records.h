// Large Record files.
#pragma once

#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "record/store.h"
#include "stats/intervals.h"

namespace lenbench::cli_test {

// Writes `count` Records of different cells, each with outcomes of 400 samples and 8 heads. Returns the bytes.
inline std::size_t write_many_records(const std::string& path, std::size_t count) {
  constexpr std::size_t kLengths = 100;
  Record record;
  record.question.task = "recall";
  record.question.metric = "exact_match";
  record.subject.transform = "softmax";
  record.samples_requested = record.measurement.samples = 400;
  record.measurement.probe_rows = "answer";
  for (int head = 0; head < 8; ++head)
    record.measurement.heads.push_back({0, head, false, 400, 1.5, 0.25, 7.5, 0.125, 0.5});
  std::ofstream file(path, std::ios::binary);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    record.subject.name = "model-" + std::to_string(i / kLengths);
    record.question.length = static_cast<std::int64_t>(64 + i % kLengths);
    const std::size_t right = i % 401;
    record.outcomes = std::string(right, '1') + std::string(400 - right, '0');
    const Interval interval = wilson(static_cast<double>(right), 400);
    record.measurement.exact = Proportion{400, static_cast<std::int64_t>(right), static_cast<double>(right) / 400,
                                          interval.low, interval.high};
    const std::string line = to_json_line(record) + "\n";
    file << line;
    bytes += line.size();
  }
  return bytes;
}

}  // namespace lenbench::cli_test
