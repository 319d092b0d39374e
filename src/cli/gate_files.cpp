// The files that `check`, `baseline` and `compare` read.
#include "cli/gate_files.h"

#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "record/store.h"

namespace lenbench::cli {

std::vector<GateCell> read_cells(const std::vector<std::string>& files, const std::string& subject) {
  std::vector<GateCell> cells;
  std::set<std::string> names;
  for (const std::string& file : files) {
    std::string note;
    for (const Record& record : read_records(file, &note)) {
      names.insert(record.subject.name);
      if (subject.empty() || record.subject.name == subject) cells.push_back(gate_cell(record));
    }
    if (!note.empty()) print_note(note);
  }
  const std::string where = join(files, "', '");
  if (names.empty()) throw Error("'" + where + "' holds no Records: nothing was measured", ExitCode::kNotMeasured);
  if (cells.empty()) {
    const std::vector<std::string> known(names.begin(), names.end());
    throw Error("--subject is '" + subject + "', but '" + where + "' has only " + join(known, ", ") +
                did_you_mean(subject, known));
  }
  require_distinct_questions(cells, where);
  return cells;
}

Baseline read_baseline(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error("no baseline '" + path + "'; make one with 'lenbench baseline write RECORDS -o " + path + "'",
                ExitCode::kNotMeasured);
  }
  const std::string bytes = read_file(path);
  Baseline baseline;
  // Records open with their schema; everything else must be a baseline, whose messages then fit.
  if (!is_baseline(bytes) && opens_as_records(bytes)) {
    baseline.cells = read_cells({path}, "");
    baseline.sha256 = sha256_hex(bytes);
  } else {
    baseline = parse_baseline(bytes, path);
  }
  if (baseline.cells.empty()) throw Error("the baseline '" + path + "' has no cell", ExitCode::kNotMeasured);
  return baseline;
}

Policy find_policy(const std::string& path, const Baseline& baseline, const std::string& given, std::string* source) {
  const std::string stem = path.substr(0, path.ends_with(".json") ? path.size() - 5 : path.size());
  const std::string beside = stem + ".policy.json";
  std::error_code ignored;
  if (!given.empty() || std::filesystem::exists(beside, ignored)) {
    *source = given.empty() ? beside : given;
    return read_policy(*source);
  }
  *source = baseline.policy == Policy{} ? "defaults" : "the baseline";
  return baseline.policy;
}

std::string source_commit() {
  for (const char* name : {"GITHUB_SHA", "CI_COMMIT_SHA"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] != '\0') return printable(value);
  }
  return "";
}

std::map<std::string, double> parse_limits(const std::vector<std::string>& texts, const std::string& flag) {
  std::map<std::string, double> limits;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text, ',')) {
      const std::size_t equals = part.rfind('=');
      if (equals == std::string::npos || equals == 0) {
        throw Error(flag + " is '" + text + "'; write CELL=VALUE, e.g. recall@4096=0.95");
      }
      const std::string name = part.substr(0, equals);
      if (!limits.emplace(name, parse_real(part.substr(equals + 1), flag)).second) {
        throw Error(flag + " names '" + name + "' twice");
      }
    }
  }
  return limits;
}

}  // namespace lenbench::cli
