// Kernels timed side by side on the same inputs, in one process, round by round.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attention/attend.h"
#include "bench/timing.h"

namespace lenbench {

// One causal head: q, k, v [T, D] of float, q not yet divided by sqrt(D).
struct BenchInput {
  std::string name;
  at::Tensor q_TD, k_TD, v_TD;
  double alpha = 1.5;     // of the entmax kernel, in (1, 2]
  std::int64_t topk = 0;  // > 0: top-k is timed in place of entmax
  double slope = 0;       // ALiBi, for lenbench's kernels; ATen's attention runs without it, which costs it nothing
};

// q = k = v from N(0, 1), q times `score_std`, so that scores have that standard deviation; 0: every score is 0.
BenchInput random_bench_input(std::int64_t length, std::int64_t head_dim, double score_std, double alpha);

// Times every kernel on `input` (ATen's with the threads it is set to, which the caller keeps equal): each once to warm
// up, then `repeats` rounds of one call each.
std::vector<KernelTiming> time_input(const BenchInput& input, std::int64_t repeats, int threads, bool certify = false);

// Forward and backward, as in training: the rows of `input` are those of `heads` heads, one after another. Without
// statistics. Requires that `heads` divides T; on the CPU or on a CUDA device.
std::vector<KernelTiming> time_training(const BenchInput& input, std::int64_t heads, std::int64_t repeats, int threads);

// ATen's fused softmax attention of a request's queries, keys and values in their type: causal, without bias, whatever
// the request's normalizer says. [B, H, Q, D].
at::Tensor causal_sdpa(const AttendRequest& request);

// A kernel with its inputs. `run` returns when the work is done; `describe`, if there is one, fills what is known of
// the result.
struct Contestant {
  std::string name;
  std::function<void()> run;
  std::function<void(KernelTiming&)> describe;
};

// Runs each once to warm up, then `repeats` rounds of one call each; speeds are against the first. `process_time`:
// seconds of the process, which other work on the machine does not lengthen; for one thread. Else of the clock.
std::vector<KernelTiming> time_side_by_side(const std::string& input, const std::vector<Contestant>& contestants,
                                            std::int64_t repeats, bool process_time);

// For an input on a CUDA device: ATen's fused attention in fp32 and bfloat16, and the streaming path's softmax and
// entmax.
std::vector<Contestant> cuda_contestants(const BenchInput& input);

// Median, smallest and largest. Requires at least one value.
Spread spread_of(std::vector<double> values);

}  // namespace lenbench
