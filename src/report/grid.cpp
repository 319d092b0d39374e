// Builds Grids: groups Records into tables, rows and columns, and aggregates repeats.
#include "report/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "record/store.h"
#include "report/length_note.h"

namespace lenbench {

namespace {

// One Record's value of a metric, or why it has none.
struct Reading {
  std::optional<double> value, low, high;
  std::string why;
};

bool is_attention(Metric metric) {
  return metric == Metric::kEntropy || metric == Metric::kSupport || metric == Metric::kSink;
}

std::string place_of(const Record& record) {
  return fmt::format("{} on {} at length {}, data seed {}", record.subject.name, record.question.task,
                     record.question.length, record.question.data_seed);
}

Reading read_proportion(const Record& record, const std::optional<Proportion>& proportion) {
  if (!proportion) return {{}, {}, {}, "this task has no such accuracy"};
  const Proportion& p = *proportion;
  constexpr double kRounding = 1e-9;
  const bool sound = p.n > 0 && p.right >= 0 && p.right <= p.n &&
                     std::abs(p.value - static_cast<double>(p.right) / static_cast<double>(p.n)) <= kRounding &&
                     p.low <= p.value + kRounding && p.value <= p.high + kRounding && p.low < p.high;
  if (!sound) {
    throw Error(fmt::format("{}: accuracy {} [{}, {}] contradicts {} right of {}", place_of(record), p.value, p.low,
                            p.high, p.right, p.n));
  }
  return {p.value, p.low, p.high, ""};
}

Reading read_metric(const Record& record, const MetricChoice& choice) {
  if (record.status != "ok") return {{}, {}, {}, record.status + ": " + record.reason};
  const Measurement& m = record.measurement;
  switch (choice.metric) {
    case Metric::kAnswer:
      return read_proportion(record, m.answer);
    case Metric::kExact:
      return read_proportion(record, m.exact);
    case Metric::kToken:
      return read_proportion(record, m.token);
    case Metric::kPerplexity:
      return {m.perplexity, m.perplexity_low, m.perplexity_high, m.perplexity ? "" : "no perplexity was measured"};
    case Metric::kBitsPerByte:
      return {m.bits_per_byte, {}, {}, m.bits_per_byte ? "" : "the tokens are not bytes"};
    case Metric::kEntropy:
    case Metric::kSupport:
    case Metric::kSink:
      break;
  }
  const std::optional<double> mean = head_mean(m, choice);
  const char* why = mean ? "" : m.heads.empty() ? "attention was not probed" : "no such heads, or no row saw two keys";
  return {mean, {}, {}, why};
}

// A training seed and a data seed: what may be averaged over.
using Repeat = std::pair<std::string, std::uint64_t>;

std::string repeat_name(const Repeat& repeat) {
  const std::string seed = fmt::format("data seed {}", repeat.second);
  return repeat.first.empty() ? seed : fmt::format("checkpoint {}, {}", repeat.first.substr(0, 8), seed);
}

// An identity field that separates rows.
struct IdentityField {
  const char* name;
  bool separates_always;
  std::string (*text)(const Subject&);
};

const IdentityField kIdentityFields[] = {
    {"transform", true, [](const Subject& s) { return s.transform; }},
    {"positions", true, [](const Subject& s) { return s.positions; }},
    {"dtype", true, [](const Subject& s) { return s.dtype; }},
    {"device", true, [](const Subject& s) { return s.device; }},
    {"train-length", true,
     [](const Subject& s) { return s.train_length > 0 ? fmt::format("trained at {}", s.train_length) : ""; }},
    {"checkpoint", false, [](const Subject& s) { return s.checkpoint_sha256.substr(0, 8); }},
};

struct RowDraft {
  Subject subject;
  std::map<std::int64_t, std::map<Repeat, const Record*>> cells;
  std::set<Repeat> repeats;
};

bool listed(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool same_row(const Subject& a, const Subject& b, const std::vector<std::string>& rows_by) {
  if (a.name != b.name) return false;
  for (const IdentityField& field : kIdentityFields) {
    const bool separates = field.separates_always || listed(rows_by, field.name);
    if (separates && field.text(a) != field.text(b)) return false;
  }
  return listed(rows_by, "checkpoint") ? a.checkpoint_sha256 == b.checkpoint_sha256 : true;
}

// The name, with the fields asked for and those in which rows of this name differ.
std::string row_label(const RowDraft& row, const std::vector<RowDraft>& rows, const std::vector<std::string>& rows_by) {
  std::vector<std::string> details;
  for (const IdentityField& field : kIdentityFields) {
    bool show = listed(rows_by, field.name);
    for (const RowDraft& other : rows) {
      const bool same_name = other.subject.name == row.subject.name;
      if (field.separates_always && same_name && field.text(other.subject) != field.text(row.subject)) show = true;
    }
    const std::string text = field.text(row.subject);
    if (show && !text.empty()) details.push_back(text);
  }
  return details.empty() ? row.subject.name : fmt::format("{} ({})", row.subject.name, join(details, ", "));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Sampling error of a mean of independent parts, on each side: the distances in quadrature over their number.
void mean_of(const std::vector<Reading>& parts, GridCell& cell) {
  double sum = 0, below = 0, above = 0;
  bool intervals = true;
  for (const Reading& part : parts) {
    sum += *part.value;
    intervals = intervals && part.low && part.high;
    if (!intervals) continue;
    below += (*part.value - *part.low) * (*part.value - *part.low);
    above += (*part.high - *part.value) * (*part.high - *part.value);
  }
  const auto k = static_cast<double>(parts.size());
  cell.value = sum / k;
  if (!intervals) return;
  cell.low = *cell.value - std::sqrt(below) / k;
  cell.high = *cell.value + std::sqrt(above) / k;
}

void aggregate_parts(const std::vector<Reading>& parts, Aggregate aggregate, GridCell& cell) {
  if (parts.size() == 1) {
    cell.value = parts.front().value;
    cell.low = parts.front().low;
    cell.high = parts.front().high;
    return;
  }
  if (aggregate == Aggregate::kMean) return mean_of(parts, cell);
  std::vector<double> values;
  for (const Reading& part : parts) values.push_back(*part.value);
  cell.value = aggregate == Aggregate::kMax ? *std::max_element(values.begin(), values.end()) : median(values);
}

GridCell build_cell(const RowDraft& row, std::int64_t length, const MetricChoice& choice, Aggregate aggregate) {
  GridCell cell;
  const auto found = row.cells.find(length);
  if (found == row.cells.end()) {
    cell.reason = "not measured";
    return cell;
  }
  std::vector<Reading> parts;
  std::vector<std::string> gaps;
  std::set<std::string> checkpoints, whys;
  std::set<std::uint64_t> seeds;
  for (const Repeat& repeat : row.repeats) {
    const auto record = found->second.find(repeat);
    const Reading reading =
        record == found->second.end() ? Reading{{}, {}, {}, "not measured"} : read_metric(*record->second, choice);
    if (!reading.value) {
      whys.insert(reading.why);
      gaps.push_back(repeat_name(repeat) + " " + reading.why);
      continue;
    }
    parts.push_back(reading);
    cell.n += record->second->measurement.samples;
    checkpoints.insert(repeat.first);
    seeds.insert(repeat.second);
  }
  cell.repeats = static_cast<std::int64_t>(parts.size());
  cell.data_seeds.assign(seeds.begin(), seeds.end());
  cell.checkpoints = static_cast<std::int64_t>(checkpoints.size());
  if (!parts.empty()) aggregate_parts(parts, aggregate, cell);
  if (gaps.empty()) return cell;
  if (parts.empty()) {
    cell.reason = whys.size() == 1 ? *whys.begin() : join(gaps, "; ");
  } else {
    cell.reason = fmt::format("{} of {} repeats: {}", parts.size(), row.repeats.size(), join(gaps, "; "));
  }
  return cell;
}

void place_record(const Record& record, const std::vector<std::string>& rows_by, std::vector<RowDraft>& rows) {
  auto row = std::find_if(rows.begin(), rows.end(),
                          [&](const RowDraft& draft) { return same_row(draft.subject, record.subject, rows_by); });
  if (row == rows.end()) row = rows.insert(rows.end(), RowDraft{record.subject, {}, {}});
  const Repeat repeat{record.subject.checkpoint_sha256, record.question.data_seed};
  row->repeats.insert(repeat);
  const auto [place, inserted] = row->cells[record.question.length].try_emplace(repeat, &record);
  if (inserted) return;
  const Record& other = *place->second;
  if (other.resume_key() != record.resume_key()) {
    throw Error(fmt::format("{} was measured twice, with {} and with {} samples: pass one of the two files",
                            place_of(record), other.samples_requested, record.samples_requested));
  }
  if (to_json_line(other) != to_json_line(record)) {
    throw Error(fmt::format("two different Records of {}: pass one of the two files", place_of(record)));
  }
}

std::string shown_parameters(const Question& question, const GridRequest& request) {
  std::map<std::string, std::string> defaults;
  if (request.default_parameters) defaults = request.default_parameters(question.task);
  std::vector<std::string> shown;
  for (const auto& [key, value] : question.parameters) {
    const auto found = defaults.find(key);
    if (found == defaults.end() || found->second != value) shown.push_back(key + "=" + value);
  }
  return join(shown, ",");
}

MetricChoice default_metric(const std::vector<const Record*>& records) {
  if (records.front()->question.metric == "perplexity") return {Metric::kPerplexity, HeadGroup::kAll};
  for (const Record* record : records) {
    const Measurement& m = record->measurement;
    if (m.answer && m.answer->n > m.samples) return {Metric::kAnswer, HeadGroup::kAll};
  }
  return {Metric::kExact, HeadGroup::kAll};
}

std::string interval_sentence(Metric metric, bool has_interval, bool has_repeats) {
  if (!has_interval) return "";
  std::string sentence = "95 % Wilson";
  if (metric == Metric::kAnswer) sentence += ", widened for answers that share a sample";
  if (metric == Metric::kToken) sentence += ", widened for tokens that share a sample";
  if (metric == Metric::kPerplexity) sentence = "95 % Student t over samples";
  if (has_repeats) sentence += "; over repeats combined in quadrature, without the spread between checkpoints";
  return sentence;
}

GridRow chance_row(const std::vector<const Record*>& records, const std::vector<GridColumn>& columns) {
  GridRow row;
  row.name = "chance";
  row.kind = RowKind::kChance;
  for (const GridColumn& column : columns) {
    GridCell cell;
    for (const Record* record : records) {
      if (record->question.length == column.length && record->measurement.chance) {
        cell.value = record->measurement.chance;
      }
    }
    if (!cell.value) cell.reason = "not measured";
    row.cells.push_back(cell);
  }
  return row;
}

Grid build_grid(const std::vector<const Record*>& records, const GridRequest& request, const std::string& probe_rows) {
  const Question& question = records.front()->question;
  const MetricChoice choice = request.metric ? *request.metric : default_metric(records);
  Grid grid;
  grid.task = question.task;
  grid.parameters = shown_parameters(question, request);
  grid.task_version = question.task_version;
  grid.split = question.split;
  grid.comparability = question.comparability;
  grid.metric = metric_name(choice);
  grid.percent = is_proportion(choice.metric);
  grid.aggregate = aggregate_name(request.aggregate);
  grid.probe_rows = probe_rows;

  std::vector<RowDraft> drafts;
  std::set<std::int64_t> lengths;
  for (const Record* record : records) {
    place_record(*record, request.rows_by, drafts);
    lengths.insert(record->question.length);
  }
  for (const std::int64_t length : lengths) grid.columns.push_back({std::to_string(length), length});
  for (GridColumn& column : grid.columns) {
    for (const Record* record : records) {
      if (record->question.length == column.length && column.remark.empty()) column.remark = length_note(*record);
    }
  }
  bool has_interval = false, has_repeats = false, has_value = false;
  for (const RowDraft& draft : drafts) {
    GridRow row{row_label(draft, drafts, request.rows_by), RowKind::kMeasured, "", "", draft.subject.train_length, {}};
    for (const std::int64_t length : lengths) {
      row.cells.push_back(build_cell(draft, length, choice, request.aggregate));
      has_value = has_value || row.cells.back().value;
      has_interval = has_interval || row.cells.back().low;
      has_repeats = has_repeats || row.cells.back().repeats > 1;
    }
    grid.rows.push_back(std::move(row));
  }
  if (request.chance_row && choice.metric == Metric::kAnswer && has_value) {
    grid.rows.push_back(chance_row(records, grid.columns));
  }
  grid.interval_kind = interval_sentence(choice.metric, has_interval, has_repeats);
  return grid;
}

std::string group_key(const Question& question) {
  Question without_cell = question;
  without_cell.length = 0;
  without_cell.data_seed = 0;
  Record record;
  record.question = without_cell;
  return record.question_key();
}

}  // namespace

std::vector<std::string> row_field_names() {
  std::vector<std::string> names;
  for (const IdentityField& field : kIdentityFields) names.emplace_back(field.name);
  return names;
}

std::vector<Grid> build_grids(const std::vector<Record>& records, const GridRequest& request) {
  const std::vector<std::string> known = row_field_names();
  for (const std::string& name : request.rows_by) {
    if (!listed(known, name.c_str())) {
      throw Error(fmt::format("rows cannot be told apart by '{}'{}; there are {}", name, did_you_mean(name, known),
                              join(known, ", ")));
    }
  }
  std::vector<std::pair<std::string, std::vector<const Record*>>> groups;
  for (const Record& record : records) {
    const std::string key = group_key(record.question);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    group->second.push_back(&record);
  }
  std::vector<Grid> grids;
  for (const auto& [key, group] : groups) {
    std::set<std::string> probed;
    if (request.metric && is_attention(request.metric->metric)) {
      for (const Record* record : group) {
        if (!record->measurement.probe_rows.empty()) probed.insert(record->measurement.probe_rows);
      }
    }
    if (probed.empty()) probed.insert("");
    for (const std::string& rows : probed) {
      std::vector<const Record*> members;
      for (const Record* record : group) {
        const std::string& own = record->measurement.probe_rows;
        if (rows.empty() || own.empty() || own == rows) members.push_back(record);
      }
      grids.push_back(build_grid(members, request, rows));
    }
  }
  return grids;
}

}  // namespace lenbench
