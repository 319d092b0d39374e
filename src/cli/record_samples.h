// The samples behind Records, drawn again from their addresses.
#pragma once

#include <memory>
#include <vector>

#include "record/record.h"
#include "report/figures.h"
#include "report/report.h"
#include "tasks/task.h"

namespace lenbench::cli {

// The task that asked `record`'s question; none when this build cannot draw it: an unknown task, another version, or
// documents other than the bundled ones.
std::shared_ptr<const Task> task_of(const Record& record);

// Depths of the answers in the samples of every Record whose task states them.
Depths sample_depths(const std::vector<Record>& records);

// For each exact-match question in `records`, a few samples with every model's outcome: first such that some model got
// wrong, then such that all got right.
std::vector<QuestionView> question_views(const std::vector<Record>& records);

}  // namespace lenbench::cli
