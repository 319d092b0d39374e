// The state of a study on this machine: what is trained, what is measured, and what either would take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/plan.h"
#include "bench/study.h"
#include "record/record.h"
#include "report/grid.h"

namespace lenbench::cli {

// One model of one row: a recipe with a seed.
struct StudyRun {
  const StudyRow* row = nullptr;
  std::uint64_t seed = 0;
  std::string checkpoint;        // name
  std::string records_name;      // of the Record file, without .jsonl
  std::string checkpoint_path;   // where the finished checkpoint is; empty: not trained
  std::string kept_path;         // folder of a bundled training whose model is left out to save room; else empty
  bool begun = false;            // an unfinished training is in the work folder
  std::string sha256;            // of the checkpoint; empty: not trained
  std::optional<double> learnt;  // share of whole validation samples right at the training length; none: not recorded
  std::vector<std::optional<Record>> cells;  // parallel to the planned cells; none: not measured

  std::size_t num_measured() const;
  bool measured() const { return num_measured() == cells.size(); }
  bool trained() const { return !checkpoint_path.empty(); }
  // Where the origin and the curve of its training are, with the model or without; empty: nowhere.
  const std::string& training_path() const { return trained() ? checkpoint_path : kept_path; }
  // Trained here or elsewhere, but to less than kLearntExactMatch on its training length. Never of perplexity, where
  // nothing is exact.
  bool not_learnt(const StudyScale& scale) const;
};

struct ReproductionRequest {
  std::string scale = "small";
  std::string work;                  // folder of what is trained and measured anew
  std::vector<std::string> methods;  // of the rows to take; empty: all
  std::int64_t seeds = 0;            // runs a row, from the first on; 0: all
  std::int64_t samples = 0;          // samples a cell in place of the study's; 0: the study's
  bool remeasure = false;            // take no Records but those of the work folder
};

class Reproduction {
 public:
  // Finds checkpoints and Records: in the work folder, then among the bundled ones. No LibTorch. Throws Error on an
  // unknown scale or method, and on a checkpoint or Record file that cannot be read.
  Reproduction(const Study& study, ReproductionRequest request);

  Reproduction(const Reproduction&) = delete;
  Reproduction& operator=(const Reproduction&) = delete;

  const Study& study() const { return study_; }
  const std::string& scale_name() const { return request_.scale; }
  // What `run` is asked to measure of one model.
  const PlanRequest& questions() const { return questions_; }

  // Looks again at one run, after it was trained or measured.
  void refresh(StudyRun& run);
  std::vector<StudyRun>& runs() { return runs_; }

  std::string work_checkpoint(const StudyRun& run) const;
  std::string work_records(const StudyRun& run) const;
  std::string recipe_path(const StudyRun& run) const;

  // Seconds that training, or measuring the missing cells, took for the nearest finished run of this table; none where
  // none of them says so.
  std::optional<double> training_seconds(const StudyRun& run) const;
  std::optional<double> measuring_seconds(const StudyRun& run) const;

  // What is there and what is not, one line a run, with forecasts.
  std::string status() const;

  // The table: measured rows in the order of the study, runs of a row as repeats, one that did not learn as a row of
  // its own; then the published rows. A cell without a value names its reason.
  std::vector<Grid> grids(Aggregate aggregate) const;
  // False when a cell of any run has no value.
  bool complete() const;

 private:
  void look_for_checkpoint(StudyRun& run) const;
  void look_for_records(StudyRun& run) const;
  std::vector<Grid> grids_of(const std::string& metric, Aggregate aggregate) const;
  Record placeholder(const StudyRun& run, std::size_t cell) const;

  Study study_;
  ReproductionRequest request_;
  StudyScale scale_;
  PlanRequest questions_;
  RunPlan plan_;
  std::vector<std::string> question_keys_;  // parallel to plan_.cells
  std::vector<StudyRun> runs_;
};

}  // namespace lenbench::cli
