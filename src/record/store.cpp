// Record <-> JSON line, and reading whole files.
#include "record/store.h"

#include <algorithm>
#include <utility>

#include "base/canonical.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"
#include "record/check.h"
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

}  // namespace

std::string to_json_line(const Record& record) { return dump_json(write_fields(record, "record")); }

Record record_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  check_schema(json, where);
  Record record;
  read_fields(json, record, where);
  const std::string problem = contradiction(record);
  if (!problem.empty()) refuse(where, problem);
  return record;
}

Record record_from_json_line(std::string_view line, const std::string& where) {
  Record record;
  const bool sound = read_canonical(line, record) && record.schema == kRecordSchema && contradiction(record).empty();
  return sound ? record : record_from_json(parse_json(line, where), where);
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

void refuse_part(const Record& record, const std::string& where) {
  if (!record.part) return;
  refuse(where, "a part of a run (item " + std::to_string(record.part->item + 1) + " of " +
                    std::to_string(record.part->num_items) +
                    "), not a whole cell: join all parts with 'lenbench merge PARTS... -o FILE' first");
}

std::vector<Record> read_records(const std::string& path, std::string* note, Parts parts) {
  const std::string bytes = read_file(path);
  RecordLines lines = parse_record_lines(bytes, path);
  for (std::size_t i = 0; parts == Parts::kRefused && i < lines.records.size(); ++i) {
    refuse_part(lines.records[i], path + ":" + std::to_string(i + 1));
  }
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
