// What is timed, and what came out: kernels side by side, and whole passes of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace lenbench {

struct KernelBenchOptions {
  std::int64_t length = 4096, head_dim = 32;
  double alpha = 1.5;                    // of the random cases
  std::vector<double> stds = {1, 4, 0};  // standard deviations of scores; 0: all equal
  std::string checkpoint_path;           // trained heads of this model too; empty: none
  Sample sample;                         // what they look at
  std::int64_t repeats = 5;
  std::string device = "cpu";  // "cpu", "cuda", "cuda:N"
  int threads = 1;
  bool certify = false;     // also score every pair that the entmax kernel left out
  bool backward = false;    // forward and backward on `heads` random heads at once, as in training
  std::int64_t heads = 64;  // with `backward`
};

// Medians over rounds, each with its smallest and largest value.
struct Spread {
  double median = 0, low = 0, high = 0;
};

// One kernel on one input. Causal; one head, forward, unless more was asked for.
struct KernelTiming {
  std::string input;   // "std 4", "all equal", "layer 1 head 4 (no position)"
  std::string kernel;  // "sdpa float32", "sdpa bfloat16", "lenbench softmax", "lenbench entmax 1.5", "lenbench top-32",
                       // "reference ..."
  Spread seconds;
  Spread speed;              // seconds of "sdpa float32" in the same round over this kernel's: above 1 is faster
  std::string instructions;  // instruction set of lenbench's kernels; "CUDA" on a device
  std::string clock;         // of `seconds`: "cpu" (time of the process) or "wall"
  // Of lenbench's kernels; negative: not known. screened_share: pairs looked at by rounded dot products.
  double mean_support = -1, scored_share = -1, screened_share = -1, pushes_per_row = -1, sum_error = -1;
  std::int64_t certified_pairs = -1;  // pairs left out and scored after all; -1: not asked for
  double least_margin = 0;            // units of score up to the threshold: at least 0 where every one was out of reach
};

struct EndToEndTiming {
  std::int64_t tokens = 0;
  Spread seconds;              // of one sample, batch 1, answers only
  double attention_share = 0;  // of the median round
  // The same passes with ATen's fused softmax attention (fp32, causal, no bias) in place of the model's own, and how
  // many times as long they took, round by round. Only where asked for.
  std::optional<Spread> sdpa_seconds, sdpa_ratio;
};

}  // namespace lenbench
