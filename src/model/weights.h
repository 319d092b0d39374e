// Between checkpoints on disk and decoders in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "checkpoint/checkpoint.h"
#include "model/decoder.h"

namespace lenbench {

// A tensor of the stored type, copied out of the file.
at::Tensor to_tensor(const TensorView& view);

// Every weight converted to `dtype` (fp32 or fp64) on the CPU, for make_model(). Throws Error naming the first tensor
// with a NaN or infinity, as stored or after conversion.
std::vector<NamedTensor> load_parameters(const Checkpoint& checkpoint, at::ScalarType dtype = at::kFloat);

// The model of a checkpoint that holds a decoder; Error for a model of sets.
Decoder load_decoder(const Checkpoint& checkpoint, at::ScalarType dtype = at::kFloat);

// Writes config.json, origin.json and model.safetensors (in this order, each atomically) to `folder`, which is created.
// Weights are stored as `stored`: F32 or F64 of a model of that type reads back bit for bit; F16 and BF16 round to
// nearest even. Throws Error(kNotMeasured) when a file cannot be written or a weight is not finite as stored.
void save_checkpoint(const std::string& folder, const SequenceModel& model, const Origin& origin,
                     Dtype stored = Dtype::kF32);

}  // namespace lenbench
