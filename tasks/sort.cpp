// sort: say the symbols of a string in ascending order.
#include <algorithm>
#include <numeric>

#include "tasks/string_task.h"

namespace lenbench {
namespace {

// Equal symbols in order of appearance.
std::vector<std::int64_t> ascending(std::span<const std::int32_t> source) {
  std::vector<std::size_t> next(static_cast<std::size_t>(*std::max_element(source.begin(), source.end())) + 2);
  for (const std::int32_t symbol : source) ++next[static_cast<std::size_t>(symbol) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::int64_t> order(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    order[next[static_cast<std::size_t>(source[i])]++] = static_cast<std::int64_t>(i);
  }
  return order;
}

const StringRule& rule() {
  static const StringRule made = {
      ascending,
      {{"ascending, then the end token", {33, 5, 0, 31, 36, 0, 5, 31}, {0, 5, 31, 34}, {4, 5, 6, 7}},
       {"as often as it occurs", {33, 7, 2, 7, 36, 2, 7, 7}, {2, 7, 7, 34}, {4, 5, 6, 7}}},
      {0, 0, 0, 1, 0, 1, 1, 1}};
  return made;
}

}  // namespace

const TaskEntry& sort_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "sort";
    made.comparability = "distributional: Sort of ASEntmax (arXiv 2506.16640)";
    made.summary = "a string of independent uniform symbols, to be said in ascending order after the separator";
    made.published =
        "32 symbols; trained on lengths 32 to 64, tested at 64, 128, ..., 4096; score: the whole string and the end "
        "token (exact match). With 32 symbols a long string is a counting problem: each symbol occurs about L/32 "
        "times, and "
        "to repeat the answer before is right in all but about 32 places";
    made.parameters = string_parameters();
    made.make = [](const TaskEntry& self, const TaskParameters& resolved, const TaskResources&) {
      return make_string_task(self, resolved, rule());
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
