// Takes a Record apart by position.
#include "report/prefix_rows.h"

#include <algorithm>
#include <utility>

namespace lenbench {

std::vector<Record> prefix_rows(const Record& record) {
  if (record.measurement.heads_by_position.empty()) return {};
  Record rest;
  rest.schema = record.schema;
  rest.question = record.question;
  rest.subject = record.subject;
  rest.setting = record.setting;
  rest.samples_requested = record.samples_requested;
  rest.status = record.status;
  rest.reason = record.reason;
  rest.measurement.samples = record.measurement.samples;
  rest.measurement.probe_rows = "prefix";
  const std::int64_t tokens = record.measurement.effective_tokens_max;
  std::vector<Record> parts;
  for (const PositionHeads& entry : record.measurement.heads_by_position) {
    const std::int64_t last = std::min(entry.last, tokens - 1);
    if (entry.first == 0 || 2 * (last - entry.first + 1) < entry.last - entry.first + 1) continue;
    parts.push_back(rest);
    parts.back().question.length = last + 1;
    parts.back().measurement.heads = entry.heads;
  }
  return parts;
}

std::vector<Record> probed_records(const std::vector<Record>& records) {
  std::vector<Record> chosen;
  for (const Record& record : records) {
    if (!record.measurement.heads.empty()) chosen.push_back(record);
    for (Record& part : prefix_rows(record)) chosen.push_back(std::move(part));
  }
  return chosen;
}

}  // namespace lenbench
