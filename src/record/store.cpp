// Record <-> JSON line, and reading whole files.
#include "record/store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"
#include "record/lines.h"

namespace lenbench {

namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(printable(where) + ": " + problem);
}

void check_schema(const nlohmann::ordered_json& json, const std::string& where) {
  const auto schema = json.is_object() ? json.find("schema") : json.end();
  if (schema == json.end() || !schema->is_number_integer()) {
    refuse(where, "not a lenbench record (an object with a \"schema\" number)");
  }
  if (*schema > kRecordSchema) {
    refuse(where, "schema " + schema->dump() + " is newer than schema " + std::to_string(kRecordSchema) +
                      ", the newest this lenbench reads: use a newer lenbench");
  }
  if (*schema < 1) refuse(where, "schema " + schema->dump() + " does not exist");
}

void check_proportion(const std::optional<Proportion>& proportion, const char* name, const std::string& where) {
  if (!proportion) return;
  const Proportion& p = *proportion;
  const std::string path = std::string("measurement.") + name;
  if (p.n < 0 || p.right < 0 || p.right > p.n) {
    refuse(where, path + ": " + std::to_string(p.right) + " right of " + std::to_string(p.n) + " is impossible");
  }
  if (p.n == 0) return;
  constexpr double kRounding = 1e-9;
  if (std::abs(p.value - static_cast<double>(p.right) / static_cast<double>(p.n)) > kRounding) {
    refuse(where, path + ".value does not equal right / n");
  }
  const bool around = p.low <= p.value + kRounding && p.value <= p.high + kRounding && p.low >= 0 && p.high <= 1;
  if (!around || p.low >= p.high) {
    refuse(where, path + ": the interval is inconsistent (it must contain the value and have a width)");
  }
}

// What the types cannot say.
void check_contents(const Record& record, const std::string& where) {
  if (record.status != "ok" && record.status != "skipped" && record.status != "failed") {
    refuse(where, "status must be \"ok\", \"skipped\" or \"failed\", not '" + printable(record.status) + "'");
  }
  if (record.outcomes.find_first_not_of("01x") != std::string::npos) {
    refuse(where, "outcomes may hold only the characters 0, 1 and x");
  }
  const Measurement& measured = record.measurement;
  if (record.samples_requested < 0 || measured.samples < 0) refuse(where, "a number of samples is negative");
  if (!record.outcomes.empty() && static_cast<std::int64_t>(record.outcomes.size()) != measured.samples) {
    refuse(where, "outcomes has " + std::to_string(record.outcomes.size()) + " characters for " +
                      std::to_string(measured.samples) + " samples");
  }
  if (record.sample_nats.size() != record.sample_tokens.size()) {
    refuse(where, "sample_nats and sample_tokens differ in length");
  }
  check_proportion(measured.exact, "exact", where);
  check_proportion(measured.answer, "answer", where);
  check_proportion(measured.token, "token", where);
}

}  // namespace

std::string to_json_line(const Record& record) { return dump_json(write_fields(record, "record")); }

Record record_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  check_schema(json, where);
  Record record;
  read_fields(json, record, where);
  check_contents(record, where);
  return record;
}

Record record_from_json_line(std::string_view line, const std::string& where) {
  return record_from_json(parse_json(line, where), where);
}

bool is_torn_line(std::string_view tail, bool follows_records) {
  constexpr std::string_view kOpening = "{\"schema\":";
  const std::string_view opening = tail.substr(0, kOpening.size());
  if (!follows_records && opening != kOpening.substr(0, opening.size())) return false;
  try {
    parse_json(tail, "");
    return false;
  } catch (const Error&) {
    return true;
  }
}

std::string torn_line_problem(const std::string& path, std::int64_t line, std::size_t bytes) {
  return printable(path) + ":" + std::to_string(line) + ": the last " + std::to_string(bytes) +
         " bytes are no whole record: a run was killed while it wrote";
}

RecordLines parse_record_lines(std::string_view bytes, const std::string& path) {
  RecordLines lines;
  for (std::size_t start = 0; start < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', start), bytes.size());
    const std::string_view line = bytes.substr(start, end - start);
    const std::string where = path + ":" + std::to_string(lines.records.size() + 1);
    if (line.empty()) refuse(where, "an empty line");
    lines.unterminated = end == bytes.size();
    if (lines.unterminated && is_torn_line(line, !lines.records.empty())) {
      lines.torn_bytes = line.size();
      break;
    }
    lines.records.push_back(record_from_json_line(line, where));
    start = end + 1;
  }
  return lines;
}

std::vector<Record> read_records(const std::string& path, std::string* note) {
  const std::string bytes = read_file(path);
  RecordLines lines = parse_record_lines(bytes, path);
  if (note != nullptr) note->clear();
  if (lines.torn_bytes > 0) {
    const std::string problem =
        torn_line_problem(path, static_cast<std::int64_t>(lines.records.size()) + 1, lines.torn_bytes);
    if (note == nullptr) throw Error(problem + " (resume that run to mend the file)");
    *note = problem + "; left out";
  }
  return std::move(lines.records);
}

std::map<std::string, std::size_t> index_by_resume_key(const std::vector<Record>& records, const std::string& path) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto [first, is_new] = index.emplace(records[i].resume_key(), i);
    if (!is_new) {
      refuse(path, "lines " + std::to_string(first->second + 1) + " and " + std::to_string(i + 1) +
                       " measure the same question of the same subject (" + printable(records[i].question.task) +
                       " at " + std::to_string(records[i].question.length) + "): remove one");
    }
  }
  return index;
}

}  // namespace lenbench
