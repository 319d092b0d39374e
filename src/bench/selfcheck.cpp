// Runs doubles through the Runner and compares with what must come out.
#include "bench/selfcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/doubles.h"
#include "bench/plan.h"
#include "bench/runner.h"
#include "stats/intervals.h"

namespace lenbench {
namespace {

constexpr double kBlindConfidence = 1 - 1e-6;
constexpr double kPerplexityTolerance = 1e-9;  // relative
constexpr std::int64_t kSolved = 4;            // samples whose targets are found by Task::solve

// None when the plan skips the Cell; `skipped` then says why.
std::optional<Record> ask(const std::string& name, const std::shared_ptr<const Task>& task, std::int64_t length,
                          std::int64_t samples, const std::string& started_at, std::string& skipped) {
  PlanRequest request;
  request.tasks = {task};
  request.lengths = {length};
  request.samples = samples;
  const std::unique_ptr<Predictor> model = make_double(name);
  const RunPlan plan = make_plan(request, model->info());
  if (!plan.skipped.empty()) {
    skipped = plan.skipped.front().reason;
    return std::nullopt;
  }
  RunOptions options;
  options.wall_clock = [&] { return started_at; };
  std::optional<Record> record;
  Runner(*model, options).run(plan, [&](const Record& measured) { record = measured; });
  return record;
}

std::int64_t right_of(const std::optional<Proportion>& proportion) { return proportion ? proportion->right : 0; }

class Checker {
 public:
  Checker(std::shared_ptr<const Task> task, std::int64_t length, std::int64_t samples, std::string started_at)
      : task_(std::move(task)), length_(length), samples_(samples), started_at_(std::move(started_at)) {}

  SelfCheck run() {
    const std::optional<Record> oracle = measured("oracle");
    if (!result_.skipped.empty()) return result_;
    const std::optional<Record> echo = measured("echo");
    if (oracle) result_.ends.push_back(*oracle);
    if (echo) result_.ends.push_back(*echo);
    if (task_->info().metric == TaskMetric::kPerplexity) {
      check_perplexity(oracle);
    } else {
      check_exact(oracle, echo);
      check_solver();
    }
    return result_;
  }

 private:
  void problem(const std::string& text) { result_.problems.push_back(text); }

  std::optional<Record> measured(const std::string& name) {
    std::optional<Record> record = ask(name, task_, length_, samples_, started_at_, result_.skipped);
    if (record && record->status != "ok") {
      problem(name + " could not be asked: " + record->reason);
      return std::nullopt;
    }
    return record;
  }

  void check_perplexity(const std::optional<Record>& oracle) {
    if (oracle && oracle->measurement.perplexity != 1.0) problem("the oracle's perplexity is not 1");
    const std::optional<Record> uniform = measured("uniform");
    if (!uniform) return;
    result_.floors.push_back(*uniform);
    const auto vocab = static_cast<double>(task_->info().vocab_size);
    const double perplexity = uniform->measurement.perplexity.value_or(0);
    if (std::abs(perplexity / vocab - 1) > kPerplexityTolerance) {
      problem(fmt::format("equal logits have perplexity {}, not that of {} tokens", perplexity, vocab));
    }
  }

  void check_exact(const std::optional<Record>& oracle, const std::optional<Record>& echo) {
    if (oracle && right_of(oracle->measurement.exact) != oracle->measurement.samples) {
      problem(fmt::format("the oracle is right in {} of {} samples", right_of(oracle->measurement.exact),
                          oracle->measurement.samples));
    }
    if (echo) {
      const Measurement& m = echo->measurement;
      if (right_of(m.exact) + right_of(m.answer) + right_of(m.token) > 0) problem("an echo of the prompt scores");
    }
    for (const char* name : {"blind", "last-value", "most-frequent"}) {
      const std::optional<Record> floor = measured(name);
      if (!floor) continue;
      result_.floors.push_back(*floor);
      const Measurement& m = floor->measurement;
      if (m.answer && m.answer->right == m.answer->n) problem(fmt::format("{} has all {} answers", name, m.answer->n));
    }
    if (!result_.floors.empty() && result_.floors.front().subject.name == "blind") check_blind();
  }

  void check_blind() {
    const std::optional<Proportion>& answer = result_.floors.front().measurement.answer;
    if (!answer) return;
    const Interval bound = clopper_pearson(answer->right, answer->n, kBlindConfidence);
    const double chance = task_->chance();
    if (chance < bound.low || chance > bound.high) {
      problem(fmt::format("blind guesses are right in {} of {} answers, chance is {:.6f}", answer->right, answer->n,
                          chance));
    }
  }

  void check_solver() {
    for (std::int64_t i = 0; i < std::min(samples_, kSolved); ++i) {
      const Sample sample = task_->draw({length_, static_cast<std::uint64_t>(i), 0, Split::kTest});
      std::vector<std::int64_t> positions;
      std::vector<std::int32_t> targets;
      for (const ScoredToken& row : sample.scored) {
        positions.push_back(row.position);
        targets.push_back(row.target);
      }
      if (task_->solve(sample.tokens, positions) == targets) continue;
      problem(fmt::format("the solver does not find the answers of sample {}", i));
    }
  }

  std::shared_ptr<const Task> task_;
  std::int64_t length_, samples_;
  std::string started_at_;
  SelfCheck result_;
};

}  // namespace

SelfCheck self_check(const std::shared_ptr<const Task>& task, std::int64_t length, std::int64_t samples,
                     const std::string& started_at) {
  return Checker(task, length, samples, started_at).run();
}

}  // namespace lenbench
