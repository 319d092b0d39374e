// A Predictor over a TorchScript file: docs/torchscript.md has the contract.
#pragma once

#include <memory>
#include <string>

#include "bench/backend.h"
#include "bench/predictor.h"

namespace lenbench {

// forward(ids [B, T] int64) gives logits [B, T, V], alone or first of a tuple; where the module has a method
// `logits_at(ids [B, T], rows [B, R])`, that gives logits [B, R, V] instead. Samples of one call are equally long, so
// nothing is padded. The file may hold `lenbench.json` among its extra files: name, vocab_size, max_tokens,
// train_length, transform, positions, as in the hello of docs/exec.md. Throws Error when the file cannot be read, its
// extra file is malformed, or `options` asks for what a finished module cannot change (dtype, transform, attention
// path, device).
std::unique_ptr<Predictor> open_torchscript(const std::string& path, const OpenOptions& options);

}  // namespace lenbench
