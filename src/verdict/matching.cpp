// Pairs by question first, by task and length then.
#include "verdict/matching.h"

#include <map>
#include <set>

#include "base/names.h"
#include "base/text.h"

namespace lenbench {

namespace {

std::string shown(const std::string& value) { return value.empty() ? "none" : printable(value.substr(0, 40)); }

void add_difference(std::vector<std::string>& list, const std::string& what, const std::string& first,
                    const std::string& second) {
  if (first != second) list.push_back(what + " " + shown(first) + " against " + shown(second));
}

std::string parameter(const Question& question, const std::string& name) {
  const auto found = question.parameters.find(name);
  return found == question.parameters.end() ? "" : found->second;
}

// A smaller number is the better partner.
int distance(const Question& first, const Question& second) {
  const std::string differences = question_differences(first, second);
  return differences.empty() ? 0 : 1 + static_cast<int>(split(differences, ',').size());
}

}  // namespace

std::string question_differences(const Question& first, const Question& second) {
  std::vector<std::string> list;
  add_difference(list, "task", first.task, second.task);
  add_difference(list, "task version", std::to_string(first.task_version), std::to_string(second.task_version));
  std::set<std::string> names;
  for (const auto& [name, value] : first.parameters) names.insert(name);
  for (const auto& [name, value] : second.parameters) names.insert(name);
  for (const std::string& name : names) {
    add_difference(list, printable(name), parameter(first, name), parameter(second, name));
  }
  add_difference(list, "length", std::to_string(first.length), std::to_string(second.length));
  add_difference(list, "split", first.split, second.split);
  add_difference(list, "metric", first.metric, second.metric);
  add_difference(list, "documents", first.documents_sha256.substr(0, 12), second.documents_sha256.substr(0, 12));
  return join(list, ", ");
}

std::vector<CellPair> match_cells(const std::vector<GateCell>& first, const std::vector<GateCell>& second) {
  std::map<std::string, const GateCell*> by_question;
  for (const GateCell& cell : second) by_question[question_key(cell.question)] = &cell;
  std::set<const GateCell*> taken;
  std::vector<CellPair> pairs;
  std::vector<Question> questions;
  for (const GateCell& cell : first) {
    CellPair pair{.name = "", .pairing = Pairing::kMissing, .first = &cell, .second = nullptr, .why = ""};
    const auto same = by_question.find(question_key(cell.question));
    if (same != by_question.end()) {
      pair.pairing = Pairing::kPaired;
      pair.second = same->second;
      taken.insert(same->second);
    }
    pairs.push_back(pair);
    questions.push_back(cell.question);
  }
  for (CellPair& pair : pairs) {
    if (pair.second != nullptr) continue;
    for (const GateCell& cell : second) {
      if (taken.contains(&cell) || cell.question.task != pair.first->question.task ||
          cell.question.length != pair.first->question.length) {
        continue;
      }
      if (pair.second == nullptr ||
          distance(pair.first->question, cell.question) < distance(pair.first->question, pair.second->question)) {
        pair.second = &cell;
      }
    }
    if (pair.second == nullptr) continue;
    taken.insert(pair.second);
    pair.why = question_differences(pair.first->question, pair.second->question);
    pair.pairing = pair.why.empty() ? Pairing::kUnpaired : Pairing::kNotComparable;
    if (pair.pairing == Pairing::kUnpaired) {
      pair.why = "data seed " + std::to_string(pair.first->question.data_seed) + " against " +
                 std::to_string(pair.second->question.data_seed) + ": other samples, unpaired test";
    }
  }
  for (const GateCell& cell : second) {
    if (taken.contains(&cell)) continue;
    pairs.push_back({.name = "", .pairing = Pairing::kNew, .first = nullptr, .second = &cell, .why = ""});
    questions.push_back(cell.question);
  }
  const std::vector<std::string> names = display_names(questions);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].name = names[i];
  return pairs;
}

}  // namespace lenbench
