// A Predictor over a checkpoint: one forward pass per batch, logits of the judged rows only.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "bench/backend.h"
#include "bench/predictor.h"
#include "checkpoint/checkpoint.h"
#include "model/decoder.h"

namespace lenbench {

// `info` is shown as it is, except that the model fills num_parameters, vocab_size, transform, positions, and dtype
// where it is empty.
std::unique_ptr<Predictor> make_predictor(std::unique_ptr<SequenceModel> model, PredictorInfo info, AttentionPath path);
std::unique_ptr<Predictor> make_predictor(Decoder decoder, PredictorInfo info, AttentionPath path);

// The configuration of a checkpoint with the changes at inference that `options` ask for. Throws Error as
// changed_at_inference().
DecoderConfig inference_config(const Checkpoint& checkpoint, const OpenOptions& options);

// Opens a checkpoint (checkpoint/checkpoint.h says what is refused) as `options` ask. Sets the number of LibTorch's
// threads when options.threads > 0.
std::unique_ptr<Predictor> open_predictor(const std::string& checkpoint_path, const OpenOptions& options);

// See Backend::follow().
bool follow_predictor(const std::string& checkpoint_path, const OpenOptions& options, const std::atomic<bool>* stop);

// Whether what LibTorch says of a failure is that memory ran out.
bool says_out_of_memory(const std::string& message);

// "auto", "reference", "streaming". Throws Error for another name.
AttentionPath parse_attention_path(const std::string& name);
// "float32", "float64", "bfloat16"; "tf32" computes in float32 (device.h). Throws Error for another name.
at::ScalarType parse_compute_dtype(const std::string& name);

}  // namespace lenbench
