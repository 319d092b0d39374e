// The model of a command line: a double, or a checkpoint by path or bundled name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/backend.h"
#include "bench/predictor.h"

namespace lenbench::cli {

struct ModelChoice {
  std::string text;  // as given
  bool is_double = false;
  std::string path;    // of the checkpoint; empty for a double
  std::string sha256;  // of the checkpoint; empty for a double
};

// Finds the model and, for a checkpoint, reads and hashes its files; no LibTorch. Throws Error when it is unknown or
// malformed.
ModelChoice choose_model(const std::string& text);

// What can be known of the model before it is loaded: name, hash, vocabulary, training length, transform and encoding
// with the changes at inference of `options`.
PredictorInfo describe_unloaded(const ModelChoice& choice, const OpenOptions& options);

// Predictor::predicted_bytes of the model in arithmetic of `dtype` (samples, tokens, judged rows), from its
// configuration; 0 for doubles.
using MemoryForecast = std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t)>;
MemoryForecast forecast_memory(const ModelChoice& choice, const std::string& dtype);

// A loaded model with what must outlive it.
struct OpenModel {
  std::unique_ptr<Backend> backend;  // none for a double
  std::unique_ptr<Predictor> predictor;
  std::string torch_version;  // empty for a double
};

// Throws Error when the model cannot be loaded, or an inference-time transform is asked of a double.
OpenModel open_model(const ModelChoice& choice, const OpenOptions& options);

}  // namespace lenbench::cli
