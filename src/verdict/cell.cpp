// Cells from Records, and what they are called.
#include "verdict/cell.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"
#include "stats/intervals.h"
#include "stats/sums.h"

namespace lenbench {

GateCell gate_cell(const Record& record) {
  GateCell cell;
  cell.question = record.question;
  cell.subject = record.subject;
  cell.status = record.status;
  cell.reason = record.reason;
  cell.outcomes = record.outcomes;
  cell.nats = record.sample_nats;
  cell.tokens.assign(record.sample_tokens.begin(), record.sample_tokens.end());
  if (record.measurement.samples > 0) {
    cell.seconds_per_sample = record.measurement.seconds / static_cast<double>(record.measurement.samples);
  }
  cell.lenbench_version = record.setting.lenbench_version;
  cell.commit = record.setting.commit;
  // A sample that cannot be judged makes a cell unusable whatever its status says.
  if (cell.status == "ok" && cell.outcomes.find('x') != std::string::npos) {
    cell.status = "failed";
    cell.reason = "a sample has non-finite logits";
  }
  if (cell.status == "ok" && cell.samples() == 0) {
    cell.status = "failed";
    cell.reason = "it holds no sample";
  }
  return cell;
}

CellSummary summarize(const GateCell& cell) {
  if (cell.is_perplexity()) {
    const Interval nats = mean_interval(cell.nats, cell.tokens);
    return {std::exp(sum(cell.nats) / sum(cell.tokens)), std::exp(nats.low), std::exp(nats.high)};
  }
  const auto n = static_cast<double>(cell.samples());
  const auto right = static_cast<double>(std::count(cell.outcomes.begin(), cell.outcomes.end(), '1'));
  const Interval interval = wilson(right, n);
  return {right / n, interval.low, interval.high};
}

std::string question_key(const Question& question) {
  Record record;
  record.question = question;
  return record.question_key();
}

std::string short_name(const Question& question) { return question.task + "@" + std::to_string(question.length); }

std::vector<std::string> display_names(const std::vector<Question>& questions) {
  // Per short name, the values that each parameter takes.
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;
  std::map<std::string, std::set<std::string>> splits;
  for (const Question& question : questions) {
    for (const auto& [name, value] : question.parameters) values[short_name(question)][name].insert(value);
    splits[short_name(question)].insert(question.split);
  }
  std::vector<std::string> names;
  for (const Question& question : questions) {
    std::vector<std::string> telling;
    for (const auto& [name, value] : question.parameters) {
      if (values[short_name(question)][name].size() > 1) telling.push_back(name + "=" + value);
    }
    std::string name = question.task;
    if (!telling.empty()) name += ":" + join(telling, ",");
    name += "@" + std::to_string(question.length);
    if (question.data_seed != 0) name += " seed " + std::to_string(question.data_seed);
    if (splits[short_name(question)].size() > 1) name += " " + question.split;
    names.push_back(printable(name));
  }
  return names;
}

void require_distinct_questions(const std::vector<GateCell>& cells, const std::string& where) {
  std::map<std::string, const GateCell*> seen;
  for (const GateCell& cell : cells) {
    const auto [first, is_new] = seen.emplace(question_key(cell.question), &cell);
    if (is_new) continue;
    const std::string &one = first->second->subject.name, &other = cell.subject.name;
    throw Error("'" + printable(where) + "' holds " + short_name(cell.question) + " twice (" + printable(one) +
                (one == other ? "" : " and " + printable(other)) +
                "): a side of a comparison has each question once, of one model");
  }
}

}  // namespace lenbench
