// Runs an attention call of the CUDA kernels on the host, its lanes simulated, item by item.
#pragma once

#include <vector>

#include "../heads.h"
#include "kernels/cuda/attention_items.h"

namespace lenbench::kernels {

struct HostOptions {
  bool screen = true;
  int capacity = 1024;
  bool forwards = false;
};

inline void run_screened(const AttentionCall& call, std::int64_t item, std::int32_t* keys, float* scores) {
  switch (call.steps) {
    case 2:
      return screened_item<HostWarp, 2>(call, item, keys, scores);
    case 3:
      return screened_item<HostWarp, 3>(call, item, keys, scores);
    case 5:
      return screened_item<HostWarp, 5>(call, item, keys, scores);
    default:
      return screened_item<HostWarp, 9>(call, item, keys, scores);
  }
}

// Writes outputs and statistics of the problem, and the rows' states where wanted.
inline ScreenCounters run_on_host(TestProblem<float>& test, const HostOptions& options = {},
                                  std::vector<double>* states = nullptr) {
  ScreenCounters counters;
  AttentionCall call;
  call.problem = test.problem();
  call.out = test.rows_view(test.out);
  call.stats = test.stats();
  const auto groups = static_cast<std::size_t>(test.batches * test.kv_heads);
  const auto rows = static_cast<std::size_t>(test.batches * test.heads * test.rows);
  std::vector<KeySummary> summaries(groups, KeySummary{0, static_cast<std::int32_t>(test.keys)});
  call.summaries = summaries.data();
  call.steps = options.screen ? screen_steps(test.head_size) : 0;
  std::vector<std::uint32_t> columns(groups * static_cast<std::size_t>(test.keys * call.steps * 8));
  call.columns = columns.data();
  std::vector<std::uint8_t> dense(rows, 7);
  call.dense_rows = dense.data();
  call.counters = &counters;
  call.capacity = options.capacity;
  call.forwards = options.forwards;
  if (states) {
    states->assign(3 * rows, -7);
    call.states = states->data();
  }
  for (std::int64_t item = 0; item < static_cast<std::int64_t>(groups) * test.keys; ++item)
    key_item<HostWarp>(call, item);
  if (call.steps > 0) {
    const auto lists = static_cast<std::size_t>((kScreenRows + 1) * options.capacity);
    std::vector<std::int32_t> keys(lists);
    std::vector<float> scores(lists);
    for (std::int64_t item = 0; item < test.batches * test.heads * screen_tiles_of(test.rows); ++item)
      run_screened(call, item, keys.data(), scores.data());
  }
  std::vector<float> scores(static_cast<std::size_t>(test.keys));
  for (std::int64_t item = 0; item < static_cast<std::int64_t>(rows); ++item)
    dense_item<HostWarp>(call, item, scores.data());
  return counters;
}

}  // namespace lenbench::kernels
