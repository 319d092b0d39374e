// The state of a study on this machine: what is trained, what is measured, and what either would take.
#include "cli/reproduction.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "bench/backend.h"
#include "checkpoint/checkpoint.h"
#include "cli/flags.h"
#include "cli/paths.h"
#include "cli/record_input.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "cli/training_logs.h"
#include "record/store.h"
#include "report/grid_text.h"
#include "report/published.h"
#include "tasks/catalog.h"

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string bundled(const char* kind, const std::string& name) { return (data_folder() / kind / name).string(); }

// Seconds of a finished training, from the last line of its log.
std::optional<double> logged_seconds(const std::string& checkpoint_path) {
  const std::string path = checkpoint_path + "/" + kTrainingLogName;
  if (!exists(path)) return std::nullopt;
  const std::vector<std::string> lines = split(read_file(path), '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->empty()) continue;
    const nlohmann::ordered_json json = parse_json(*line, path);
    const auto seconds = json.find("seconds");
    if (json.value("event", "") != "end" || seconds == json.end() || !seconds->is_number()) return std::nullopt;
    return seconds->get<double>();
  }
  return std::nullopt;
}

std::optional<double> exact_match_of(const Origin& origin) {
  const auto fact = [&](const char* name) -> std::optional<double> {
    const auto found = origin.facts.find(name);
    if (found == origin.facts.end()) return std::nullopt;
    return parse_real(found->second, "origin.json: " + std::string(name));
  };
  if (const std::optional<double> exact = fact("validation_exact")) return exact;
  // All tokens right is all samples right; less says nothing of whole samples.
  const std::optional<double> token = fact("validation_accuracy");
  return token == 1.0 ? token : std::nullopt;
}

std::string percent_text(double share) { return number_text(share, "exact", true) + " %"; }

std::string forecast_text(const std::optional<double>& seconds) {
  return seconds ? "about " + format_duration(*seconds) + ", as the nearest finished run took" : "time unknown";
}

}  // namespace

std::size_t StudyRun::num_measured() const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [](const std::optional<Record>& cell) { return cell.has_value(); }));
}

bool StudyRun::not_learnt(const StudyScale& scale) const {
  return scale.metric != "perplexity" && learnt && *learnt < kLearntExactMatch;
}

Reproduction::Reproduction(const Study& study, ReproductionRequest request)
    : study_(study), request_(std::move(request)) {
  std::vector<std::string> scales;
  for (const auto& [name, scale] : study_.scales) scales.push_back(name);
  if (!study_.scales.contains(request_.scale)) {
    throw Error("--scale is '" + request_.scale + "', but table '" + study_.id + "' has " + join(scales, ", "));
  }
  scale_ = study_.scales.at(request_.scale);
  if (request_.samples > 0) std::fill(scale_.samples.begin(), scale_.samples.end(), request_.samples);

  const TaskSpec spec = parse_task_spec(scale_.task);
  const TaskResources resources = resources_for(spec.name, {});
  questions_.tasks = {make_task(spec, resources)};
  questions_.documents_sha256 = documents_sha256(resources);
  questions_.lengths = scale_.lengths;
  for (std::size_t i = 0; i < scale_.lengths.size(); ++i) questions_.samples_at[scale_.lengths[i]] = scale_.samples[i];
  plan_ = make_plan(questions_, PredictorInfo{});
  if (!plan_.skipped.empty()) {
    const SkippedCell& skip = plan_.skipped.front();
    throw Error(fmt::format("table '{}', scale {}: {} at {}: {}", study_.id, request_.scale, scale_.task,
                            skip.cell.length, skip.reason));
  }
  for (const Cell& cell : plan_.cells) question_keys_.push_back(make_record(cell, PredictorInfo{}).question_key());

  std::vector<std::string> methods;
  for (const StudyRow& row : scale_.rows) methods.push_back(row.method);
  for (const std::string& method : request_.methods) require_one_of(method, "--methods", methods);
  for (const StudyRow& row : scale_.rows) {
    const bool wanted = request_.methods.empty() || std::find(request_.methods.begin(), request_.methods.end(),
                                                              row.method) != request_.methods.end();
    if (!wanted) continue;
    for (std::size_t i = 0; i < row.seeds.size(); ++i) {
      if (request_.seeds > 0 && static_cast<std::int64_t>(i) >= request_.seeds) break;
      StudyRun run;
      run.row = &row;
      run.seed = row.seeds[i];
      run.checkpoint = checkpoint_of(row, run.seed);
      run.records_name = records_of(row, run.seed);
      refresh(run);
      runs_.push_back(std::move(run));
    }
  }
}

std::string Reproduction::work_checkpoint(const StudyRun& run) const {
  return request_.work + "/checkpoints/" + run.checkpoint;
}

std::string Reproduction::work_records(const StudyRun& run) const {
  return request_.work + "/records/" + study_.id + "/" + run.records_name + ".jsonl";
}

std::string Reproduction::recipe_path(const StudyRun& run) const {
  return bundled("recipes", run.row->recipe + ".json");
}

void Reproduction::refresh(StudyRun& run) {
  look_for_checkpoint(run);
  look_for_records(run);
}

void Reproduction::look_for_checkpoint(StudyRun& run) const {
  run.checkpoint_path.clear();
  run.sha256.clear();
  run.learnt.reset();
  run.kept_path.clear();
  run.begun = false;
  const std::string own = work_checkpoint(run);
  for (const std::string& path : {own, bundled("checkpoints", run.checkpoint)}) {
    if (!exists(path + "/config.json") || !exists(path + "/model.safetensors")) continue;
    const Checkpoint checkpoint = Checkpoint::open(path);
    run.checkpoint_path = path;
    run.sha256 = checkpoint.sha256();
    run.learnt = exact_match_of(checkpoint.origin());
    return;
  }
  run.begun = exists(own + "/" + kTrainingLogName);
  const std::string kept = bundled("checkpoints", run.checkpoint), origin = kept + "/origin.json";
  if (!exists(origin)) return;
  run.kept_path = kept;
  run.learnt = exact_match_of(parse_origin(read_file(origin), origin));
}

void Reproduction::look_for_records(StudyRun& run) const {
  std::vector<std::string> paths = {work_records(run)};
  if (!request_.remeasure) paths.push_back(bundled("records", run.records_name + ".jsonl"));
  std::map<std::string, Record> found;
  for (const std::string& path : paths) {
    if (!exists(path)) continue;
    std::string torn;
    for (Record& record : read_records(path, &torn)) {
      const bool same_model = run.sha256.empty() || record.subject.checkpoint_sha256 == run.sha256;
      const bool counts = request_.samples == 0 || record.samples_requested == request_.samples;
      if (same_model && counts && record.status == "ok") found.emplace(record.question_key(), std::move(record));
    }
  }
  run.cells.assign(plan_.cells.size(), std::nullopt);
  for (std::size_t i = 0; i < plan_.cells.size(); ++i) {
    const auto record = found.find(question_keys_[i]);
    if (record != found.end()) run.cells[i] = record->second;
  }
}

std::optional<double> Reproduction::training_seconds(const StudyRun& run) const {
  std::optional<double> nearest;
  for (const StudyRun& other : runs_) {
    if (other.training_path().empty()) continue;
    const std::optional<double> seconds = logged_seconds(other.training_path());
    if (!seconds) continue;
    if (other.row == run.row) return seconds;
    if (!nearest) nearest = seconds;
  }
  return nearest;
}

std::optional<double> Reproduction::measuring_seconds(const StudyRun& run) const {
  for (const StudyRun& other : runs_) {
    if (!other.measured()) continue;
    double seconds = 0;
    for (std::size_t i = 0; i < run.cells.size(); ++i) {
      if (!run.cells[i]) seconds += other.cells[i]->measurement.seconds;
    }
    return seconds;
  }
  return std::nullopt;
}

std::string Reproduction::status() const {
  std::size_t trained = 0, measured = 0;
  std::string text;
  for (const StudyRun& run : runs_) {
    const std::size_t cells = run.num_measured();
    trained += !run.training_path().empty() || run.measured() ? 1 : 0;
    measured += cells;
    text += fmt::format("  {:<34} {:<40} ", run.row->method, run.records_name);
    if (run.training_path().empty() && cells == 0) {
      text += fmt::format("not trained{} ({})", run.begun ? ", begun" : "", forecast_text(training_seconds(run)));
    } else {
      text += run.trained()           ? "trained"
              : run.kept_path.empty() ? "measured, checkpoint not here"
                                      : "trained, model not kept";
      if (run.not_learnt(scale_))
        text += fmt::format(", not learnt ({} at its training length; lenbench plot training {})",
                            percent_text(*run.learnt), run.checkpoint);
      text += fmt::format(", {} of {} cells measured", cells, plan_.cells.size());
      if (!run.measured()) text += " (" + forecast_text(measuring_seconds(run)) + ")";
    }
    text += "\n";
  }
  return fmt::format("{}, scale {}: {} of {} models trained, {} of {} cells measured\n", study_.id, request_.scale,
                     trained, runs_.size(), measured, runs_.size() * plan_.cells.size()) +
         text;
}

Record Reproduction::placeholder(const StudyRun& run, std::size_t cell) const {
  Record record = make_record(plan_.cells[cell], PredictorInfo{});
  record.status = "skipped";
  record.reason = run.trained()           ? "not measured yet"
                  : run.kept_path.empty() ? "not trained: " + run.checkpoint
                                          : "not measured, and its model was not kept: " + run.checkpoint;
  // Described as the other runs of its row are, so that it counts as one of them.
  for (const StudyRun& other : runs_) {
    if (other.row != run.row) continue;
    for (const std::optional<Record>& measured : other.cells) {
      if (measured) record.subject = measured->subject;
    }
  }
  record.subject.checkpoint_sha256 = run.sha256.empty() ? run.checkpoint : run.sha256;
  return record;
}

std::vector<Grid> Reproduction::grids(Aggregate aggregate) const {
  std::vector<Grid> grids = grids_of(scale_.metric, aggregate);
  const std::vector<PublishedTable> tables = read_published(bundled("published", "paper_tables.json"));
  for (const std::string& id : study_.published) {
    for (Grid& grid : grids) add_published(grid, find_published(tables, id));
  }
  for (const std::string& metric : scale_.also) {
    for (Grid& grid : grids_of(metric, aggregate)) grids.push_back(std::move(grid));
  }
  return grids;
}

std::vector<Grid> Reproduction::grids_of(const std::string& metric, Aggregate aggregate) const {
  GridRequest request;
  request.metric = parse_metric(metric);
  request.aggregate = aggregate;
  request.default_parameters = default_parameters;
  GridBuilder builder(request);
  for (const StudyRun& run : runs_) {
    std::string name = run.row->method;
    if (run.not_learnt(scale_)) {
      name += fmt::format(" (not learnt: {} at its training length, seed {})", percent_text(*run.learnt), run.seed);
    }
    for (std::size_t i = 0; i < run.cells.size(); ++i) {
      Record record = run.cells[i] ? *run.cells[i] : placeholder(run, i);
      record.subject.name = name;
      builder.add(record);
    }
  }
  return builder.build();
}

bool Reproduction::complete() const {
  return std::all_of(runs_.begin(), runs_.end(), [](const StudyRun& run) { return run.measured(); });
}

}  // namespace lenbench::cli
