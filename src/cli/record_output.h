// The Record file behind `run -o`: opened before anything is loaded, resumed only under the plan that made it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/items.h"
#include "bench/plan.h"
#include "record/store.h"

namespace lenbench::cli {

// Opens `path` for a run. "NAME/" means NAME/records.jsonl. With `overwrite` an existing file of Records moves to the
// first free PATH.old-N, and `note` says so. Throws Error as RecordWriter does.
std::unique_ptr<RecordWriter> open_record_output(const std::string& path, bool overwrite, std::string* note);

// What a run of `plan` writes, with nothing measured.
std::vector<Record> planned_records(const RunPlan& plan, const PredictorInfo& model);
// The same of the `chosen` items: parts.
std::vector<Record> planned_parts(const RunPlan& plan, const ItemPlan& items, const std::vector<std::size_t>& chosen,
                                  const PredictorInfo& model);

// Throws Error naming the first difference when one of `existing` is none of `planned` Records of `subject`: `path`
// then holds another plan.
void require_same_plan(const std::vector<Record>& existing, const std::vector<Record>& planned, const Subject& subject,
                       const std::string& path);

// The part of that check that needs no loaded model: throws when a Record is of another checkpoint.
void require_same_checkpoint(const std::vector<Record>& existing, const std::string& sha256, const std::string& path);

}  // namespace lenbench::cli
