// What a task asks, as text and as JSON.
#include "cli/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "cli/samples.h"
#include "tasks/catalog.h"

namespace lenbench::cli {
namespace {

struct NamedToken {
  const char* name;
  std::int32_t token;
};

std::vector<NamedToken> named_specials(const TaskInfo& info) {
  const SpecialTokens& s = info.specials;
  std::vector<NamedToken> named = {{"pad", s.pad}, {"bos", s.bos}, {"eos", s.eos}, {"mask", s.mask}, {"sep", s.sep}};
  std::erase_if(named, [](const NamedToken& special) { return special.token < 0; });
  return named;
}

nlohmann::ordered_json example_json(const WorkedExample& example) {
  return {{"note", example.note},
          {"tokens", example.tokens},
          {"targets", example.targets},
          {"positions", example.positions}};
}

}  // namespace

std::string explain_text(const Task& task) {
  const TaskInfo& info = task.info();
  std::string text = fmt::format("{}, version {}\nrule: {}\ncomparability: {}\n", format_spec(task), info.version,
                                 info.summary, info.comparability);
  if (!info.published.empty()) text += fmt::format("published: {}\n", info.published);
  std::vector<std::string> specials;
  for (const NamedToken& special : named_specials(info)) {
    specials.push_back(fmt::format("{} {}", special.name, special.token));
  }
  text += fmt::format("vocabulary: {} tokens{}\n", info.vocab_size,
                      specials.empty() ? "" : " (" + join(specials, ", ") + ")");
  const std::int64_t shortest = task.min_length();
  text += fmt::format("shortest length: {}, which feeds up to {} tokens\n", shortest, task.total_tokens(shortest));
  const std::int64_t usual = std::max<std::int64_t>(1024, shortest);
  text += fmt::format("nominal length {} feeds up to {} tokens\n", usual, task.total_tokens(usual));
  text += fmt::format("chance of an answer: {}\n", format_real(task.chance()));
  const std::vector<ParameterSpec> parameters = task_parameters(info.name);
  text += parameters.empty() ? "parameters: none\n" : "parameters:\n";
  for (const ParameterSpec& spec : parameters) {
    text += fmt::format("  {}={}: {} ({})\n", spec.name, spec.fallback, spec.meaning, allowed_values(spec));
  }
  if (!info.truth_table.empty()) text += "truth table:\n";
  for (const WorkedExample& row : info.truth_table) {
    std::vector<std::string> targets;
    for (const std::int32_t target : row.targets) targets.push_back(std::to_string(target));
    text += fmt::format("  {} -> {}\n", row.note, join(targets, " "));
  }
  for (std::size_t i = 0; i < info.examples.size(); ++i) {
    text += fmt::format("example {}: {}\n{}", i + 1, info.examples[i].note, example_text(info, info.examples[i]));
  }
  return text;
}

std::string explain_json(const Task& task) {
  const TaskInfo& info = task.info();
  nlohmann::ordered_json specials = nlohmann::ordered_json::object();
  for (const NamedToken& special : named_specials(info)) specials[special.name] = special.token;
  nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
  for (const ParameterSpec& spec : task_parameters(info.name)) {
    parameters.push_back(
        {{"name", spec.name}, {"default", spec.fallback}, {"meaning", spec.meaning}, {"values", allowed_values(spec)}});
  }
  nlohmann::ordered_json truth_table = nlohmann::ordered_json::array();
  for (const WorkedExample& row : info.truth_table) truth_table.push_back(example_json(row));
  nlohmann::ordered_json examples = nlohmann::ordered_json::array();
  for (const WorkedExample& example : info.examples) examples.push_back(example_json(example));
  nlohmann::ordered_json json = {{"task", format_spec(task)},   {"version", info.version},
                                 {"rule", info.summary},        {"comparability", info.comparability},
                                 {"published", info.published}, {"vocab_size", info.vocab_size},
                                 {"specials", specials},        {"min_length", task.min_length()},
                                 {"chance", task.chance()},     {"parameters", parameters},
                                 {"truth_table", truth_table},  {"examples", examples}};
  return dump_json(json);
}

}  // namespace lenbench::cli
