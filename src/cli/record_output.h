// The Record file behind `run -o`: opened before anything is loaded, resumed only under the plan that made it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/plan.h"
#include "record/store.h"

namespace lenbench::cli {

// Opens `path` for a run. "NAME/" means NAME/records.jsonl. With `overwrite` an existing file of Records moves to the
// first free PATH.old-N, and `note` says so. Throws Error as RecordWriter does.
std::unique_ptr<RecordWriter> open_record_output(const std::string& path, bool overwrite, std::string* note);

// Throws Error naming the first difference when one of `existing` belongs to no Cell of `plan`, or to another model:
// `path` then holds another plan. Every Record of the file must be one that this plan would write.
void require_same_plan(const std::vector<Record>& existing, const RunPlan& plan, const PredictorInfo& model,
                       const std::string& path);

// The part of that check that needs no loaded model: throws when a Record is of another checkpoint.
void require_same_checkpoint(const std::vector<Record>& existing, const std::string& sha256, const std::string& path);

}  // namespace lenbench::cli
