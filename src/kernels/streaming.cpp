// The streaming forward over all (batch, head) pairs: looks at the keys, picks a path per head, shares rows over
// threads.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/key_codes.h"
#include "kernels/key_facts.h"
#include "kernels/variant.h"
#include "kernels/work_queue.h"

namespace lenbench::kernels {
namespace {

// Below this the table costs more than it saves.
constexpr std::int64_t kFewestDuplicateKeys = 128;
constexpr std::int64_t kFewestScreenedKeys = 1536;  // for fewer, coding them costs more than it saves
constexpr std::int64_t kItemTiles = 8;
constexpr std::int64_t kDuplicateRows = 2048;  // rows of an item on that path: each item counts its prefix anew

// Keys and values of one (batch, KV head) as the kernels read them.
struct KeySource {
  const float *k, *v;
  std::int64_t k_stride, v_stride;
  KeyFacts facts;
  std::vector<float> k_copy, v_copy;  // contiguous copies of strided tensors, for the caches' sake
  bool few_distinct = false;
  DistinctRows distinct;
  KeyCodes codes;
};

struct Item {
  std::int64_t batch, head, row_begin, row_end;
  double cost;
};

float slope_of(const Problem<float>& problem, std::int64_t head) { return problem.slopes ? problem.slopes[head] : 0; }

void copy_rows(const float*& data, std::int64_t& stride, std::int64_t rows, std::int64_t head_size,
               std::vector<float>& copy) {
  if (stride == head_size) return;
  copy.resize(static_cast<std::size_t>(rows * head_size));
  for (std::int64_t j = 0; j < rows; ++j)
    std::memcpy(&copy[static_cast<std::size_t>(j * head_size)], data + j * stride,
                static_cast<std::size_t>(head_size) * sizeof(float));
  data = copy.data();
  stride = head_size;
}

KeySource look_at_keys(const Problem<float>& problem, const StreamingOptions& options, std::int64_t batch,
                       std::int64_t kv_head) {
  KeySource source;
  source.k = problem.k.at(batch, kv_head);
  source.v = problem.v.at(batch, kv_head);
  source.k_stride = problem.k.token_stride;
  source.v_stride = problem.v.token_stride;
  source.facts = key_facts(source.k, source.k_stride, source.v, source.v_stride, problem.keys, problem.head_size);
  const std::int64_t group = problem.heads / problem.kv_heads;
  bool any_plain = false, any_flat = false, any_softmax = false, any_screened = false;
  for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    (slope_of(problem, h) == 0 ? any_flat : any_plain) = true;
    any_softmax |= problem.alphas[h] == 1 && problem.topk == 0;
    any_screened |= (problem.alphas[h] != 1 || problem.topk > 0) && slope_of(problem, h) == 0;
  }
  const bool many_rows = problem.rows * group >= 32;
  if (options.duplicates && problem.topk == 0 && any_flat && many_rows && problem.keys >= kFewestDuplicateKeys)
    source.few_distinct = find_distinct_rows(source.k, source.k_stride, source.v, source.v_stride, problem.keys,
                                             problem.head_size, problem.keys / 4, source.distinct);
  if (!source.few_distinct) source.distinct = {};
  if (many_rows && (any_plain || !source.few_distinct)) {
    copy_rows(source.k, source.k_stride, problem.keys, problem.head_size, source.k_copy);
    if (any_softmax) copy_rows(source.v, source.v_stride, problem.keys, problem.head_size, source.v_copy);
  }
  if (active_variant().screens && options.screen && any_screened && many_rows && !source.few_distinct &&
      source.facts.first_bad >= kFewestScreenedKeys)
    source.codes = make_key_codes(source.k, source.k_stride, source.facts.first_bad, problem.head_size);
  return source;
}

StreamHead make_head(const Problem<float>& problem, const View<float>& out, const RowStats& stats,
                     const StreamingOptions& options, const KeySource& source, std::int64_t batch, std::int64_t head) {
  StreamHead made = {};
  const bool distinct = source.few_distinct && slope_of(problem, head) == 0;
  made.q = problem.q.at(batch, head);
  made.q_stride = problem.q.token_stride;
  made.k = distinct ? source.distinct.k.data() : source.k;
  made.v = distinct ? source.distinct.v.data() : source.v;
  made.k_stride = distinct ? problem.head_size : source.k_stride;
  made.v_stride = distinct ? problem.head_size : source.v_stride;
  made.out = out.at(batch, head);
  made.out_stride = out.token_stride;
  made.rows = problem.rows;
  made.keys = problem.keys;
  made.head_size = problem.head_size;
  made.visible = problem.visible + batch * problem.visible_batch_stride;
  made.alpha = static_cast<double>(problem.alphas[head]);
  made.topk = std::min(problem.topk, problem.keys);
  made.slope = slope_of(problem, head);
  made.key_norm = source.facts.norm;
  made.first_bad = source.facts.first_bad;
  const std::int64_t offset = (batch * problem.heads + head) * problem.rows;
  made.stats.entropy = stats.entropy ? stats.entropy + offset : nullptr;
  made.stats.support = stats.support ? stats.support + offset : nullptr;
  made.stats.sink = stats.sink ? stats.sink + offset : nullptr;
  made.stats.top = stats.top ? stats.top + offset : nullptr;
  made.stats.top_score = stats.top_score ? stats.top_score + offset : nullptr;
  made.stats.source = stats.source ? stats.source + offset : nullptr;
  made.stats.source_keys = stats.source_keys ? stats.source_keys + batch * problem.rows : nullptr;
  made.options = options;
  if (made.topk > 0) made.options.visit_seed = 0;  // of equal scores the first key met wins
  if (distinct) {
    made.key_ids = source.distinct.ids.data();
    made.first_use = source.distinct.first_use.data();
    made.distinct = static_cast<std::int64_t>(source.distinct.first_use.size());
  }
  if (!source.codes.codes.empty() && made.slope == 0 && (made.alpha > 1 || made.topk > 0)) {
    made.codes = source.codes.codes.data();
    made.code_stride = source.codes.stride;
    made.code_scale = source.codes.scale.data();
    made.code_norm = source.codes.norm.data();
    made.code_error = source.codes.error.data();
    made.code_half_norm = source.codes.half_norm;
  }
  return made;
}

void add_counters(StreamingCounters& to, const StreamingCounters& from) {
  to.scored_pairs += from.scored_pairs;
  to.screened_pairs += from.screened_pairs;
  to.certified_pairs += from.certified_pairs;
  to.least_margin = std::min(to.least_margin, from.least_margin);
  to.pushed_scores += from.pushed_scores;
}

}  // namespace

void attend_streaming(const Problem<float>& problem, View<float> out, const RowStats& stats,
                      const StreamingOptions& options, StreamingCounters* counters) {
  check_problem(problem);
  if (problem.batches == 0 || problem.rows == 0) return;
  const Variant& variant = active_variant();
  std::vector<KeySource> sources(static_cast<std::size_t>(problem.batches * problem.kv_heads));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    sources[i] = look_at_keys(problem, options, index / problem.kv_heads, index % problem.kv_heads);
  }
  std::vector<StreamHead> heads;
  std::vector<Item> items;
  StreamingCounters total;
  std::int64_t most_distinct = 0;
  for (std::int64_t b = 0; b < problem.batches; ++b) {
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      const std::int64_t kv_head = h / (problem.heads / problem.kv_heads);
      const KeySource& source = sources[static_cast<std::size_t>(b * problem.kv_heads + kv_head)];
      heads.push_back(make_head(problem, out, stats, options, source, b, h));
      const StreamHead& head = heads.back();
      if (head.key_ids) {
        ++total.duplicate_heads;
        total.distinct_keys += head.distinct;
        most_distinct = std::max(most_distinct, head.distinct);
      }
      const std::int64_t chunk = head.key_ids ? kDuplicateRows : kItemTiles * variant.tile_rows;
      for (std::int64_t row = 0; row < problem.rows; row += chunk) {
        const std::int64_t end = std::min(row + chunk, problem.rows);
        double cost = 0;
        for (std::int64_t r = row; r < end; ++r)
          cost += static_cast<double>(head.key_ids ? head.distinct : head.visible[r]);
        items.push_back({b, h, row, end, cost});
      }
    }
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.cost > b.cost; });
  const std::vector<AlignedMemory> scratch =
      worker_scratch(problem.threads, variant.stream_scratch(problem.keys, problem.head_size, most_distinct));
  std::vector<StreamingCounters> counted(static_cast<std::size_t>(problem.threads));
  run_items(problem.threads, static_cast<std::int64_t>(items.size()), [&](int worker, std::int64_t i) {
    const Item& item = items[static_cast<std::size_t>(i)];
    StreamingCounters local;
    variant.stream_rows(heads[static_cast<std::size_t>(item.batch * problem.heads + item.head)], item.row_begin,
                        item.row_end, scratch[static_cast<std::size_t>(worker)].get(), local);
    add_counters(counted[static_cast<std::size_t>(worker)], local);
  });
  for (const StreamingCounters& one : counted) add_counters(total, one);
  if (counters) *counters = total;
}

}  // namespace lenbench::kernels
