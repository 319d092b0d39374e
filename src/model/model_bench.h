// What trained heads cost: kernels on the queries and keys of a checkpoint, and the whole model on one sample.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/backend.h"

namespace lenbench {

// Backend::time_kernels: the random inputs, then of each layer of the checkpoint the first head with and the first
// without a positional bias, on `options.sample`. Throws Error for a checkpoint that cannot be loaded, a sample that
// does not fit its vocabulary, and a transform that the streaming kernels have no form of.
std::vector<KernelTiming> time_kernels(const KernelBenchOptions& options,
                                       const std::function<void(const std::string&)>& progress);

// Backend::time_model.
EndToEndTiming time_model(const std::string& checkpoint_path, const Sample& sample, const OpenOptions& options,
                          std::int64_t repeats, bool beside_sdpa);

}  // namespace lenbench
