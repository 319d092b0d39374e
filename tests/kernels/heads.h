// Random attention problems for the kernel tests, and their double-precision answers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/attention_kernels.h"
#include "kernels/reference.h"

namespace lenbench::kernels {

inline std::vector<double> normals(std::size_t count, std::uint64_t seed, double scale = 1) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal;  // times `scale`, because the distribution's own may not be 0
  std::vector<double> values(count);
  for (double& value : values) value = scale * normal(bits);
  return values;
}

// Owns tensors in the order [batches, tokens, heads, head_size].
template <typename T>
struct TestProblem {
  std::int64_t batches = 1, heads = 1, kv_heads = 1, rows = 0, keys = 0, head_size = 0;
  std::vector<T> q, k, v, out, slopes, alphas;
  std::vector<std::int64_t> visible;
  std::vector<float> entropy, sink, top, top_score;
  std::vector<std::int32_t> support;
  std::int64_t topk = 0;
  int threads = 1;

  TestProblem(std::int64_t num_rows, std::int64_t size, double alpha, std::uint64_t seed = 1, double std_q = 1,
              std::int64_t num_heads = 1, std::int64_t num_kv_heads = 1, std::int64_t num_batches = 1)
      : batches(num_batches),
        heads(num_heads),
        kv_heads(num_kv_heads),
        rows(num_rows),
        keys(num_rows),
        head_size(size) {
    const auto fill = [&](std::vector<T>& to, std::int64_t count, std::uint64_t stream, double scale) {
      const std::vector<double> values = normals(static_cast<std::size_t>(count), seed * 10 + stream, scale);
      to.assign(values.begin(), values.end());
    };
    fill(q, batches * rows * heads * head_size, 1, std_q / std::sqrt(static_cast<double>(head_size)));
    fill(k, batches * keys * kv_heads * head_size, 2, 1);
    fill(v, batches * keys * kv_heads * head_size, 3, 1);
    out.assign(q.size(), T(-77));
    slopes.assign(static_cast<std::size_t>(heads), T(0));
    alphas.assign(static_cast<std::size_t>(heads), static_cast<T>(alpha));
    for (std::int64_t r = 0; r < rows; ++r) visible.push_back(r + 1);
    const auto all_rows = static_cast<std::size_t>(batches * heads * rows);
    entropy.assign(all_rows, -1);
    sink = top = top_score = entropy;
    support.assign(all_rows, -1);
  }

  View<const T> keys_view(const std::vector<T>& data) const {
    return {data.data(), keys * kv_heads * head_size, head_size, kv_heads * head_size};
  }
  View<const T> rows_view(const std::vector<T>& data) const {
    return {data.data(), rows * heads * head_size, head_size, heads * head_size};
  }
  View<T> rows_view(std::vector<T>& data) const {
    return {data.data(), rows * heads * head_size, head_size, heads * head_size};
  }
  View<T> keys_view(std::vector<T>& data) const {
    return {data.data(), keys * kv_heads * head_size, head_size, kv_heads * head_size};
  }

  Problem<T> problem() const {
    Problem<T> made;
    made.batches = batches, made.heads = heads, made.kv_heads = kv_heads;
    made.rows = rows, made.keys = keys, made.head_size = head_size;
    made.q = rows_view(q), made.k = keys_view(k), made.v = keys_view(v);
    made.visible = visible.data();
    made.slopes = slopes.data();
    made.alphas = alphas.data();
    made.topk = topk;
    made.threads = threads;
    return made;
  }

  RowStats stats() { return {entropy.data(), support.data(), sink.data(), top.data(), top_score.data()}; }

  StreamingCounters stream(const StreamingOptions& options = {}) {
    StreamingCounters counters;
    attend_streaming(problem(), rows_view(out), stats(), options, &counters);
    return counters;
  }

  ReferenceHead reference(std::int64_t batch, std::int64_t head) const {
    ReferenceHead made;
    made.rows = rows, made.keys = keys, made.head_size = head_size;
    const auto copy = [&](const View<const T>& from, std::int64_t h, std::int64_t tokens, std::vector<double>& to) {
      for (std::int64_t t = 0; t < tokens; ++t)
        for (std::int64_t c = 0; c < head_size; ++c)
          to.push_back(static_cast<double>(from.at(batch, h)[t * from.token_stride + c]));
    };
    const std::int64_t kv_head = head / (heads / kv_heads);
    copy(rows_view(q), head, rows, made.q);
    copy(keys_view(k), kv_head, keys, made.k);
    copy(keys_view(v), kv_head, keys, made.v);
    made.visible = visible;
    made.slope = static_cast<double>(slopes[static_cast<std::size_t>(head)]);
    made.alpha = static_cast<double>(alphas[static_cast<std::size_t>(head)]);
    made.topk = topk;
    return made;
  }

  std::size_t row_index(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return static_cast<std::size_t>((batch * heads + head) * rows + row);
  }
  const T* out_row(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return out.data() + ((batch * rows + row) * heads + head) * head_size;
  }
};

inline double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace lenbench::kernels
