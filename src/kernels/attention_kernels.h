// Attention on raw pointers: exact streaming forward with row statistics, and a fused forward/backward for training.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace lenbench::kernels {

// A tensor [batches, heads, tokens, head_size] in any order of its first three dimensions; channels are contiguous.
// Strides count elements, so [B, T, H, D] and [B, H, T, D] both fit; a stride of 0 shares one slice.
template <typename T>
struct View {
  T* data = nullptr;
  std::int64_t batch_stride = 0, head_stride = 0, token_stride = 0;
  T* at(std::int64_t batch, std::int64_t head) const { return data + batch * batch_stride + head * head_stride; }
  operator View<const T>() const requires(!std::is_const_v<T>) {
    return {data, batch_stride, head_stride, token_stride};
  }
};

// Sizes and inputs both paths share.
//   q          [batches, heads, rows, head_size], already multiplied by every scale, 1/sqrt(head_size) included.
//   k, v       [batches, kv_heads, keys, head_size]; query head h reads KV head h / (heads / kv_heads).
//   visible    [rows] for visible_batch_stride = 0, else row r of batch b at visible[b * visible_batch_stride + r]:
//              row r sees keys 0 .. visible-1; 0 <= visible <= keys. 0 is a fully masked row: output and gradients are
//              0.
//   slopes     [heads], each >= 0, or null for all 0: adds -slope * (visible - 1 - j) to the score of key j (ALiBi).
//   alphas     [heads], each in [1, 2]: 1 is softmax, above 1 alpha-entmax
//              (p_j = max((alpha-1) s_j - tau, 0)^(1/(alpha-1))).
//   topk       > 0: softmax over the K largest scores of a row, of equal ones those of lower keys; the alphas must be
//              1. Streaming forward only.
//   threads    at least 1. Results are the same bits for any number.
// A row that sees a non-finite q, k or v (or whose scores leave fp32's range) gets NaN in every output and statistic
// (support -1), whatever the weight of the key.
template <typename T>
struct Problem {
  std::int64_t batches = 1, heads = 1, kv_heads = 1, rows = 0, keys = 0, head_size = 0;
  View<const T> q, k, v;
  const std::int64_t* visible = nullptr;
  std::int64_t visible_batch_stride = 0;
  const T* slopes = nullptr;
  const T* alphas = nullptr;
  std::int64_t topk = 0;
  int threads = 1;
};

// Per-row statistics, each [batches, heads, rows] contiguous or null. A fully masked row has 0 in all of them.
struct RowStats {
  float* entropy = nullptr;         // Shannon entropy of p in nats
  std::int32_t* support = nullptr;  // keys with p > 0; for softmax, whose weights are never 0, the visible keys, at
                                    // most K of them for top-k
  float* sink = nullptr;            // p of key 0
  float* top = nullptr;             // largest p
  float* top_score = nullptr;       // largest score, bias included: with `top` it gives the weight of any one key
  // Top-k only, where a score alone does not tell whether its key is among the K: the weight of key
  // source_keys[batch][row], -1 for none (weight 0).
  float* source = nullptr;
  const std::int64_t* source_keys = nullptr;  // [batches, rows]
};

// Which ways are open. All settings give the same weights (`dense` up to rounding, the others bit for bit); the
// switches exist so that tests can compare them.
struct StreamingOptions {
  bool windows = true;     // ALiBi heads: leave out keys whose weight is proven 0
  bool duplicates = true;  // slope-0 heads with few distinct (k, v) rows: attend over those, with multiplicities
  bool dense = true;       // slope-0 entmax rows of which a sample says that much survives: weighed as a matrix
  bool screen = true;      // slope-0 entmax and top-k heads: most keys are proven out of reach by rounded dot products
  bool certify = false;    // score every (row, key) pair that a window or the screen left out, and say by how much
  std::uint32_t visit_seed = 0;  // nonzero: entmax visits blocks of keys in a shuffled order; same bits. Not top-k
};

// What a call did, summed over heads: for tests and for `bench`.
struct StreamingCounters {
  std::int64_t scored_pairs = 0;     // (row, key) scores computed
  std::int64_t screened_pairs = 0;   // pairs looked at by rounded dot products
  std::int64_t certified_pairs = 0;  // pairs left out and scored after all (options.certify; entmax and top-k)
  // Smallest distance, in units of score, from such a pair's score up to the threshold it had to pass: below 0 a key
  // was left out that must not be. Infinite where there is no such pair.
  float least_margin = std::numeric_limits<float>::infinity();
  std::int64_t pushed_scores = 0;    // scores that passed a running threshold
  std::int64_t duplicate_heads = 0;  // heads that took the duplicates path
  std::int64_t distinct_keys = 0;    // distinct (k, v) rows summed over those heads
};

// Exact attention forward in O(keys * head_size) memory: one sweep over the keys of a row (docs/kernels.md).
//   out     [batches, heads, rows, head_size]: sum_j p_j v_j / sum_j p_j, overwritten.
// Throws std::invalid_argument for sizes, alphas, slopes or visible counts outside the contract, std::bad_alloc.
void attend_streaming(const Problem<float>& problem, View<float> out, const RowStats& stats = {},
                      const StreamingOptions& options = {}, StreamingCounters* counters = nullptr);

// Training: rows are materialised, so keep rows and keys at a few thousand at most.
// The number of T that `saved` holds: the weights, in an order only attend_backward knows.
template <typename T>
std::int64_t training_saved_size(const Problem<T>& problem);

// Writes out [batches, heads, rows, head_size] and `saved`. Throws as attend_streaming. Non-finite inputs give NaN as
// there, and may also turn other rows of their head NaN here.
template <typename T>
void attend_forward(const Problem<T>& problem, View<T> out, T* saved);

// Gradients. Every non-null one is overwritten. `dq` is with respect to the scaled q that `problem` holds.
// dk, dv sum over the query heads that share a KV head; dslopes and dalphas [heads] sum over batches and rows.
// The alpha gradient is in a form without cancellation and holds at alpha = 1 as the limit.
template <typename T>
struct Gradients {
  View<T> dq, dk, dv;
  T* dslopes = nullptr;
  T* dalphas = nullptr;
};

// `problem`, `saved` as in attend_forward (the same values); dout [batches, heads, rows, head_size].
template <typename T>
void attend_backward(const Problem<T>& problem, View<const T> dout, const T* saved, const Gradients<T>& gradients);

// T is float or double; double exists so that gradients can be checked by finite differences.
extern template std::int64_t training_saved_size(const Problem<float>&);
extern template std::int64_t training_saved_size(const Problem<double>&);
extern template void attend_forward(const Problem<float>&, View<float>, float*);
extern template void attend_forward(const Problem<double>&, View<double>, double*);
extern template void attend_backward(const Problem<float>&, View<const float>, const float*, const Gradients<float>&);
extern template void attend_backward(const Problem<double>&, View<const double>, const double*,
                                     const Gradients<double>&);

// The instruction set of this process: the best of "avx512" (with VNNI), "avx2" and "baseline" that the CPU has, or the
// one that the environment variable LENBENCH_KERNELS names; std::invalid_argument where
// the CPU lacks that.
const char* kernel_variant();

}  // namespace lenbench::kernels
