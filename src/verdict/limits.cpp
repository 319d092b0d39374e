// Floors by the exact binomial test, ceilings of perplexity and of its growth by t tests.
#include "verdict/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "stats/drop_tests.h"
#include "stats/sums.h"

namespace lenbench {

namespace {

std::vector<const GateCell*> cells_called(const std::vector<GateCell>& cells, const std::string& name) {
  std::vector<const GateCell*> found;
  for (const GateCell& cell : cells) {
    if (short_name(cell.question) == name) found.push_back(&cell);
  }
  return found;
}

void require_known(const std::vector<GateCell>& baseline, const std::vector<GateCell>& now, const std::string& name,
                   const char* what) {
  std::vector<std::string> known;
  for (const std::vector<GateCell>* side : {&baseline, &now}) {
    for (const GateCell& cell : *side) known.push_back(short_name(cell.question));
  }
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw Error(std::string(what) + " names '" + printable(name) + "', which is neither in the baseline nor measured" +
              did_you_mean(name, known));
}

double nats_per_token(const GateCell& cell) { return sum(cell.nats) / sum(cell.tokens); }

// Fills in what one measured cell says about one limit.
void weigh_cell(const GateCell& cell, bool is_floor, LimitEvidence& evidence) {
  if (cell.status != "ok") {
    evidence.failed = cell.reason;
    return;
  }
  if (is_floor == cell.is_perplexity()) {
    throw Error(evidence.name + ": " + short_name(cell.question) + " has the metric " + cell.question.metric);
  }
  evidence.n = cell.samples();
  if (is_floor) {
    const auto right = std::count(cell.outcomes.begin(), cell.outcomes.end(), '1');
    evidence.value = static_cast<double>(right) / static_cast<double>(evidence.n);
    evidence.p_beyond = below_floor_p(right, evidence.n, evidence.limit);
    evidence.kept = evidence.value >= evidence.limit;
  } else {
    evidence.value = std::exp(nats_per_token(cell));
    evidence.p_beyond = mean_excess_p(cell.nats, cell.tokens, std::log(evidence.limit));
    evidence.kept = evidence.value <= evidence.limit;
  }
}

void weigh_ratio(const std::vector<GateCell>& baseline, const std::vector<GateCell>& now, const std::string& ratio,
                 double limit, std::vector<LimitEvidence>& list) {
  std::vector<const GateCell*> texts;
  for (const GateCell& cell : now.empty() ? baseline : now) {
    if (cell.is_perplexity()) texts.push_back(&cell);
  }
  LimitEvidence evidence;
  evidence.name = "perplexity " + printable(ratio) + " max " + format_real(limit);
  evidence.limit = limit;
  if (texts.empty()) {
    evidence.missing = "no cell measures perplexity";
    list.push_back(evidence);
    return;
  }
  const LengthRatio lengths = parse_length_ratio(ratio, texts.front()->subject.train_length, "max_perplexity_ratio");
  const GateCell *longer = nullptr, *shorter = nullptr;
  for (const GateCell* cell : texts) {
    if (cell->question.length == lengths.longer) longer = cell;
    if (cell->question.length == lengths.shorter) shorter = cell;
  }
  evidence.cell = texts.front()->question.task + "@" + std::to_string(lengths.longer);
  if (now.empty() || longer == nullptr || shorter == nullptr) {
    evidence.missing =
        fmt::format("perplexity is not measured at {}", longer == nullptr ? lengths.longer : lengths.shorter);
  } else if (longer->status != "ok" || shorter->status != "ok") {
    evidence.failed = longer->status != "ok" ? longer->reason : shorter->reason;
  } else {
    evidence.n = std::min(longer->samples(), shorter->samples());
    evidence.value = std::exp(nats_per_token(*longer) - nats_per_token(*shorter));
    evidence.p_beyond =
        mean_difference_p(longer->nats, longer->tokens, shorter->nats, shorter->tokens, std::log(limit));
    evidence.kept = evidence.value <= limit;
  }
  list.push_back(evidence);
}

}  // namespace

std::int64_t num_limits(const Policy& policy) {
  return static_cast<std::int64_t>(policy.min_accuracy.size() + policy.max_perplexity.size() +
                                   policy.max_perplexity_ratio.size());
}

std::vector<LimitEvidence> weigh_limits(const std::vector<GateCell>& baseline, const std::vector<GateCell>& now,
                                        const Policy& policy) {
  std::vector<LimitEvidence> list;
  const auto add = [&](const std::map<std::string, double>& limits, bool is_floor) {
    for (const auto& [cell, limit] : limits) {
      const char* what = is_floor ? "min_accuracy" : "max_perplexity";
      require_known(baseline, now, cell, what);
      LimitEvidence evidence;
      evidence.name = printable(cell) + (is_floor ? " min " : " max ") + format_real(limit);
      evidence.cell = cell;
      evidence.limit = limit;
      const std::vector<const GateCell*> measured = cells_called(now, cell);
      if (measured.empty()) {
        evidence.missing = printable(cell) + " is not measured";
        list.push_back(evidence);
      }
      for (const GateCell* one : measured) {
        LimitEvidence own = evidence;
        weigh_cell(*one, is_floor, own);
        list.push_back(own);
      }
    }
  };
  add(policy.min_accuracy, true);
  add(policy.max_perplexity, false);
  for (const auto& [ratio, limit] : policy.max_perplexity_ratio) weigh_ratio(baseline, now, ratio, limit, list);
  return list;
}

}  // namespace lenbench
