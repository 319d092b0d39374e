// The samples behind Records, drawn again from their addresses.
#include "cli/record_samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>

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

namespace {

constexpr std::size_t kWrongShown = 2, kRightShown = 1, kTokensShown = 160;

// The Records of one question.
using Answered = std::vector<const Record*>;

std::string outcome_word(char outcome) {
  if (outcome == '1') return "right";
  return outcome == '0' ? "wrong" : "non-finite";
}

// Samples to show, by index.
std::vector<std::size_t> chosen_samples(const Answered& answered) {
  std::size_t count = answered.front()->outcomes.size();
  for (const Record* record : answered) count = std::min(count, record->outcomes.size());
  std::vector<std::size_t> wrong, right;
  for (std::size_t i = 0; i < count; ++i) {
    const bool all =
        std::all_of(answered.begin(), answered.end(), [&](const Record* record) { return record->outcomes[i] == '1'; });
    std::vector<std::size_t>& list = all ? right : wrong;
    if (list.size() < (all ? kRightShown : kWrongShown)) list.push_back(i);
  }
  wrong.insert(wrong.end(), right.begin(), right.end());
  return wrong;
}

SampleView view_of(const Task& task, const Answered& answered, std::size_t index) {
  const Question& question = answered.front()->question;
  const DrawKey key{question.length, index, question.data_seed, parse_split(question.split)};
  const Sample sample = task.draw(key);
  SampleView view;
  view.address = format_address(task, key);
  const auto prompt = static_cast<std::size_t>(sample.prompt_tokens);
  view.prompt =
      tokens_text(task.info(), std::span(sample.tokens).first(std::min(prompt, sample.tokens.size())), kTokensShown);
  std::vector<std::int32_t> targets;
  for (const ScoredToken& row : sample.scored) targets.push_back(row.target);
  view.target = tokens_text(task.info(), targets, kTokensShown);
  for (const Record* record : answered) {
    view.outcomes.emplace_back(record->subject.name, outcome_word(record->outcomes[index]));
  }
  return view;
}

}  // namespace

std::vector<QuestionView> question_views(const std::vector<Record>& records) {
  std::map<std::string, std::size_t> places;
  std::vector<Answered> questions;
  for (const Record& record : records) {
    if (record.outcomes.empty()) continue;
    const auto [place, is_new] = places.try_emplace(record.question_key(), questions.size());
    if (is_new) questions.emplace_back();
    questions[place->second].push_back(&record);
  }
  std::vector<QuestionView> views;
  for (const Answered& answered : questions) {
    const Question& question = answered.front()->question;
    QuestionView view;
    view.title = fmt::format("{} at {}, data seed {}", question.task, question.length, question.data_seed);
    const std::shared_ptr<const Task> task = task_of(*answered.front());
    if (task == nullptr) {
      view.note = "This build cannot draw this task as it was asked.";
    } else {
      for (const std::size_t index : chosen_samples(answered)) view.samples.push_back(view_of(*task, answered, index));
    }
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace lenbench::cli
