// A plan cut into pieces of work: fixed ranges of samples asked at a fixed batch, the same however many processes there
// are, so that their number changes no number that is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/plan.h"
#include "bench/predictor.h"
#include "bench/runner.h"

namespace lenbench {

struct Item {
  std::size_t cell = 0;  // index in RunPlan::cells, or in RunPlan::skipped where `skipped`
  bool skipped = false;
  std::int64_t first = 0, samples = 0;  // none of a skipped Cell
  std::int64_t batch = 1;
};

struct ItemPlan {
  std::vector<Item> items;  // skipped Cells first, then in the order of the plan, ranges ascending
  std::string sha256;       // over identities, ranges, batches and probed rows: equal digests are the same work
};

// The items of `plan` for a model and the batch, memory budget and probe of `options`. An item feeds about 16,384
// tokens, or is one sample where that is more. Throws as the model does.
ItemPlan make_items(const RunPlan& plan, const Predictor& predictor, const RunOptions& options);

// Indices of items, the most tokens first; of equal ones the first.
std::vector<std::size_t> longest_first(const std::vector<Item>& items, const RunPlan& plan);

// Indices, ascending, of the items of shard `shard` (from 1) of `num_shards`: each item in the order of longest_first()
// goes to the shard that has the fewest tokens so far. Requires 1 <= shard <= num_shards.
std::vector<std::size_t> items_of_shard(const std::vector<Item>& items, const RunPlan& plan, std::int64_t shard,
                                        std::int64_t num_shards);

// Part::plan_sha256, item, num_items and the range of an item.
Part make_part(const ItemPlan& items, std::size_t index, const RunPlan& plan);

// The Cell that an item is of.
const Cell& cell_of(const Item& item, const RunPlan& plan);

}  // namespace lenbench
