// Which samples of a Cell a Record holds that was measured in parts, and what joining them needs beyond a whole Record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lenbench {

struct Part {
  std::string plan_sha256;                // equal in all parts of one plan
  std::int64_t item = 0, num_items = 0;   // which piece of the plan's work, from 0
  std::int64_t first = 0, samples = 0;    // sample indices [first, first + samples); none for a skipped Cell
  std::int64_t cell_samples = 0;          // of the whole Cell
  std::int64_t nonfinite_sample = -1;     // index in the Cell of the first sample with a non-finite logit
  std::int64_t nonfinite_position = -1;   // where in it
  std::int64_t num_layers = 0;            // of the probed model
  std::int64_t num_heads = 0;             // in each layer
  std::int64_t nll_bytes = 0;             // bytes of text judged
  std::vector<std::int64_t> token_right;  // exact match: tokens right of each sample
  std::vector<std::int64_t> token_n;      // and scored
  // States of the first and the last sample that has judged rows, by depth; a depth that is not finite is empty.
  std::vector<std::vector<double>> first_state, last_state;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("plan_sha256", self.plan_sha256);
    visit("item", self.item);
    visit("num_items", self.num_items);
    visit("first", self.first);
    visit("samples", self.samples);
    visit("cell_samples", self.cell_samples);
    visit("nonfinite_sample", self.nonfinite_sample);
    visit("nonfinite_position", self.nonfinite_position);
    visit("num_layers", self.num_layers);
    visit("num_heads", self.num_heads);
    visit("nll_bytes", self.nll_bytes);
    visit("token_right", self.token_right);
    visit("token_n", self.token_n);
    visit("first_state", self.first_state);
    visit("last_state", self.last_state);
  }
  bool operator==(const Part&) const = default;
};

struct Record;

// What is wrong with `record.part`, or with it beside the measurement; empty when nothing is.
std::string part_problem(const Record& record);

}  // namespace lenbench
