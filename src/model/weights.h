// Between checkpoints on disk and decoders in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "checkpoint/checkpoint.h"
#include "model/decoder.h"

namespace lenbench {

at::ScalarType scalar_type(Dtype dtype);

// A tensor of the stored type, copied out of the file.
at::Tensor to_tensor(const TensorView& view);
// The same on the mapped file itself, which it keeps alive; copied where the file does not align it. Never to be
// written.
at::Tensor to_mapped_tensor(const TensorView& view);

// The parameters of `config` as views of the mapped files, of their stored types.
std::vector<NamedTensor> stored_parameters(const Checkpoint& checkpoint, const DecoderConfig& config);

// The model of a checkpoint, computing in `dtype` (fp32, fp64 or bfloat16) on `device`; kept as checkpoint/memory.h
// says. `config` is the checkpoint's, or a change of it at inference of which every parameter is in the checkpoint.
// Throws Error naming the first tensor with a NaN or infinity, as stored or after conversion.
std::unique_ptr<SequenceModel> load_model(const Checkpoint& checkpoint, const DecoderConfig& config,
                                          at::ScalarType dtype, at::Device device = at::kCPU);
// The same of a checkpoint that holds a decoder; Error for a model of sets.
Decoder load_decoder(const Checkpoint& checkpoint, at::ScalarType dtype = at::kFloat);
Decoder load_decoder(const Checkpoint& checkpoint, const DecoderConfig& config, at::ScalarType dtype,
                     at::Device device = at::kCPU);

// Writes config.json, origin.json and model.safetensors (in this order, each atomically) to `folder`, which is created.
// Weights are stored as `stored`: F32 or F64 of a model of that type reads back bit for bit; F16 and BF16 round to
// nearest even. lenbench's own family only. Throws Error(kNotMeasured) when a file cannot be written or a weight is not
// finite as stored.
void save_checkpoint(const std::string& folder, const SequenceModel& model, const Origin& origin,
                     Dtype stored = Dtype::kF32);

}  // namespace lenbench
