// Builds a RunPlan: every combination asked for, ordered, with reasons for what cannot be asked.
#include "bench/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "tasks/catalog.h"

namespace lenbench {

namespace {

// Why `cell` cannot be asked; empty when it can. Fills cell.total_tokens and cell.samples.
std::string obstacle(Cell& cell, std::int64_t max_positions, const PredictorInfo& model) {
  const TaskInfo& info = cell.task->info();
  if (cell.length < cell.task->min_length()) {
    return fmt::format("too short: {} needs a length of at least {}, not {}", info.name, cell.task->min_length(),
                       cell.length);
  }
  if (model.vocab_size > 0 && info.input != model.input) {
    return info.input == TaskInput::kItems
               ? fmt::format(
                     "{} asks about a set of numbers, and the model reads tokens; recipes {}-*.json train models "
                     "of sets",
                     info.name, info.name)
               : fmt::format("{} asks about tokens, and the model reads sets of numbers, as of max-retrieval",
                             info.name);
  }
  if (model.vocab_size > 0 && info.vocab_size > model.vocab_size) {
    return fmt::format("vocabulary: {} has {} tokens, the model knows {}", info.name, info.vocab_size,
                       model.vocab_size);
  }
  try {
    cell.total_tokens = cell.task->total_tokens(cell.length);
    if (max_positions > 0 && cell.total_tokens > max_positions) {
      return fmt::format("too long: a sample feeds {} tokens, --max-positions allows {}", cell.total_tokens,
                         max_positions);
    }
    if (model.max_positions > 0 && cell.total_tokens > model.max_positions) {
      return fmt::format("too long: a sample feeds {} tokens, the model has {} positions", cell.total_tokens,
                         model.max_positions);
    }
    const std::uint64_t available = cell.task->available(cell.length);
    if (available > 0) {
      cell.samples = static_cast<std::int64_t>(std::min(available, static_cast<std::uint64_t>(cell.samples)));
    }
    cell.task->draw({cell.length, 0, cell.data_seed, cell.split});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::int64_t samples_at(const PlanRequest& request, std::int64_t length) {
  const auto found = request.samples_at.find(length);
  return found == request.samples_at.end() ? request.samples : found->second;
}

}  // namespace

std::int64_t RunPlan::num_samples() const {
  std::int64_t sum = 0;
  for (const Cell& cell : cells) sum += cell.samples;
  return sum;
}

RunPlan make_plan(const PlanRequest& request, const PredictorInfo& model) {
  if (request.tasks.empty()) throw Error("nothing to run: no task given");
  if (request.lengths.empty()) throw Error("nothing to run: no length given");
  RunPlan plan;
  for (const std::shared_ptr<const Task>& task : request.tasks) {
    for (const std::int64_t length : request.lengths) {
      const std::int64_t samples = samples_at(request, length);
      if (samples < 1) {
        throw Error(fmt::format("samples at length {} must be at least 1, not {}", length, samples));
      }
      for (const std::uint64_t seed : request.data_seeds) {
        Cell cell{task, length, samples, samples, seed, request.split, "", 0};
        if (task->info().metric == TaskMetric::kPerplexity || task_needs_documents(task->info().name)) {
          cell.documents_sha256 = request.documents_sha256;
        }
        if (!task->info().data_sha256.empty()) cell.documents_sha256 = task->info().data_sha256;
        std::string reason = obstacle(cell, request.max_positions, model);
        if (reason.empty()) {
          plan.cells.push_back(std::move(cell));
        } else {
          plan.skipped.push_back({std::move(cell), std::move(reason)});
        }
      }
    }
  }
  std::stable_sort(plan.cells.begin(), plan.cells.end(),
                   [](const Cell& a, const Cell& b) { return a.total_tokens < b.total_tokens; });
  return plan;
}

Question make_question(const Cell& cell) {
  const TaskInfo& info = cell.task->info();
  Question question;
  question.task = info.name;
  question.task_version = info.version;
  question.parameters = info.parameters;
  question.comparability = info.comparability;
  question.length = cell.length;
  question.data_seed = cell.data_seed;
  question.split = split_name(cell.split);
  question.metric = info.metric == TaskMetric::kPerplexity ? "perplexity" : "exact_match";
  question.documents_sha256 = cell.documents_sha256;
  return question;
}

Subject make_subject(const PredictorInfo& model) {
  return {model.name,   model.checkpoint_sha256, model.transform,   model.positions, model.dtype,
          model.device, model.num_parameters,    model.train_length};
}

Record make_record(const Cell& cell, const PredictorInfo& model) {
  Record record;
  record.question = make_question(cell);
  record.subject = make_subject(model);
  record.samples_requested = cell.samples_requested;
  return record;
}

std::string plan_digest(const RunPlan& plan, const PredictorInfo& model) {
  std::vector<std::string> keys;
  for (const Cell& cell : plan.cells) keys.push_back(make_record(cell, model).resume_key());
  for (const SkippedCell& skipped : plan.skipped) keys.push_back(make_record(skipped.cell, model).resume_key());
  std::sort(keys.begin(), keys.end());
  std::string text;
  for (const std::string& key : keys) text += key + '\n';
  return sha256_hex(text);
}

}  // namespace lenbench
