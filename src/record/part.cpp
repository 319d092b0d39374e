// Contradictions within a part, and between it and what was measured.
#include "record/part.h"

#include "base/text.h"
#include "record/record.h"

namespace lenbench {

namespace {

std::string is(const char* field, std::int64_t value, const char* why) {
  return std::string("part.") + field + " is " + std::to_string(value) + ": " + why;
}

std::string range_problem(const Part& part) {
  if (part.num_items < 1 || part.item < 0 || part.item >= part.num_items) {
    return is("item", part.item, "a number from 0 to num_items - 1");
  }
  if (part.first < 0 || part.samples < 0 || part.cell_samples < 0 || part.first > part.cell_samples ||
      part.samples > part.cell_samples - part.first) {
    return is("first", part.first, "the range must lie within cell_samples");
  }
  if (part.num_layers < 0 || part.num_heads < 0 || part.nll_bytes < 0) {
    return "part: num_layers, num_heads and nll_bytes cannot be negative";
  }
  return "";
}

std::string heads_problem(const Part& part, const Measurement& measured) {
  std::vector<const std::vector<HeadMeans>*> lists = {&measured.heads, &measured.heads_right, &measured.heads_wrong};
  for (const PositionHeads& positions : measured.heads_by_position) lists.push_back(&positions.heads);
  for (const std::vector<HeadMeans>* heads : lists) {
    for (const HeadMeans& head : *heads) {
      if (head.layer >= part.num_layers || head.head >= part.num_heads) {
        return "part has " + std::to_string(part.num_layers) + " layers of " + std::to_string(part.num_heads) +
               " heads, and there are statistics of layer " + std::to_string(head.layer) + ", head " +
               std::to_string(head.head);
      }
      for (const std::optional<std::int64_t>& rows : {head.normalized_rows, head.source_rows, head.scaled_rows}) {
        if (rows && (*rows < 0 || *rows > head.rows)) {
          return "part: a mean over " + std::to_string(*rows) + " of " + std::to_string(head.rows) + " rows";
        }
      }
    }
  }
  return "";
}

}  // namespace

std::string part_problem(const Record& record) {
  if (!record.part) return "";
  const Part& part = *record.part;
  if (std::string problem = range_problem(part); !problem.empty()) return problem;
  if (part.cell_samples > record.samples_requested) {
    return is("cell_samples", part.cell_samples, "more than samples_requested");
  }
  const Measurement& measured = record.measurement;
  if (measured.samples != 0 && measured.samples != part.samples) {
    return is("samples", part.samples, "another number than measurement.samples");
  }
  if (part.token_right.size() != part.token_n.size()) return "part.token_right and part.token_n differ in length";
  if (!part.token_n.empty() && std::ssize(part.token_n) != measured.samples) {
    return "part.token_n has " + std::to_string(part.token_n.size()) + " entries for " +
           std::to_string(measured.samples) + " samples";
  }
  for (std::size_t i = 0; i < part.token_n.size(); ++i) {
    if (part.token_right[i] < 0 || part.token_right[i] > part.token_n[i]) {
      return "part.token_right[" + std::to_string(i) + "] is " + std::to_string(part.token_right[i]) + " of " +
             std::to_string(part.token_n[i]);
    }
  }
  if (part.first_state.size() != part.last_state.size()) return "part.first_state and part.last_state differ in depth";
  for (const auto& [name, fact] : measured.facts) {
    if (fact.samples && (*fact.samples < 1 || *fact.samples > measured.samples)) {
      return "measurement.facts." + printable(name) + ".samples is " + std::to_string(*fact.samples) + " of " +
             std::to_string(measured.samples);
    }
  }
  return heads_problem(part, measured);
}

}  // namespace lenbench
