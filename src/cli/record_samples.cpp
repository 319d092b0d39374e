// The samples behind Records, drawn again from their addresses.
#include "cli/record_samples.h"

#include "base/error.h"
#include "cli/samples.h"
#include "tasks/catalog.h"

namespace lenbench::cli {

std::shared_ptr<const Task> task_of(const Record& record) {
  const Question& question = record.question;
  try {
    const TaskResources resources = resources_for(question.task, {});
    if (documents_sha256(resources) != question.documents_sha256) return nullptr;
    std::shared_ptr<const Task> task =
        make_task({question.task, question.parameters, question.task_version}, resources);
    return question.length >= task->min_length() ? task : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

Depths sample_depths(const std::vector<Record>& records) {
  Depths depths;
  for (const Record& record : records) {
    if (record.outcomes.empty()) continue;
    const std::shared_ptr<const Task> task = task_of(record);
    if (task == nullptr) continue;
    std::vector<double> found;
    for (std::size_t i = 0; i < record.outcomes.size(); ++i) {
      const Sample sample =
          task->draw({record.question.length, i, record.question.data_seed, parse_split(record.question.split)});
      const auto depth = sample.facts.find("depth");
      if (depth == sample.facts.end()) break;
      found.push_back(depth->second);
    }
    if (!found.empty()) depths[&record] = std::move(found);
  }
  return depths;
}

}  // namespace lenbench::cli
