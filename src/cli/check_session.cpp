// A check that measures the model itself: the baseline's own questions, each cell no longer than its verdict needs.
#include "cli/check_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "bench/piecewise.h"
#include "cli/interrupt.h"
#include "cli/record_output.h"
#include "cli/samples.h"
#include "cli/setting.h"
#include "cli/terminal.h"
#include "tasks/catalog.h"
#include "verdict/watch.h"

namespace lenbench::cli {
namespace {

// Small at first, so that a clear loss costs a handful of samples.
constexpr std::int64_t kFirstPiece = 16, kLargestPiece = 64;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A baseline cell on its way to a verdict.
struct Work {
  const GateCell* baseline = nullptr;
  std::string name;
  Record unmeasured;  // when the model is not asked: skipped, or another question
  std::unique_ptr<PiecewiseCell> cell;
  std::unique_ptr<CellWatch> watch;
  bool may_stop = false;

  bool open() const { return cell != nullptr && !cell->finished() && !(may_stop && watch->decided()); }
};

RunPlan plan_of(const GateCell& baseline, const std::vector<std::string>& documents, const PredictorInfo& model) {
  const Question& question = baseline.question;
  const bool is_text = question.task == "text";
  const TaskResources resources = resources_for(question.task, is_text ? documents : std::vector<std::string>{});
  PlanRequest request;
  // Version 0 is the current one: an older version of the question is found out by comparison, in words.
  request.tasks = {make_task({question.task, question.parameters, 0}, resources)};
  request.lengths = {question.length};
  request.samples = baseline.samples();
  request.data_seeds = {question.data_seed};
  request.split = parse_split(question.split);
  if (is_text) request.documents_sha256 = documents_sha256(resources);
  return make_plan(request, model);
}

Work work_for(const GateCell& baseline, const CheckSession& session, Predictor& predictor, const RunOptions& options) {
  const PredictorInfo& model = predictor.info();
  const RunPlan plan = plan_of(baseline, session.documents, model);
  Work work;
  work.baseline = &baseline;
  const bool skipped = plan.cells.empty();
  const Cell& cell = skipped ? plan.skipped.front().cell : plan.cells.front();
  work.unmeasured = make_record(cell, model);
  work.unmeasured.setting = options.setting;
  work.unmeasured.status = "skipped";
  work.unmeasured.reason = skipped ? plan.skipped.front().reason : "another question than the baseline's";
  if (!skipped && work.unmeasured.question_key() == question_key(baseline.question)) {
    work.cell = std::make_unique<PiecewiseCell>(predictor, cell, options);
  }
  return work;
}

void advance(Work& work) {
  const std::int64_t done = work.cell->done();
  const bool whole = work.baseline->is_perplexity();
  const std::int64_t piece = done < 2 * kFirstPiece ? kFirstPiece : std::min(kLargestPiece, done);
  work.cell->advance(whole ? work.cell->cell().samples : piece);
  if (whole || work.cell->failed()) return;
  const std::string outcomes = work.cell->record().outcomes;
  work.watch->add(std::string_view(outcomes).substr(static_cast<std::size_t>(done)));
}

double seconds_per_sample(const Work& work) {
  if (work.cell->done() > 0) return work.cell->seconds() / static_cast<double>(work.cell->done());
  // Without a measured time the cost grows with the tokens; only the order matters.
  constexpr double kSecondsPerToken = 1e-5;
  return work.baseline->seconds_per_sample > 0 ? work.baseline->seconds_per_sample
                                               : kSecondsPerToken * static_cast<double>(work.cell->cell().total_tokens);
}

std::vector<QueuedCell> queue_of(const std::vector<Work>& list) {
  std::vector<QueuedCell> queue;
  for (const Work& work : list) {
    QueuedCell queued;
    queued.open = work.open();
    if (queued.open) {
      queued.expected_samples_left = work.watch->expected_samples_left();
      queued.seconds_per_sample = seconds_per_sample(work);
    }
    queued.can_lose = work.baseline->is_perplexity() || work.baseline->outcomes.find('1') != std::string::npos;
    queue.push_back(queued);
  }
  return queue;
}

bool has_floor(const GateCell& cell, const Policy& policy) {
  return policy.min_accuracy.contains(short_name(cell.question));
}

void finish(const Work& work, const Policy& policy, const TestLevels& levels, GateMeasurement& result) {
  if (work.cell != nullptr && work.cell->done() == 0 && !work.cell->failed()) {
    result.options.left_out[work.name] = "not reached within --budget";
    return;
  }
  result.cells.push_back(gate_cell(work.cell == nullptr ? work.unmeasured : work.cell->record()));
  const GateCell& now = result.cells.back();
  if (work.cell == nullptr || now.status != "ok") return;
  result.samples_measured += now.samples();
  const CellPair pair{
      .name = work.name, .pairing = Pairing::kPaired, .first = work.baseline, .second = &now, .why = ""};
  const bool complete = now.samples() == work.baseline->samples();
  result.options.watched[work.name] = work.watch->result(weigh(pair, policy, levels), complete);
}

}  // namespace

GateMeasurement measure_against(const std::vector<GateCell>& baseline, const Policy& policy,
                                const CheckSession& session) {
  const std::atomic<bool>* stop = watch_interrupts();
  std::unique_ptr<RecordWriter> writer;
  if (!session.output.empty()) {
    std::string note;
    writer = open_record_output(session.output, session.overwrite, &note);
    if (!note.empty()) print_note(note);
    if (!writer->existing().empty()) {
      throw Error("'" + writer->path() + "' already holds Records; choose another -o, or --overwrite to move it aside");
    }
  }
  OpenModel model = open_model(session.choice, session.open);
  RunOptions options;
  options.batch = session.batch;
  options.setting = make_setting(model.torch_version, session.open.threads);
  options.wall_clock = utc_now;

  const std::vector<CellPair> own = match_cells(baseline, {});  // for the names that judge() will use
  const std::int64_t family = static_cast<std::int64_t>(baseline.size()) + family_size({}, policy);
  const TestLevels levels = test_levels(policy, family);
  std::vector<Work> list;
  GateMeasurement result;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    Work work = work_for(baseline[i], session, *model.predictor, options);
    work.name = own[i].name;
    work.may_stop = session.stop_early && !baseline[i].is_perplexity() && !has_floor(baseline[i], policy);
    work.watch = std::make_unique<CellWatch>(baseline[i], policy, family, work.may_stop);
    result.samples_in_baseline += baseline[i].samples();
    list.push_back(std::move(work));
  }

  const double start = now_seconds();
  ProgressLine line;
  for (std::size_t next = next_cell(queue_of(list)); next < list.size(); next = next_cell(queue_of(list))) {
    Work& work = list[next];
    if (stop->load()) {
      result.interrupted = true;
      break;
    }
    if (session.budget_seconds > 0 && now_seconds() - start >= session.budget_seconds) {
      line.keep(fmt::format("--budget is used up after {}", format_duration(now_seconds() - start)));
      break;
    }
    advance(work);
    line.show(fmt::format("{}: {} of {} samples", work.name, work.cell->done(), work.cell->cell().samples));
    if (work.open()) continue;
    const Record record = work.cell->record();
    line.keep(fmt::format("{}: {} after {} of {} samples, {:.1f} s", work.name,
                          record.status == "ok" ? "measured" : record.reason, work.cell->done(),
                          work.cell->cell().samples, work.cell->seconds()));
  }
  line.clear();
  for (const Work& work : list) {
    finish(work, policy, levels, result);
    if (writer != nullptr && (work.cell == nullptr || work.cell->done() > 0 || work.cell->failed())) {
      writer->append(work.cell == nullptr ? work.unmeasured : work.cell->record());
    }
  }
  return result;
}

}  // namespace lenbench::cli
