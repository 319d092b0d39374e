// One run from request to exit code: output opened, model loaded, Cells measured and written, table printed.
#include "cli/run_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/numbers.h"
#include "bench/answer_terms.h"
#include "cli/backend_loader.h"
#include "cli/interrupt.h"
#include "cli/record_output.h"
#include "cli/run_progress.h"
#include "cli/run_ranks.h"
#include "cli/setting.h"
#include "cli/terminal.h"
#include "dist/meeting.h"
#include "dist/shared_run.h"
#include "report/run_table.h"
#include "tasks/catalog.h"

namespace lenbench::cli {
namespace {

// A length that no task can ask is a mistake in --lengths, not a Cell to skip.
void require_askable_lengths(const PlanRequest& plan) {
  for (const std::int64_t length : plan.lengths) {
    std::shared_ptr<const Task> shortest;
    for (const std::shared_ptr<const Task>& task : plan.tasks) {
      if (shortest == nullptr || task->min_length() < shortest->min_length()) shortest = task;
    }
    if (shortest == nullptr || length >= shortest->min_length()) continue;
    throw Error("--lengths has " + std::to_string(length) + ", too short for '" + shortest->info().name +
                "': its shortest length is " + std::to_string(shortest->min_length()));
  }
}

RunPlan plan_or_refuse(const PlanRequest& request, const PredictorInfo& model) {
  RunPlan plan = make_plan(request, model);
  // Too long for the model is a finding, which Records keep; anything else is a question that makes no sense.
  const auto is_finding = [&](const SkippedCell& skip) {
    return model.max_positions > 0 && skip.cell.total_tokens > model.max_positions;
  };
  if (plan.cells.empty() && std::none_of(plan.skipped.begin(), plan.skipped.end(), is_finding)) {
    const SkippedCell& skip = plan.skipped.front();
    throw Error("nothing can be measured: " + skip.cell.task->info().name + " at length " +
                std::to_string(skip.cell.length) + ": " + skip.reason);
  }
  return plan;
}

// Known from the hello, so it is no Cell's failure.
void require_nats(const PlanRequest& plan, const ModelChoice& choice) {
  if (choice.program == nullptr || choice.program->hello().nats) return;
  for (const std::shared_ptr<const Task>& task : plan.tasks) {
    if (task->info().metric != TaskMetric::kPerplexity) return;
  }
  throw Error("nothing can be measured: the program gives no nats, which perplexity needs");
}

// A task of fewer tokens than the model fits, but may be another task than the one it was trained on.
void note_other_vocabulary(const RunPlan& plan, const PredictorInfo& model) {
  std::set<std::string> named;
  for (const Cell& cell : plan.cells) {
    const TaskInfo& info = cell.task->info();
    if (model.vocab_size == 0 || info.vocab_size == model.vocab_size || !named.insert(info.name).second) continue;
    print_note(
        fmt::format("{} has {} tokens and '{}' {}: it was trained on other tokens, and its answers may mean "
                    "nothing",
                    info.name, info.vocab_size, model.name, model.vocab_size));
  }
}

// Records in the order of `planned`, whichever run measured them.
std::vector<Record> in_order(const std::vector<Record>& records, const std::vector<Record>& planned) {
  std::map<std::string, const Record*> by_key;
  for (const Record& record : records) by_key[record.resume_key()] = &record;
  std::vector<Record> ordered;
  for (const Record& plan : planned) {
    const auto found = by_key.find(plan.resume_key());
    if (found != by_key.end()) ordered.push_back(*found->second);
  }
  return ordered;
}

int exit_code(const std::vector<Record>& records, bool stopped, bool allow_nonfinite) {
  if (stopped) return kInterruptedExit;
  for (const Record& record : records) {
    const bool nonfinite = record.status == "failed" && record.measurement.nonfinite_samples > 0;
    if (record.status != "ok" && !(nonfinite && allow_nonfinite)) return static_cast<int>(ExitCode::kNotMeasured);
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace

void require_splittable(const SessionRequest& request) {
  const ModelChoice& choice = request.choice;
  if (!choice.is_checkpoint()) {
    throw Error("--split-sequence needs a checkpoint, whose rows ranks can divide: '" + choice.text + "' is a " +
                (choice.is_double   ? "double"
                 : choice.is_script ? "TorchScript module"
                                    : "program"));
  }
  if (describe_unloaded(choice, request.open).input == TaskInput::kItems) {
    throw Error("--split-sequence needs a model of sequences: '" + choice.text + "' is a model of sets");
  }
  if (request.open.device != "cpu") throw Error("--split-sequence is for the CPU: leave out --device");
  if (request.run.probe == ProbeRows::kPrefix) {
    throw Error("--split-sequence has no statistics of prefixes: use --probe answer, all or none");
  }
  if (!RunRanks(request.jobs).shared()) {
    throw Error("--split-sequence divides samples over ranks: add --jobs N, or start it with torchrun, srun or mpirun");
  }
}

std::string dry_run_text(const SessionRequest& request, const PredictorInfo& model) {
  require_askable_lengths(request.plan);
  const RunPlan plan = make_plan(request.plan, model);
  const MemoryForecast forecast = forecast_memory(request.choice, request.open.dtype,
                                                  request.split_sequence ? RunRanks(request.jobs).ranks().world : 1);
  std::string text = fmt::format("{:<14} {:>10} {:>12} {:>9} {:>6} {:>6} {:>12}\n", "task", "length", "tokens fed",
                                 "samples", "seed", "batch", "memory");
  for (const Cell& cell : plan.cells) {
    const Sample sample = cell.task->draw({cell.length, 0, cell.data_seed, cell.split});
    const auto bytes = [&](std::int64_t batch) {
      return forecast(batch, cell.total_tokens, std::ssize(sample.scored));
    };
    const std::int64_t chosen =
        request.run.batch > 0 ? request.run.batch : choose_batch(bytes, cell.total_tokens, request.run.memory_bytes);
    const std::int64_t batch = std::min(chosen, cell.samples), needed = bytes(batch);
    text +=
        fmt::format("{:<14} {:>10} {:>12} {:>9} {:>6} {:>6} {:>12}\n", cell.task->info().name, cell.length,
                    cell.total_tokens, cell.samples, cell.data_seed, batch, needed > 0 ? format_bytes(needed) : "-");
  }
  for (const SkippedCell& skip : plan.skipped) {
    text += fmt::format("{:<14} {:>10} skipped: {}\n", skip.cell.task->info().name, skip.cell.length, skip.reason);
  }
  if (request.choice.is_checkpoint()) {
    text += fmt::format("memory: predicted peak {}above the loaded model ({} of weights)\n",
                        request.split_sequence ? "of each rank " : "",
                        format_bytes(model.num_parameters * (request.open.dtype == "float64" ? 8 : 4)));
  }
  return text;
}

namespace {

// The work of one rank of several.
RunSummary run_shared(const RunPlan& plan, const RunOptions& options, OpenModel& model, RunRanks& ranks,
                      const Runner::Sink& sink, const Runner::Progress& progress) {
  // A model that needs no LibTorch of its own still meets the others through it.
  if (model.backend == nullptr) model.backend = load_backend();
  const std::unique_ptr<SharedStore> store = ranks.connect(*model.backend);
  if (ranks.leads()) {
    refuse_meeting(*store);
  } else if (holds_meeting(*store)) {
    throw Error("rank 0 was started with --split-sequence: give all ranks the same command line");
  }
  const ItemPlan items = make_items(plan, *model.predictor, options);
  const RunMember member{store.get(), ranks.ranks(), ranks.locals(), [](const std::string& text) { print_note(text); }};
  if (ranks.leads()) return lead_shared_run(*model.predictor, options, plan, items, member, sink, progress);
  RunSummary summary;
  summary.stopped = !join_shared_run(*model.predictor, options, plan, items, member);
  return summary;
}

// Rank 0 measures as if it were alone: its model asks the others.
RunSummary run_split(const RunPlan& plan, const RunOptions& options, Predictor& predictor, const RankWatch& watch,
                     const std::string& ending, const Runner::Sink& sink, const Runner::Progress& progress) {
  try {
    return Runner(predictor, options).run(plan, sink, progress);
  } catch (const PredictorLost& lost) {
    // An interrupt that a launcher sends to all ranks may end another first.
    if (lost.elsewhere() && options.stop->load()) {
      RunSummary summary;
      summary.stopped = true;
      return summary;
    }
    const std::string cause = lost.elsewhere() ? watch.cause() : "";
    throw Error(cause.empty() ? lost.what() + ending : cause, ExitCode::kNotMeasured);
  }
}

void print_task_notes(const PlanRequest& request) {
  for (const std::shared_ptr<const Task>& task : request.tasks) {
    for (const std::int64_t length : request.lengths) {
      const std::string note = task->note(length);
      if (!note.empty()) print_note(fmt::format("{} at {}: {}", format_spec(*task), length, note));
    }
  }
}

void print_model_notes(const RunPlan& plan, const PredictorInfo& info, bool has_output) {
  if (!has_output) print_note("no -o FILE: the table is printed and no Records are kept");
  note_other_vocabulary(plan, info);
  if (info.rows_depend_on_length) {
    print_note(
        "a row of " + info.name + " with " + info.positions +
        " depends on the length of the whole text: exact match is that of one pass over prompt and answer, not of "
        "decoding, and Records say teacher_forced");
  }
}

}  // namespace

SessionResult measure_session(const SessionRequest& request) {
  const std::atomic<bool>* stop = watch_interrupts();
  RunRanks ranks(request.jobs);
  if (ranks.shared() && request.shard) {
    throw Error("--shard is for runs without a network: it does not go with --jobs or the ranks of a launcher");
  }
  if (!ranks.leads()) silence_notes();
  OpenOptions open = request.open;
  open.threads = ranks.threads(open.threads);
  open.device = ranks.device(open.device);
  require_askable_lengths(request.plan);
  print_task_notes(request.plan);
  std::unique_ptr<RecordWriter> writer;
  std::vector<Record> records;
  if (request.has_output && ranks.leads()) {
    std::string note;
    writer = open_record_output(request.output, request.overwrite, &note);
    if (!note.empty()) print_note(note);
    records = writer->existing();
    if (request.choice.program == nullptr) require_same_checkpoint(records, request.choice.sha256, writer->path());
  }
  // Refused before the model is loaded wherever its header is enough to tell.
  plan_or_refuse(request.plan, describe_unloaded(request.choice, open));
  require_nats(request.plan, request.choice);
  ranks.start();
  std::unique_ptr<SharedStore> store;
  std::optional<RankWatch> watch;
  const std::string ending = what_is_kept(request.has_output);
  if (request.split_sequence) {
    watch.emplace(ranks.locals(), stop, ending);
    const std::unique_ptr<Backend> backend = load_backend();
    store = ranks.connect(*backend);
    open.split = ranks.membership(*store);
    const MeetingOptions meeting{.stop = stop, .note = print_note};
    if (!meet(open.split, answer_terms(request.choice.sha256, open), meeting)) return {{}, true, ranks.leads()};
    if (!ranks.leads()) return {{}, !backend->follow(request.choice.path, open, stop), false};
  }
  OpenModel model = open_model(request.choice, open);
  const PredictorInfo info = model.predictor->info();
  const RunPlan plan = plan_or_refuse(request.plan, info);
  print_model_notes(plan, info, request.has_output);
  RunOptions options = request.run;
  options.setting = make_setting(model.torch_version, open.threads);
  options.wall_clock = utc_now;
  options.stop = stop;
  ItemPlan items;
  std::vector<std::size_t> mine;
  if (request.shard) {
    items = make_items(plan, *model.predictor, options);
    mine = items_of_shard(items.items, plan, request.shard->index, request.shard->count);
    print_note(fmt::format("shard {} of {}: {} of {} items", request.shard->index, request.shard->count, mine.size(),
                           items.items.size()));
  }
  const std::vector<Record> planned =
      request.shard ? planned_parts(plan, items, mine, info) : planned_records(plan, info);
  if (writer != nullptr) {
    require_same_plan(records, planned, make_subject(info), writer->path());
    for (const Record& record : records) options.recorded_resume_keys.insert(record.resume_key());
    if (!records.empty()) {
      print_note(fmt::format("{} of {} {} are already in '{}' and are not measured again", records.size(),
                             planned.size(), request.shard ? "items" : "cells", writer->path()));
    }
  }

  RunProgressPrinter printer(ranks.leads() ? request.progress : ProgressStyle::kQuiet);
  const auto sink = [&](const Record& record) {
    if (writer != nullptr) writer->append(record);
    records.push_back(record);
    printer.cell(record);
  };
  const auto progress = [&](const RunProgress& now) { printer.progress(now); };
  RunSummary summary;
  if (request.split_sequence) {
    summary = run_split(plan, options, *model.predictor, *watch, ending, sink, progress);
  } else if (ranks.shared()) {
    summary = run_shared(plan, options, model, ranks, sink, progress);
  } else {
    Runner runner(*model.predictor, options);
    summary = request.shard ? runner.run_items(plan, items, mine, sink, progress) : runner.run(plan, sink, progress);
  }
  printer.finish();

  return {in_order(records, planned), summary.stopped, ranks.leads()};
}

int run_session(const SessionRequest& request) {
  const SessionResult result = measure_session(request);
  if (!result.leads) return result.stopped ? kInterruptedExit : static_cast<int>(ExitCode::kOk);
  if (request.json) {
    for (const Record& record : result.records) print_out(to_json_line(record) + "\n");
  } else if (!request.shard) {
    print_out(run_table(result.records));
  }
  if (result.stopped) {
    print_note(request.has_output ? "stopped; the same command resumes from '" + request.output + "'"
                                  : "stopped; nothing was kept, name a file with -o to resume");
  }
  return exit_code(result.records, result.stopped, request.allow_nonfinite);
}

}  // namespace lenbench::cli
