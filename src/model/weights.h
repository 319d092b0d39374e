// Between checkpoints on disk and decoders in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "checkpoint/checkpoint.h"
#include "model/decoder.h"

namespace lenbench {

// A tensor of the stored type, copied out of the file.
at::Tensor to_tensor(const TensorView& view);
// The same on the mapped file itself, which it keeps alive; copied where the file does not align it. Never to be
// written.
at::Tensor to_mapped_tensor(const TensorView& view);

// The parameters of `config` as views of the mapped files, of their stored types.
std::vector<NamedTensor> stored_parameters(const Checkpoint& checkpoint, const DecoderConfig& config);

// The parameters of `config`, all of which are in the checkpoint, on the CPU for make_model() with `dtype` (fp32 or
// fp64): converted, or of a large decoder as they are stored (checkpoint/memory.h). Throws Error naming the first
// tensor with a NaN or infinity, as stored or after conversion.
std::vector<NamedTensor> load_parameters(const Checkpoint& checkpoint, const DecoderConfig& config,
                                         at::ScalarType dtype);

// The model of a checkpoint that holds a decoder; Error for a model of sets.
Decoder load_decoder(const Checkpoint& checkpoint, at::ScalarType dtype = at::kFloat);
// The same with another configuration, of which every parameter is in the checkpoint, for changes at inference.
Decoder load_decoder(const Checkpoint& checkpoint, const DecoderConfig& config, at::ScalarType dtype);

// Writes config.json, origin.json and model.safetensors (in this order, each atomically) to `folder`, which is created.
// Weights are stored as `stored`: F32 or F64 of a model of that type reads back bit for bit; F16 and BF16 round to
// nearest even. lenbench's own family only. Throws Error(kNotMeasured) when a file cannot be written or a weight is not
// finite as stored.
void save_checkpoint(const std::string& folder, const SequenceModel& model, const Origin& origin,
                     Dtype stored = Dtype::kF32);

}  // namespace lenbench
