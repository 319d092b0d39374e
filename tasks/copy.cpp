// copy: repeat a string.
#include <numeric>

#include "tasks/string_task.h"

namespace lenbench {
namespace {

std::vector<std::int64_t> in_place(std::span<const std::int32_t> source) {
  std::vector<std::int64_t> order(source.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

const StringRule& rule() {
  static const StringRule made = {
      in_place,
      {{"the string, symbol by symbol, then the end token", {33, 5, 0, 31, 36, 5, 0, 31}, {5, 0, 31, 34}, {4, 5, 6, 7}},
       {"a symbol that occurs twice is said twice", {33, 7, 7, 36, 7, 7}, {7, 7, 34}, {3, 4, 5}}},
      {0, 0, 0, 1, 1, 0, 1, 1}};
  return made;
}

}  // namespace

const TaskEntry& copy_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "copy";
    made.comparability = "distributional: Copy of ASEntmax (arXiv 2506.16640)";
    made.summary = "a string of independent uniform symbols, to be repeated after the separator";
    made.published =
        "32 symbols; trained on lengths 32 to 64, tested at 64, 128, ..., 4096 with 1,000 samples each; score: the "
        "whole string and the end token (exact match)";
    made.parameters = string_parameters();
    made.make = [](const TaskEntry& self, const TaskParameters& resolved, const TaskResources&) {
      return make_string_task(self, resolved, rule());
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
