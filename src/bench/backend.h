// Everything of the program that needs torch, behind one factory that the command line opens with dlopen.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/predictor.h"
#include "bench/shared_store.h"
#include "bench/timing.h"

namespace lenbench {

struct OpenOptions {
  std::string device = "cpu";  // "cpu", "cuda", "cuda:N"
  // "float32", "float64", "bfloat16" (weights and activations; attention in float32), or on CUDA "tf32" (float32 whose
  // matrix products round their factors to TF32).
  std::string dtype = "float32";
  int threads = 0;                      // 0: the library's default
  std::string attention_path = "auto";  // "auto", "reference", "streaming"
  // Changes at inference (checkpoint/inference_change.h); empty: as trained.
  std::string transform;     // e.g. "adaptive-temperature"
  std::string alpha;         // e.g. "1.5"
  std::string rope_scaling;  // e.g. "yarn:factor=4"
  // More than one rank: they divide the rows of every text (open() on rank 0, follow() on the others).
  Membership split;
};

struct TrainOptions {
  std::string recipe_path;
  std::string output_dir;
  std::string device = "cpu";  // as in OpenOptions
  int threads = 0;
  std::optional<std::uint64_t> seed;  // in place of the recipe's; the checkpoint is then named NAME-seedN
  std::int64_t stop_after_steps = 0;  // for tests: stop as if killed after this many steps; 0: run to the end
  bool overwrite = false;
  std::string dtype = "float32";  // of parameters and arithmetic; a checkpoint is saved as the recipe says
  // More than one rank: each takes a share of every batch, and rank 0 alone writes.
  Membership member;
  const std::atomic<bool>* stop = nullptr;  // once it is true on one rank, all stop after the step, with it saved
};

// What Backend::train throws after a stop.
struct TrainingStopped {};

// What `train` writes beside its model.
inline constexpr const char* kTrainingLogName = "train_log.jsonl";

// Name of what a recipe trains with another seed than its own.
inline std::string seeded_name(const std::string& recipe_name, std::uint64_t seed) {
  return recipe_name + "-seed" + std::to_string(seed);
}

// Progress as data; the command line decides how it looks.
struct TrainProgress {
  std::int64_t step = 0, num_steps = 0;
  double loss = 0, learning_rate = 0, seconds_left = 0, train_accuracy = 0;
};

struct VerifyResult {
  double max_abs_logit_difference = 0;
  double tolerance = 1e-4;
  std::int64_t worst_row = 0, worst_position = 0, worst_token = 0;
  double max_entropy_difference = -1;  // -1: not compared
  double max_support_difference = -1;
  double entropy_tolerance = 1e-5, support_tolerance = 0.05;
  bool passed() const {
    return max_abs_logit_difference <= tolerance && max_entropy_difference <= entropy_tolerance &&
           max_support_difference <= support_tolerance;
  }
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string torch_version() const = 0;
  // Throws Error for a model that cannot be opened so, among them one whose texts cannot be split over ranks.
  virtual std::unique_ptr<Predictor> open(const std::string& checkpoint_path, const OpenOptions& options) = 0;
  // For ranks other than 0 of options.split: shares in what rank 0's Predictor is asked, until that is destroyed, or
  // `stop` is true when the next question comes (returns false). Throws Error(kNotMeasured) when a rank is lost.
  virtual bool follow(const std::string& checkpoint_path, const OpenOptions& options,
                      const std::atomic<bool>* stop) = 0;
  // Trains to completion (or resumes). When `progress` throws, the state of the last step is saved first. Throws Error
  // on a bad recipe, a non-finite loss or an unwritable output.
  virtual void train(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress) = 0;
  // Compares logits (and, when `attention_path` is not empty, statistics) with a dump of a reference implementation.
  virtual VerifyResult verify(const std::string& checkpoint_path, const std::string& expected_path,
                              const std::string& attention_path, const OpenOptions& options) = 0;
  // Times kernels side by side, round by round; `progress` gets what is timed next.
  virtual std::vector<KernelTiming> time_kernels(const KernelBenchOptions& options,
                                                 const std::function<void(const std::string&)>& progress) = 0;
  // Times the whole model on `sample`, `repeats` times after one that is not counted; `beside_sdpa`: alternating with
  // ATen's fused softmax attention in place of its own.
  virtual EndToEndTiming time_model(const std::string& checkpoint_path, const Sample& sample,
                                    const OpenOptions& options, std::int64_t repeats, bool beside_sdpa) = 0;
  // The store that the ranks of a run share. Throws Error(kNotMeasured) when it cannot be opened or reached.
  virtual std::unique_ptr<SharedStore> connect_store(const StoreAddress& address) = 0;
};

inline constexpr int kBackendAbi = 7;
inline constexpr const char* kBackendSymbol = "lenbench_open_backend";
// extern "C" Backend* lenbench_open_backend(int abi); the caller owns the result; nullptr when abi differs.
using OpenBackend = Backend* (*)(int abi);

}  // namespace lenbench
