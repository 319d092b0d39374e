// The model of a command line: a double, a program, or a checkpoint by path or bundled name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/backend.h"
#include "bench/predictor.h"
#include "exec/exec_model.h"

namespace lenbench::cli {

struct ModelChoice {
  std::string text;  // as given
  bool is_double = false;
  std::shared_ptr<ExecModel> program;  // for "exec:COMMAND", else null; started when something must be known of it
  std::string path;                    // of the checkpoint or TorchScript file; empty for others
  std::string sha256;                  // of these; empty for others
  bool is_script = false;              // `path` is a TorchScript file

  // What has a configuration and shows its attention: neither double, program nor TorchScript file.
  bool is_checkpoint() const { return !path.empty() && !is_script; }
};

// Finds the model and, for a checkpoint, reads and hashes its files; no LibTorch. Throws Error when it is unknown or
// malformed.
ModelChoice choose_model(const std::string& text, const ExecLimits& limits = {});

// For commands that look inside a model: the path of the checkpoint `text`. Throws Error for doubles, programs and
// TorchScript files, which are `without` ("attention").
std::string choose_checkpoint(const std::string& text, const std::string& without);

// What can be known of the model before it is loaded: name, hash, vocabulary, training length, transform and encoding
// with the changes at inference of `options`. A program is started for it; of a TorchScript file only name and hash are
// known.
PredictorInfo describe_unloaded(const ModelChoice& choice, const OpenOptions& options);

// Predictor::predicted_bytes of the model in arithmetic of `dtype` (samples, tokens, judged rows), from its
// configuration; 0 for others. `ranks` divide every sample.
using MemoryForecast = std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t)>;
MemoryForecast forecast_memory(const ModelChoice& choice, const std::string& dtype, int ranks = 1);

// A loaded model with what must outlive it.
struct OpenModel {
  std::unique_ptr<Backend> backend;  // for a checkpoint only
  std::shared_ptr<Predictor> predictor;
  std::string torch_version;  // empty without a backend
};

// Throws Error when the model cannot be loaded, or an inference-time transform is asked of what is no checkpoint.
OpenModel open_model(const ModelChoice& choice, const OpenOptions& options);

}  // namespace lenbench::cli
