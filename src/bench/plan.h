// What a run will ask, in which order, and what it will not ask and why. Built without a device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/predictor.h"
#include "record/record.h"
#include "tasks/task.h"

namespace lenbench {

// One table cell: `samples` questions of one task at one length.
struct Cell {
  std::shared_ptr<const Task> task;
  std::int64_t length = 0;             // nominal
  std::int64_t samples = 0;            // drawn: indices 0..samples-1
  std::int64_t samples_requested = 0;  // more than `samples` only when the task has no more (documents run out)
  std::uint64_t data_seed = 0;
  Split split = Split::kTest;
  std::string documents_sha256;   // of documents or of a file of samples; else empty
  std::int64_t total_tokens = 0;  // task->total_tokens(length); 0 when the length is too short to ask
};

struct SkippedCell {
  Cell cell;
  std::string reason;  // one line: what is in the way, with both numbers
};

struct PlanRequest {
  std::vector<std::shared_ptr<const Task>> tasks;
  std::vector<std::int64_t> lengths;
  std::int64_t samples = 1000;
  std::map<std::int64_t, std::int64_t> samples_at;  // by length, overrides `samples`
  std::vector<std::uint64_t> data_seeds = {0};
  Split split = Split::kTest;
  std::int64_t max_positions = 0;  // most tokens a sample may feed; 0: the model's own limit only
  std::string documents_sha256;    // hash of the names and bytes behind TaskResources::documents
};

struct RunPlan {
  std::vector<Cell> cells;  // ascending by total_tokens; equal ones in the order of the request
  std::vector<SkippedCell> skipped;
  std::int64_t num_samples() const;
};

// Every combination of task, length and data seed of `request`, for a model described by `model` (PredictorInfo{} for
// none). A Cell is skipped when the length is below the task's minimum or above a bound of it, when its samples feed
// more tokens than `request.max_positions` or `model.max_positions`, when the task's vocabulary is larger than the
// model's, and when documents are too short. Draws sample 0 of each Cell to find out. Throws Error when there is no
// task, no length, or a sample count below 1. A plan with skipped Cells only is returned; whether to refuse it is the
// caller's decision.
RunPlan make_plan(const PlanRequest& request, const PredictorInfo& model);

// The Record fields that a Cell and a model determine.
Question make_question(const Cell& cell);
Subject make_subject(const PredictorInfo& model);
// A Record with identity and samples_requested filled, and nothing measured. Its resume_key() is the Cell's.
Record make_record(const Cell& cell, const PredictorInfo& model);

// SHA-256 over the resume keys of all Cells, skipped ones included, in order-independent form: equal digests are the
// same plan for the same model.
std::string plan_digest(const RunPlan& plan, const PredictorInfo& model);

}  // namespace lenbench
