// reverse: say a string backwards.
#include <numeric>

#include "tasks/string_task.h"

namespace lenbench {
namespace {

std::vector<std::int64_t> backwards(std::span<const std::int32_t> source) {
  std::vector<std::int64_t> order(source.size());
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  return order;
}

const StringRule& rule() {
  static const StringRule made = {
      backwards,
      {{"the last symbol first, then the end token", {33, 5, 0, 31, 36, 31, 0, 5}, {31, 0, 5, 34}, {4, 5, 6, 7}},
       {"a string of one symbol is its own reverse", {33, 9, 36, 9}, {9, 34}, {2, 3}}},
      {0, 0, 1, 0, 0, 1, 1, 1}};
  return made;
}

}  // namespace

const TaskEntry& reverse_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "reverse";
    made.comparability = "distributional: Reverse of ASEntmax (arXiv 2506.16640)";
    made.summary = "a string of independent uniform symbols, to be said backwards after the separator";
    made.published =
        "32 symbols; trained on lengths 32 to 64, tested at 64, 96, 128, 256 and 512; score: the whole string and the "
        "end token (exact match)";
    made.parameters = string_parameters();
    made.make = [](const TaskEntry& self, const TaskParameters& resolved, const TaskResources&) {
      return make_string_task(self, resolved, rule());
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
