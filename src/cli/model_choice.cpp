// The model of a command line: a double, or a checkpoint by path or bundled name.
#include "cli/model_choice.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "bench/doubles.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/inference_change.h"
#include "checkpoint/memory.h"
#include "cli/backend_loader.h"
#include "cli/paths.h"
#include "cli/terminal.h"

namespace lenbench::cli {

ModelChoice choose_model(const std::string& text) {
  ModelChoice choice;
  choice.text = text;
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
  choice.sha256 = Checkpoint::open(choice.path).sha256();
  return choice;
}

PredictorInfo describe_unloaded(const ModelChoice& choice, const OpenOptions& options) {
  if (choice.is_double) return make_double(choice.text)->info();
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
  info.max_positions = config.max_positions;
  info.rows_depend_on_length = config.rows_depend_on_length();
  info.input = config.item_classes > 0 ? TaskInput::kItems : TaskInput::kTokens;
  info.train_length = checkpoint.origin().train_length;
  return info;
}

MemoryForecast forecast_memory(const ModelChoice& choice, const std::string& dtype) {
  if (choice.is_double) return [](std::int64_t, std::int64_t, std::int64_t) { return std::int64_t{0}; };
  const std::int64_t element_bytes = dtype == "float64" ? 8 : 4;
  const Checkpoint checkpoint = Checkpoint::open(choice.path);
  return [config = checkpoint.config(), weights = converted_bytes(checkpoint, element_bytes), element_bytes](
             std::int64_t samples, std::int64_t tokens, std::int64_t judged) {
    return predicted_evaluation_bytes(config, element_bytes, samples, tokens, judged) + weights;
  };
}

OpenModel open_model(const ModelChoice& choice, const OpenOptions& options) {
  OpenModel model;
  if (choice.is_double) {
    for (const auto& [flag, value] : {std::pair{"--transform", options.transform}, std::pair{"--alpha", options.alpha},
                                      std::pair{"--rope-scaling", options.rope_scaling}}) {
      if (value.empty()) continue;
      throw Error(std::string(flag) + " is '" + value + "', but '" + choice.text + "' is a double without attention");
    }
    model.predictor = make_double(choice.text);
    return model;
  }
  model.backend = load_backend();
  model.torch_version = model.backend->torch_version();
  model.predictor = model.backend->open(choice.path, options);
  return model;
}

}  // namespace lenbench::cli
