// The training path over all (batch, head) pairs.
#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "kernels/key_facts.h"
#include "kernels/variant.h"
#include "kernels/work_queue.h"

namespace lenbench::kernels {
namespace {

template <typename T>
int tile_rows() {
  return std::is_same_v<T, float> ? active_variant().tile_rows : active_variant().tile_rows_double;
}

// T of `saved` that one head of the batch takes: tiles of rows, each as wide as its widest row.
template <typename T>
std::int64_t saved_per_head(const Problem<T>& problem, std::int64_t batch) {
  const std::int64_t* visible = problem.visible + batch * problem.visible_batch_stride;
  const std::int64_t tile = tile_rows<T>();
  std::int64_t size = 0;
  for (std::int64_t row = 0; row < problem.rows; row += tile)
    size += *std::max_element(visible + row, visible + std::min(row + tile, problem.rows)) * tile;
  return size;
}

template <typename T>
std::vector<std::int64_t> saved_offsets(const Problem<T>& problem) {
  std::vector<std::int64_t> offsets = {0};
  for (std::int64_t b = 0; b < problem.batches; ++b)
    offsets.push_back(offsets.back() + saved_per_head(problem, b) * problem.heads);
  return offsets;
}

template <typename T>
TrainHead<T> make_head(const Problem<T>& problem, std::int64_t batch, std::int64_t head, const KeyFacts& facts,
                       const std::vector<std::int64_t>& offsets, T* saved) {
  const std::int64_t kv_head = head / (problem.heads / problem.kv_heads);
  TrainHead<T> made = {};
  made.q = problem.q.at(batch, head);
  made.k = problem.k.at(batch, kv_head);
  made.v = problem.v.at(batch, kv_head);
  made.q_stride = problem.q.token_stride;
  made.k_stride = problem.k.token_stride;
  made.v_stride = problem.v.token_stride;
  made.rows = problem.rows;
  made.keys = problem.keys;
  made.head_size = problem.head_size;
  made.visible = problem.visible + batch * problem.visible_batch_stride;
  made.alpha = static_cast<double>(problem.alphas[head]);
  made.slope = problem.slopes ? problem.slopes[head] : 0;
  made.key_norm = facts.norm;
  made.first_bad = facts.first_bad;
  const auto b = static_cast<std::size_t>(batch);
  made.saved = saved + offsets[b] + (offsets[b + 1] - offsets[b]) / problem.heads * head;
  return made;
}

template <typename T>
std::size_t scratch_bytes(const Problem<T>& problem) {
  const Variant& variant = active_variant();
  return std::is_same_v<T, float> ? variant.train_scratch(problem.keys, problem.head_size)
                                  : variant.train_scratch_double(problem.keys, problem.head_size);
}

template <typename T>
void write_rows(const T* from, std::int64_t padded, const Problem<T>& problem, T* to, std::int64_t stride) {
  for (std::int64_t j = 0; j < problem.keys; ++j)
    for (std::int64_t c = 0; c < problem.head_size; ++c) to[j * stride + c] = from[j * padded + c];
}

}  // namespace

template <typename T>
std::int64_t training_saved_size(const Problem<T>& problem) {
  check_problem(problem);
  if (problem.topk > 0) throw std::invalid_argument("attention kernels: top-k cannot be trained here");
  return problem.rows == 0 ? 0 : saved_offsets(problem).back();
}

template <typename T>
void attend_forward(const Problem<T>& problem, View<T> out, T* saved) {
  check_problem(problem);
  if (problem.batches == 0 || problem.rows == 0) return;
  const Variant& variant = active_variant();
  const std::vector<std::int64_t> offsets = saved_offsets(problem);
  const std::vector<AlignedMemory> scratch = worker_scratch(problem.threads, scratch_bytes(problem));
  const std::int64_t group = problem.heads / problem.kv_heads;
  run_items(problem.threads, problem.batches * problem.kv_heads, [&](int worker, std::int64_t item) {
    const std::int64_t batch = item / problem.kv_heads, kv_head = item % problem.kv_heads;
    const KeyFacts facts = key_facts(problem.k.at(batch, kv_head), problem.k.token_stride, problem.v.at(batch, kv_head),
                                     problem.v.token_stride, problem.keys, problem.head_size);
    for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      TrainHead<T> head = make_head(problem, batch, h, facts, offsets, saved);
      head.out = out.at(batch, h);
      head.out_stride = out.token_stride;
      if constexpr (std::is_same_v<T, float>)
        variant.forward(head, scratch[static_cast<std::size_t>(worker)].get());
      else
        variant.forward_double(head, scratch[static_cast<std::size_t>(worker)].get());
    }
  });
}

template <typename T>
void attend_backward(const Problem<T>& problem, View<const T> dout, const T* saved, const Gradients<T>& gradients) {
  check_problem(problem);
  const Variant& variant = active_variant();
  const std::vector<std::int64_t> offsets =
      problem.rows == 0 ? std::vector<std::int64_t>(static_cast<std::size_t>(problem.batches + 1))
                        : saved_offsets(problem);
  const std::int64_t lanes = std::is_same_v<T, float> ? variant.lanes : variant.lanes_double;
  const std::int64_t padded = (problem.head_size + lanes - 1) / lanes * lanes;
  const std::size_t own = (scratch_bytes(problem) + 63) / 64 * 64;
  const auto sums = static_cast<std::size_t>(problem.keys * padded);
  const std::vector<AlignedMemory> scratch = worker_scratch(problem.threads, own + 2 * sums * sizeof(T));
  const auto num_heads = static_cast<std::size_t>(problem.batches * problem.heads);
  std::vector<double> dslopes(gradients.dslopes ? num_heads : 0), dalphas(gradients.dalphas ? num_heads : 0);
  const std::int64_t group = problem.heads / problem.kv_heads;
  run_items(problem.threads, problem.batches * problem.kv_heads, [&](int worker, std::int64_t item) {
    const std::int64_t batch = item / problem.kv_heads, kv_head = item % problem.kv_heads;
    char* memory = static_cast<char*>(scratch[static_cast<std::size_t>(worker)].get());
    T* dk = reinterpret_cast<T*>(memory + own);
    T* dv = dk + sums;
    std::fill(dk, dk + 2 * sums, T(0));
    for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      const auto index = static_cast<std::size_t>(batch * problem.heads + h);
      const TrainHead<T> head = make_head(problem, batch, h, KeyFacts{}, offsets, const_cast<T*>(saved));
      TrainGradient<T> gradient = {};
      gradient.dout = dout.at(batch, h);
      gradient.dout_stride = dout.token_stride;
      gradient.dq = gradients.dq.data ? gradients.dq.at(batch, h) : nullptr;
      gradient.dq_stride = gradients.dq.token_stride;
      gradient.dk = gradients.dk.data ? dk : nullptr;
      gradient.dv = gradients.dv.data ? dv : nullptr;
      gradient.dslope = gradients.dslopes ? &dslopes[index] : nullptr;
      gradient.dalpha = gradients.dalphas ? &dalphas[index] : nullptr;
      if constexpr (std::is_same_v<T, float>)
        variant.backward(head, gradient, memory);
      else
        variant.backward_double(head, gradient, memory);
    }
    if (gradients.dk.data) write_rows(dk, padded, problem, gradients.dk.at(batch, kv_head), gradients.dk.token_stride);
    if (gradients.dv.data) write_rows(dv, padded, problem, gradients.dv.at(batch, kv_head), gradients.dv.token_stride);
  });
  // In the order of batches, so that the sum does not depend on who computed what.
  for (std::int64_t h = 0; h < problem.heads; ++h) {
    double dslope = 0, dalpha = 0;
    for (std::int64_t b = 0; b < problem.batches; ++b) {
      const auto index = static_cast<std::size_t>(b * problem.heads + h);
      if (gradients.dslopes) dslope += dslopes[index];
      if (gradients.dalphas) dalpha += dalphas[index];
    }
    if (gradients.dslopes) gradients.dslopes[h] = static_cast<T>(dslope);
    if (gradients.dalphas) gradients.dalphas[h] = static_cast<T>(dalpha);
  }
}

template std::int64_t training_saved_size(const Problem<float>&);
template std::int64_t training_saved_size(const Problem<double>&);
template void attend_forward(const Problem<float>&, View<float>, float*);
template void attend_forward(const Problem<double>&, View<double>, double*);
template void attend_backward(const Problem<float>&, View<const float>, const float*, const Gradients<float>&);
template void attend_backward(const Problem<double>&, View<const double>, const double*, const Gradients<double>&);

}  // namespace lenbench::kernels
