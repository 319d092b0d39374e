// What is known about the keys and values of one (batch, KV head) before any row is scored.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/attention_kernels.h"

namespace lenbench::kernels {

struct KeyFacts {
  double norm = 0;             // at least the Euclidean norm of every key before first_bad
  std::int64_t first_bad = 0;  // first key with a non-finite k or v; the number of keys when there is none
};

template <typename T>
KeyFacts key_facts(const T* k, std::int64_t k_stride, const T* v, std::int64_t v_stride, std::int64_t keys,
                   std::int64_t head_size);

// The distinct (k, v) rows of a head, compared bit by bit.
struct DistinctRows {
  std::vector<std::int32_t> ids;        // [keys] index of the key's distinct row, numbered by first use
  std::vector<std::int64_t> first_use;  // [distinct]
  std::vector<float> k, v;              // [distinct][head_size]
};

// Fills `rows` and returns true when there are at most `limit` distinct rows; otherwise stops early and returns false.
bool find_distinct_rows(const float* k, std::int64_t k_stride, const float* v, std::int64_t v_stride, std::int64_t keys,
                        std::int64_t head_size, std::int64_t limit, DistinctRows& rows);

// Throws std::invalid_argument for anything outside the contract of Problem.
template <typename T>
void check_problem(const Problem<T>& problem) {
  const auto require = [](bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(std::string("attention kernels: ") + what);
  };
  require(problem.batches >= 0 && problem.rows >= 0 && problem.keys >= 0, "negative size");
  require(problem.heads > 0 && problem.kv_heads > 0 && problem.heads % problem.kv_heads == 0,
          "heads must be a positive multiple of kv_heads");
  require(problem.head_size > 0, "head_size must be positive");
  require(problem.keys < (std::int64_t{1} << 24), "at most 2^24 - 1 keys: positions are exact in fp32 up to there");
  require(problem.threads >= 1, "threads must be at least 1");
  require(problem.alphas != nullptr, "alphas is null");
  require(problem.topk >= 0, "topk must be at least 0");
  for (std::int64_t h = 0; h < problem.heads; ++h) {
    require(problem.alphas[h] >= 1 && problem.alphas[h] <= 2, "alpha must be in [1, 2]");
    require(!problem.slopes || (problem.slopes[h] >= 0 && problem.slopes[h] <= T(1e6)), "slope must be in [0, 1e6]");
    require(problem.topk == 0 || problem.alphas[h] == 1, "top-k is a softmax: alpha must be 1");
  }
  if (problem.rows == 0 || problem.batches == 0) return;
  require(problem.visible != nullptr, "visible is null");
  for (std::int64_t b = 0; b < (problem.visible_batch_stride == 0 ? 1 : problem.batches); ++b)
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      const std::int64_t visible = problem.visible[b * problem.visible_batch_stride + r];
      require(visible >= 0 && visible <= problem.keys, "visible must be in [0, keys]");
    }
}

}  // namespace lenbench::kernels
