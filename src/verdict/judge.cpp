// Evidence of every pair, one correction over all of it, and the verdict of each.
#include "verdict/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "stats/tests.h"
#include "verdict/limits.h"

namespace lenbench {

namespace {

constexpr double kGammaShare = 0.05;  // of a cell's level, spent on nuisance rates

bool is_comparable(const CellPair& pair) {
  return (pair.pairing == Pairing::kPaired || pair.pairing == Pairing::kUnpaired) && pair.first->status == "ok" &&
         pair.second->status == "ok";
}

// A verdict that needs no statistics, or undecided.
void judge_unmeasured(const CellPair& pair, CellVerdict& cell) {
  switch (pair.pairing) {
    case Pairing::kMissing:
      cell.verdict = Verdict::kMissing;
      cell.why = "in the baseline and not measured";
      return;
    case Pairing::kNew:
      cell.verdict = pair.second->status == "ok" ? Verdict::kNew : Verdict::kFailed;
      cell.why = pair.second->status == "ok" ? "not in the baseline" : pair.second->reason;
      return;
    case Pairing::kNotComparable:
      cell.verdict = Verdict::kNotComparable;
      cell.why = "another question: " + pair.why;
      return;
    default:
      break;
  }
  if (pair.second->status == "skipped") {
    cell.verdict = Verdict::kMissing;
    cell.why = "skipped: " + pair.second->reason;
  } else if (pair.second->status != "ok") {
    cell.verdict = Verdict::kFailed;
    cell.why = pair.second->reason;
  } else {
    cell.verdict = Verdict::kNotComparable;
    cell.why = "the baseline's cell is " + pair.first->status + ": " + pair.first->reason;
  }
}

void apply_watch(const WatchedCell& watched, Evidence& evidence) {
  evidence.p_worse = watched.p_worse;
  evidence.p_better = watched.p_better;
  evidence.p_not_same = watched.p_not_same;
  // What a fixed number of samples could see says nothing about a cell that stopped when it had seen enough.
  if (!watched.note.empty()) evidence.detectable = std::numeric_limits<double>::infinity();
}

std::string decided_text(const CellVerdict& cell, const CellPair& pair, const Policy& policy,
                         const std::string& watched) {
  const Evidence& seen = *cell.evidence;
  std::string text = fmt::format("p = {:.2g}", cell.p_worse);
  switch (cell.verdict) {
    case Verdict::kWorse:
      text = "certainly lost, " + text;
      break;
    case Verdict::kBetter:
      text = "certainly gained";
      break;
    case Verdict::kSame:
      text = fmt::format("a loss of {} is excluded", seen.is_perplexity
                                                         ? fmt::format("{:.3g} %", 100 * policy.perplexity_same_within)
                                                         : fmt::format("{:.3g} points", 100 * policy.same_within));
      break;
    default:
      text = seen.n < 2 && seen.is_perplexity ? "one document cannot decide"
                                              : fmt::format("about {} samples would decide", seen.deciding_n);
  }
  if (pair.pairing == Pairing::kUnpaired) text += "; " + pair.why;
  if (!watched.empty()) {
    text += "; " + watched;
  } else if (pair.first->samples() != pair.second->samples() && pair.pairing == Pairing::kPaired) {
    text += fmt::format("; {} samples in the baseline, {} now", pair.first->samples(), pair.second->samples());
  }
  return text;
}

void judge_limit(const LimitEvidence& limit, double p, double alpha, CellVerdict& cell) {
  cell.is_limit = true;
  cell.name = limit.name;
  cell.cell = limit.cell;
  cell.p_worse = p;
  const std::string seen = fmt::format("measured {:.4g} on {} samples", limit.value, limit.n);
  if (!limit.missing.empty()) {
    cell.verdict = Verdict::kMissing;
    cell.why = limit.missing;
  } else if (!limit.failed.empty()) {
    cell.verdict = Verdict::kFailed;
    cell.why = limit.failed;
  } else if (p <= alpha) {
    cell.verdict = Verdict::kWorse;
    cell.why = fmt::format("certainly beyond the limit: {}, p = {:.2g}", seen, p);
  } else {
    cell.verdict = limit.kept ? Verdict::kSame : Verdict::kUndecided;
    cell.why = seen + (limit.kept ? ": within the limit" : ": beyond the limit, but not for certain");
  }
}

const Acknowledgement* find_acknowledgement(const Policy& policy, const CellVerdict& cell) {
  for (const Acknowledgement& entry : policy.acknowledgements) {
    if (entry.cell == cell.cell || entry.cell == cell.name) return &entry;
  }
  return nullptr;
}

void require_known_acknowledgements(const Policy& policy, const std::vector<CellVerdict>& cells) {
  std::vector<std::string> known;
  for (const CellVerdict& cell : cells) {
    known.push_back(cell.cell);
    known.push_back(cell.name);
  }
  for (const Acknowledgement& entry : policy.acknowledgements) {
    if (std::find(known.begin(), known.end(), entry.cell) != known.end()) continue;
    throw Error("an acknowledgement names '" + printable(entry.cell) +
                "', which is neither in the baseline nor measured" + did_you_mean(entry.cell, known));
  }
}

bool is_loss(const CellVerdict& cell, const Policy& policy) {
  switch (cell.verdict) {
    case Verdict::kWorse:
      return true;
    case Verdict::kMissing:
      return cell.is_limit || !policy.allow_missing;
    case Verdict::kUndecided:
      return policy.fail_undecided;
    case Verdict::kNew:
      return policy.fail_new;
    default:
      return false;
  }
}

void acknowledge(const CellPair* pair, const Policy& policy, const JudgeOptions& options, const TestLevels& levels,
                 CellVerdict& cell, std::vector<std::string>& notes) {
  const Acknowledgement* entry = find_acknowledgement(policy, cell);
  if (entry == nullptr) return;
  const std::string named = "the acknowledgement of '" + printable(entry->cell) + "'";
  const bool expired = options.today > entry->expires;
  if (!cell.red) {
    notes.push_back(named + (expired ? " expired on " + entry->expires + ": remove it"
                                     : " is not needed: " + cell.name + " is " + verdict_name(cell.verdict)));
    return;
  }
  const std::string reason = printable(entry->reason);
  if (expired) {
    cell.why += "; ACKNOWLEDGEMENT EXPIRED on " + entry->expires + " (" + reason + ")";
    notes.push_back(named + " expired on " + entry->expires + " and no longer excuses the loss");
    return;
  }
  if (entry->max_drop && cell.evidence && loss_beyond_p(*pair, *entry->max_drop, levels.gamma) <= levels.level) {
    cell.why += fmt::format("; beyond the acknowledged loss of {} ({})", format_real(*entry->max_drop), reason);
    return;
  }
  cell.red = false;
  cell.acknowledged = true;
  cell.why += "; acknowledged until " + entry->expires + ": " + reason;
}

}  // namespace

std::string verdict_name(Verdict verdict) {
  static const char* const names[] = {"worse",     "missing", "failed", "not-comparable",
                                      "undecided", "new",     "better", "same"};
  return names[static_cast<std::size_t>(verdict)];
}

std::int64_t CheckResult::count(Verdict verdict) const {
  return std::count_if(cells.begin(), cells.end(), [&](const CellVerdict& cell) { return cell.verdict == verdict; });
}

ExitCode CheckResult::exit_code() const {
  if (!overlap) return ExitCode::kNotMeasured;
  if (std::any_of(cells.begin(), cells.end(), [](const CellVerdict& cell) { return cell.red; })) {
    return ExitCode::kWorse;
  }
  return count(Verdict::kFailed) + count(Verdict::kNotComparable) > 0 ? ExitCode::kNotMeasured : ExitCode::kOk;
}

std::string CheckResult::summary() const {
  std::vector<std::string> parts;
  for (int i = 0; i <= static_cast<int>(Verdict::kSame); ++i) {
    const auto verdict = static_cast<Verdict>(i);
    if (count(verdict) > 0) parts.push_back(fmt::format("{} {}", count(verdict), verdict_name(verdict)));
  }
  const auto excused =
      std::count_if(cells.begin(), cells.end(), [](const CellVerdict& cell) { return cell.acknowledged; });
  if (excused > 0) parts.push_back(fmt::format("{} acknowledged", excused));
  const ExitCode code = exit_code();
  const char* word = code == ExitCode::kOk ? "PASS" : code == ExitCode::kWorse ? "FAIL" : "NOT MEASURED";
  return join(parts, ", ") + (overlap ? "" : "; baseline and measurement have no cell in common") + ": " + word;
}

std::int64_t family_size(const std::vector<CellPair>& pairs, const Policy& policy) {
  return std::count_if(pairs.begin(), pairs.end(), is_comparable) + num_limits(policy);
}

TestLevels test_levels(const Policy& policy, std::int64_t family) {
  const double level = policy.alpha / static_cast<double>(std::max<std::int64_t>(1, family));
  return {.level = level, .same_level = policy.alpha, .gamma = kGammaShare * level};
}

CheckResult judge(const std::vector<GateCell>& baseline, const std::vector<GateCell>& now, const Policy& policy,
                  const JudgeOptions& options) {
  const std::vector<CellPair> pairs = match_cells(baseline, now);
  const std::vector<LimitEvidence> limits = weigh_limits(baseline, now, policy);
  CheckResult result;
  result.family = std::count_if(pairs.begin(), pairs.end(), is_comparable) + static_cast<std::int64_t>(limits.size());
  const TestLevels levels = test_levels(policy, result.family);
  std::vector<double> worse, better;
  std::map<std::string, std::string> left_out_cells;  // by short name, for limits
  for (const CellPair& pair : pairs) {
    CellVerdict cell;
    cell.name = pair.name;
    cell.cell = short_name((pair.first != nullptr ? pair.first : pair.second)->question);
    result.overlap = result.overlap || (pair.first != nullptr && pair.second != nullptr);
    if (is_comparable(pair)) {
      cell.evidence = weigh(pair, policy, levels);
      const auto watched = options.watched.find(pair.name);
      if (watched != options.watched.end()) apply_watch(watched->second, *cell.evidence);
      worse.push_back(cell.evidence->p_worse);
      better.push_back(cell.evidence->p_better);
    } else {
      judge_unmeasured(pair, cell);
      const auto left_out = options.left_out.find(pair.name);
      if (cell.verdict == Verdict::kMissing && left_out != options.left_out.end()) {
        cell.verdict = Verdict::kUndecided;
        cell.why = left_out->second;
        left_out_cells[cell.cell] = left_out->second;
      }
    }
    result.cells.push_back(std::move(cell));
  }
  for (const LimitEvidence& limit : limits) worse.push_back(limit.p_beyond);
  worse = holm_adjust(worse);
  better = holm_adjust(better);

  std::size_t next = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CellVerdict& cell = result.cells[i];
    if (!cell.evidence) continue;
    cell.p_worse = worse[next];
    const double p_better = better[next++];
    cell.verdict = cell.p_worse <= policy.alpha                ? Verdict::kWorse
                   : p_better <= policy.alpha                  ? Verdict::kBetter
                   : cell.evidence->p_not_same <= policy.alpha ? Verdict::kSame
                                                               : Verdict::kUndecided;
    const auto watched = options.watched.find(cell.name);
    cell.why = decided_text(cell, pairs[i], policy, watched == options.watched.end() ? "" : watched->second.note);
  }
  for (const LimitEvidence& limit : limits) {
    CellVerdict cell;
    judge_limit(limit, worse[next++], policy.alpha, cell);
    const auto left_out = left_out_cells.find(limit.cell);
    if (cell.verdict == Verdict::kMissing && left_out != left_out_cells.end()) {
      cell.verdict = Verdict::kUndecided;
      cell.why = left_out->second;
    }
    result.cells.push_back(std::move(cell));
  }
  require_known_acknowledgements(policy, result.cells);
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    CellVerdict& cell = result.cells[i];
    cell.red = is_loss(cell, policy);
    acknowledge(i < pairs.size() ? &pairs[i] : nullptr, policy, options, levels, cell, result.notes);
  }
  std::stable_sort(result.cells.begin(), result.cells.end(), [](const CellVerdict& left, const CellVerdict& right) {
    return std::pair(!left.red, left.verdict) < std::pair(!right.red, right.verdict);
  });
  return result;
}

}  // namespace lenbench
