// Cuts Cells into ranges of samples and deals them out.
#include "bench/items.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/hash.h"

namespace lenbench {

namespace {

constexpr std::int64_t kItemTokens = 16384;

// More than kItemTokens at a time gains nothing on a CPU, and would leave ranks without work at long lengths.
std::int64_t item_batch(const Cell& cell, const Predictor& predictor, const RunOptions& options) {
  if (options.batch > 0) return std::min(options.batch, cell.samples);
  const Sample sample = cell.task->draw({cell.length, 0, cell.data_seed, cell.split});
  const std::int64_t fits = choose_batch(predictor, cell.total_tokens, std::ssize(sample.scored), options.memory_bytes);
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(1, kItemTokens / cell.total_tokens));
  return std::min({fits, static_cast<std::int64_t>(std::bit_floor(most)), cell.samples});
}

std::int64_t tokens_of(const Item& item, const RunPlan& plan) {
  return item.skipped ? 0 : item.samples * plan.cells[item.cell].total_tokens;
}

}  // namespace

const Cell& cell_of(const Item& item, const RunPlan& plan) {
  return item.skipped ? plan.skipped[item.cell].cell : plan.cells[item.cell];
}

ItemPlan make_items(const RunPlan& plan, const Predictor& predictor, const RunOptions& options) {
  ItemPlan result;
  std::string text = fmt::format("probe {}\n", static_cast<int>(options.probe));
  const auto key_of = [&](const Cell& cell) { return make_record(cell, predictor.info()).cell_key(); };
  const auto add = [&](const Item& item, const std::string& key) {
    text += fmt::format("{} {} {} {}\n", key, item.first, item.samples, item.batch);
    result.items.push_back(item);
  };
  for (std::size_t i = 0; i < plan.skipped.size(); ++i) {
    add({.cell = i, .skipped = true}, key_of(plan.skipped[i].cell));
  }
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const Cell& cell = plan.cells[i];
    const std::int64_t batch = item_batch(cell, predictor, options);
    const std::int64_t samples = batch * std::max<std::int64_t>(1, kItemTokens / (batch * cell.total_tokens));
    const std::string key = key_of(cell);
    for (std::int64_t first = 0; first < cell.samples; first += samples) {
      add({.cell = i, .first = first, .samples = std::min(samples, cell.samples - first), .batch = batch}, key);
    }
  }
  result.sha256 = sha256_hex(text);
  return result;
}

std::vector<std::size_t> longest_first(const std::vector<Item>& items, const RunPlan& plan) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tokens_of(items[a], plan) > tokens_of(items[b], plan); });
  return order;
}

std::vector<std::size_t> items_of_shard(const std::vector<Item>& items, const RunPlan& plan, std::int64_t shard,
                                        std::int64_t num_shards) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(num_shards));
  std::vector<std::size_t> mine;
  for (const std::size_t item : longest_first(items, plan)) {
    const auto least = std::min_element(tokens.begin(), tokens.end());
    *least += tokens_of(items[item], plan);
    if (least - tokens.begin() == shard - 1) mine.push_back(item);
  }
  std::sort(mine.begin(), mine.end());
  return mine;
}

Part make_part(const ItemPlan& items, std::size_t index, const RunPlan& plan) {
  const Item& item = items.items[index];
  Part part;
  part.plan_sha256 = items.sha256;
  part.item = static_cast<std::int64_t>(index);
  part.num_items = std::ssize(items.items);
  part.first = item.first;
  part.samples = item.samples;
  part.cell_samples = cell_of(item, plan).samples;
  return part;
}

}  // namespace lenbench
