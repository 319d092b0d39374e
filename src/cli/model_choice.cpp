// The model of a command line: a double, a program, or a checkpoint by path or bundled name.
#include "cli/model_choice.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "bench/doubles.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/inference_change.h"
#include "checkpoint/memory.h"
#include "checkpoint/torch_file.h"
#include "cli/backend_loader.h"
#include "cli/paths.h"
#include "cli/terminal.h"

namespace lenbench::cli {

ModelChoice choose_model(const std::string& text, const ExecLimits& limits) {
  ModelChoice choice;
  choice.text = text;
  if (is_exec(text)) {
    choice.program = std::make_shared<ExecModel>(text, limits);
    return choice;
  }
  choice.is_double = is_double(text);
  if (choice.is_double) {
    make_double(text);
    std::error_code ignored;
    if (std::filesystem::exists(text, ignored)) {
      print_note("'" + printable(text) + "' is taken as the double; for the file or folder of that name write ./" +
                 printable(text));
    }
    return choice;
  }
  choice.path = find_checkpoint(text, double_names());
  const TorchFile kind = torch_file_kind(choice.path);
  refuse_unreadable(kind, choice.path);
  choice.is_script = kind == TorchFile::kScript;
  choice.sha256 = choice.is_script ? sha256_file(choice.path) : Checkpoint::open(choice.path).sha256();
  return choice;
}

std::string choose_checkpoint(const std::string& text, const std::string& without) {
  if (is_double(text) || is_exec(text)) {
    throw Error("'" + printable(text) + "' is a " + (is_double(text) ? "double" : "program") + " without " + without +
                "; name a checkpoint");
  }
  std::string path = find_checkpoint(text, {});
  const TorchFile kind = torch_file_kind(path);
  refuse_unreadable(kind, path);
  if (kind == TorchFile::kScript) {
    throw Error("'" + printable(text) + "' is a TorchScript module, which shows no " + without + "; name a checkpoint");
  }
  return path;
}

PredictorInfo describe_unloaded(const ModelChoice& choice, const OpenOptions& options) {
  if (choice.program != nullptr) {
    choice.program->start();
    return choice.program->info();
  }
  if (choice.is_double) return make_double(choice.text)->info();
  if (choice.is_script) {
    PredictorInfo info;
    info.name = std::filesystem::path(choice.path).stem().string();
    info.checkpoint_sha256 = choice.sha256;
    return info;
  }
  const Checkpoint checkpoint = Checkpoint::open(choice.path);
  const DecoderConfig config = changed_at_inference(
      checkpoint.config(), {options.transform, options.alpha, options.rope_scaling}, checkpoint.origin().train_length);
  PredictorInfo info;
  info.name = checkpoint.name();
  info.checkpoint_sha256 = choice.sha256;
  info.transform = config.transform_name();
  info.positions = config.positions_name();
  info.num_parameters = num_parameters(config);
  info.vocab_size = config.vocab_size;
  info.input = config.item_classes > 0 ? TaskInput::kItems : TaskInput::kTokens;
  info.max_positions = config.max_positions;
  info.rows_depend_on_length = config.rows_depend_on_length();
  info.train_length = checkpoint.origin().train_length;
  return info;
}

MemoryForecast forecast_memory(const ModelChoice& choice, const std::string& dtype, int ranks) {
  if (!choice.is_checkpoint()) return [](std::int64_t, std::int64_t, std::int64_t) { return std::int64_t{0}; };
  const std::int64_t element_bytes = dtype == "float64" ? 8 : 4;
  const Checkpoint checkpoint = Checkpoint::open(choice.path);
  return [config = checkpoint.config(), weights = converted_bytes(checkpoint, element_bytes), element_bytes, ranks](
             std::int64_t samples, std::int64_t tokens, std::int64_t judged) {
    return predicted_evaluation_bytes(config, element_bytes, samples, tokens, judged, ranks) + weights;
  };
}

OpenModel open_model(const ModelChoice& choice, const OpenOptions& options) {
  OpenModel model;
  for (const auto& [flag, value] : {std::pair{"--transform", options.transform}, std::pair{"--alpha", options.alpha},
                                    std::pair{"--rope-scaling", options.rope_scaling}}) {
    if (!choice.path.empty() || value.empty()) continue;
    throw Error(std::string(flag) + " is '" + value + "', but '" + choice.text + "' is a " +
                (choice.is_double ? "double" : "program") + " without attention to change");
  }
  if (choice.program != nullptr) {
    choice.program->start();
    model.predictor = choice.program;
    return model;
  }
  if (choice.is_double) {
    model.predictor = make_double(choice.text);
    return model;
  }
  model.backend = load_backend();
  model.torch_version = model.backend->torch_version();
  model.predictor = model.backend->open(choice.path, options);
  return model;
}

}  // namespace lenbench::cli
