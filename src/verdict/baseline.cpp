// Baselines as JSON.
#include "verdict/baseline.h"

#include <algorithm>

#include "base/error.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/names.h"
#include "verdict/matching.h"

namespace lenbench {

namespace {

constexpr const char* kFormat = "lenbench-baseline";

// A GateCell as the file has it.
struct StoredCell {
  Question question;
  Subject subject;
  std::string lenbench_version, commit;
  std::int64_t samples = 0;
  double seconds_per_sample = 0;
  std::string outcomes;             // hexadecimal
  std::vector<double> sample_nats;  // perplexity
  std::vector<std::int64_t> sample_tokens;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("question", self.question);
    visit("subject", self.subject);
    visit("lenbench_version", self.lenbench_version);
    visit("commit", self.commit);
    visit("samples", self.samples);
    visit("seconds_per_sample", self.seconds_per_sample);
    visit("outcomes", self.outcomes);
    visit("sample_nats", self.sample_nats);
    visit("sample_tokens", self.sample_tokens);
  }
};

struct StoredBaseline {
  std::string format;
  int schema = kBaselineSchema;
  std::string written_at, source_commit;
  Policy policy;
  std::vector<StoredCell> cells;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("format", self.format);
    visit("schema", self.schema);
    visit("written_at", self.written_at);
    visit("source_commit", self.source_commit);
    visit("policy", self.policy);
    visit("cells", self.cells);
  }
};

StoredCell stored(const GateCell& cell) {
  if (cell.status != "ok") {
    throw Error(short_name(cell.question) + " is " + cell.status + " (" + printable(cell.reason) +
                    "): a baseline holds results only",
                ExitCode::kNotMeasured);
  }
  StoredCell line;
  line.question = cell.question;
  line.subject = cell.subject;
  line.lenbench_version = cell.lenbench_version;
  line.commit = cell.commit;
  line.samples = cell.samples();
  line.seconds_per_sample = cell.seconds_per_sample;
  line.outcomes = pack_outcomes(cell.outcomes);
  line.sample_nats = cell.nats;
  for (const double tokens : cell.tokens) line.sample_tokens.push_back(static_cast<std::int64_t>(tokens));
  return line;
}

GateCell restored(const StoredCell& line, const std::string& where) {
  GateCell cell;
  cell.question = line.question;
  cell.subject = line.subject;
  cell.lenbench_version = line.lenbench_version;
  cell.commit = line.commit;
  cell.seconds_per_sample = line.seconds_per_sample;
  cell.nats = line.sample_nats;
  cell.tokens.assign(line.sample_tokens.begin(), line.sample_tokens.end());
  if (line.samples < 1) throw Error(where + ": samples is " + std::to_string(line.samples) + "; it must be at least 1");
  if (!cell.is_perplexity()) {
    cell.outcomes = unpack_outcomes(line.outcomes, line.samples, where);
  } else if (!line.outcomes.empty()) {
    throw Error(where + ": a perplexity cell has no outcomes");
  }
  if (cell.is_perplexity() ? cell.samples() != line.samples : !cell.nats.empty()) {
    throw Error(where + ": sample_nats does not hold one number for each of " + std::to_string(line.samples) +
                " samples");
  }
  if (cell.nats.size() != cell.tokens.size()) throw Error(where + ": sample_nats and sample_tokens differ in length");
  for (const std::int64_t tokens : line.sample_tokens) {
    if (tokens < 0) throw Error(where + ": a number of tokens is negative");
  }
  return cell;
}

std::string with_indent(const nlohmann::ordered_json& value, const char* indent) {
  // One level of structure for people and diffs, one line for each value below it.
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [key, item] : value.items()) {
    text += separator + std::string(indent) + dump_json(key) + ": " + dump_json(item);
    separator = ",\n";
  }
  return text + "\n}";
}

}  // namespace

std::string pack_outcomes(const std::string& outcomes) {
  std::string hex((outcomes.size() + 3) / 4, '0');
  for (std::size_t digit = 0; digit < hex.size(); ++digit) {
    unsigned bits = 0;
    for (std::size_t i = 4 * digit; i < 4 * digit + 4; ++i) {
      bits = 2 * bits + (i < outcomes.size() && outcomes[i] == '1' ? 1 : 0);
    }
    hex[digit] = "0123456789abcdef"[bits];
  }
  return hex;
}

std::string unpack_outcomes(const std::string& hex, std::int64_t samples, const std::string& where) {
  const auto count = static_cast<std::size_t>(samples);
  if (samples < 0 || hex.size() != (count + 3) / 4) {
    throw Error(printable(where) + ": outcomes has " + std::to_string(hex.size()) + " digits for " +
                std::to_string(samples) + " samples");
  }
  std::string outcomes;
  outcomes.reserve(4 * hex.size());
  for (const char digit : hex) {
    const std::size_t bits = std::string_view("0123456789abcdef").find(digit);
    if (bits == std::string_view::npos) {
      throw Error(printable(where) + ": outcomes has '" + printable(std::string(1, digit)) + "', no hexadecimal digit");
    }
    for (int bit = 3; bit >= 0; --bit) outcomes += (bits >> bit & 1U) != 0 ? '1' : '0';
  }
  if (outcomes.find('1', count) != std::string::npos) {
    throw Error(printable(where) + ": outcomes has bits behind the last of " + std::to_string(samples) + " samples");
  }
  outcomes.resize(count);
  return outcomes;
}

bool is_baseline(const std::string& bytes) {
  const std::size_t format = bytes.substr(0, 200).find("\"format\"");
  return format != std::string::npos && bytes.substr(0, 200).find(kFormat) != std::string::npos;
}

std::string baseline_text(const Baseline& baseline) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["schema"] = kBaselineSchema;
  json["written_at"] = baseline.written_at;
  json["source_commit"] = baseline.source_commit;
  json["policy"] = write_fields(baseline.policy, "policy");
  std::string text = with_indent(json, "  ");
  text.resize(text.size() - 2);
  text += ",\n  \"cells\": [";
  const char* separator = "\n";
  for (const GateCell& cell : baseline.cells) {
    text += separator + ("    " + dump_json(write_fields(stored(cell), short_name(cell.question))));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

Baseline parse_baseline(const std::string& bytes, const std::string& path) {
  const nlohmann::ordered_json json = parse_json(bytes, path);
  const std::string where = printable(path);
  if (!json.is_object() || json.value("format", nlohmann::ordered_json()) != kFormat) {
    throw Error(where + ": not a baseline; make one with 'lenbench baseline write RECORDS -o FILE'");
  }
  const auto schema = json.find("schema");
  if (schema != json.end() && schema->is_number_integer() && *schema > kBaselineSchema) {
    throw Error(where + ": schema " + schema->dump() + " is newer than schema " + std::to_string(kBaselineSchema) +
                ", the newest this lenbench reads: use a newer lenbench");
  }
  StoredBaseline file;
  read_fields(json, file, path);
  if (file.schema < 1) throw Error(where + ": schema " + std::to_string(file.schema) + " does not exist");
  check_policy(file.policy, path + ": policy");
  Baseline baseline;
  baseline.written_at = file.written_at;
  baseline.source_commit = file.source_commit;
  baseline.sha256 = sha256_hex(bytes);
  baseline.policy = file.policy;
  for (std::size_t i = 0; i < file.cells.size(); ++i) {
    baseline.cells.push_back(restored(file.cells[i], where + ": cells[" + std::to_string(i) + "]"));
  }
  require_distinct_questions(baseline.cells, path);
  return baseline;
}

std::vector<std::string> update_cells(Baseline& baseline, const std::vector<GateCell>& update,
                                      const std::vector<std::string>& names) {
  const std::vector<CellPair> pairs = match_cells(baseline.cells, update);
  std::vector<std::string> known, changed;
  for (const CellPair& pair : pairs) {
    if (pair.second == nullptr) continue;
    known.push_back(short_name(pair.second->question));
    known.push_back(pair.name);
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error("no cell '" + printable(name) + "' among the Records" + did_you_mean(name, known));
    }
  }
  std::vector<GateCell> cells;
  for (const CellPair& pair : pairs) {
    const bool wanted = pair.second != nullptr &&
                        (names.empty() || std::find(names.begin(), names.end(), pair.name) != names.end() ||
                         std::find(names.begin(), names.end(), short_name(pair.second->question)) != names.end());
    if (wanted) changed.push_back(pair.name);
    if (wanted) {
      cells.push_back(*pair.second);
    } else if (pair.first != nullptr) {
      cells.push_back(*pair.first);
    }
  }
  baseline.cells = std::move(cells);
  return changed;
}

}  // namespace lenbench
