// `lenbench inspect`: what a checkpoint is, from its files alone; with --time also how long it takes.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/memory.h"
#include "checkpoint/warnings.h"
#include "cli/backend_loader.h"
#include "cli/command.h"
#include "cli/exec_flags.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/model_choice.h"
#include "cli/paths.h"
#include "cli/terminal.h"

namespace lenbench::cli {
namespace {

constexpr std::int64_t kTimedTokens = 256;

struct LengthForecast {
  std::int64_t tokens = 0;
  double operations = 0;   // of one sample with one judged row
  std::int64_t bytes = 0;  // above the model, float32
  double seconds = -1;     // of one sample; negative: not timed
};

// Seconds of attention and of all else for kTimedTokens tokens, measured on this machine.
struct Speed {
  double attention_seconds = 0, rest_seconds = 0;
};

Speed measured_speed(const std::string& path, const DecoderConfig& config, std::int64_t tokens) {
  Sample sample;
  for (std::int64_t t = 0; t < tokens; ++t) sample.tokens.push_back(static_cast<std::int32_t>(t % config.vocab_size));
  sample.scored.push_back({tokens - 1, 0, -1, false});
  const EndToEndTiming timing = load_backend()->time_model(path, sample, {}, 3, false);
  const double attention = timing.seconds.median * timing.attention_share;
  return {attention, timing.seconds.median - attention};
}

std::vector<LengthForecast> forecast(const Checkpoint& checkpoint, const std::string& path, bool with_time) {
  const DecoderConfig& config = checkpoint.config();
  std::vector<LengthForecast> forecasts;
  if (config.item_classes > 0) return forecasts;  // a model of sets, whose lengths are counted in items
  for (std::int64_t tokens : {64, 256, 1024, 4096, 16384, 65536}) {
    if (config.max_positions > 0 && tokens > config.max_positions) break;
    const Operations operations = evaluation_operations(config, tokens, 1);
    const std::int64_t bytes = predicted_evaluation_bytes(config, 4, 1, tokens, 1) + converted_bytes(checkpoint, 4);
    forecasts.push_back({tokens, operations.attention + operations.rest, bytes});
  }
  if (!with_time) return forecasts;
  const std::int64_t timed = config.max_positions > 0 ? std::min(kTimedTokens, config.max_positions) : kTimedTokens;
  const Speed speed = measured_speed(path, config, timed);
  const Operations unit = evaluation_operations(config, timed, 1);
  for (LengthForecast& one : forecasts) {
    const Operations operations = evaluation_operations(config, one.tokens, 1);
    one.seconds = speed.attention_seconds * operations.attention / unit.attention +
                  speed.rest_seconds * operations.rest / unit.rest;
  }
  return forecasts;
}

std::string window_text(const DecoderConfig& config) {
  std::vector<std::string> parts;
  for (const std::int64_t window : config.windows) parts.push_back(window == 0 ? "-" : std::to_string(window));
  return join(parts, " ") + " (by layer)";
}

class Inspect : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("CKPT", model_, "Checkpoint folder or file, bundled name, or 'exec:COMMAND'");
    flags.flag("--json", json_, "One line of JSON");
    flags.flag("--time", time_, "Also time a short text and say what longer ones will take; needs LibTorch");
    exec_.define(flags);
  }

  int run(const Parsed& parsed) override {
    const ExecLimits limits = exec_.read(parsed, model_, {"--time"});
    if (is_exec(model_)) {
      ExecModel program(model_, limits);
      program.start();
      print_out(json_ ? program_json(program) : program_text(program));
      return 0;
    }
    const std::string path = choose_checkpoint(model_, "configuration");
    const Checkpoint checkpoint = Checkpoint::open(path);
    checkpoint.check_finite();
    const std::vector<LengthForecast> forecasts = forecast(checkpoint, path, time_);
    print_out(json_ ? as_json(checkpoint, forecasts) : as_text(checkpoint, forecasts));
    return 0;
  }

 private:
  static std::string as_json(const Checkpoint& checkpoint, const std::vector<LengthForecast>& forecasts) {
    const DecoderConfig& config = checkpoint.config();
    const std::string& config_path = checkpoint.files().config_path;
    const std::vector<std::string> hashes = checkpoint.file_hashes();
    nlohmann::ordered_json out;
    out["name"] = checkpoint.name();
    out["sha256"] = Checkpoint::identity(hashes);
    out["family"] = config.family;
    out["transform"] = config.transform_name();
    out["positions"] = config.positions_name();
    out["num_parameters"] = num_parameters(config);
    out["stored_bytes"] = stored_bytes(checkpoint);
    out["stored_types"] = stored_types(checkpoint);
    out["train_length"] = checkpoint.origin().train_length;
    out["context"] = config.context;
    out["max_positions"] = config.max_positions;
    out["windows"] = config.windows;
    out["slopes"] = alibi_slopes(config);
    out["files"] = nlohmann::ordered_json::object();
    const std::vector<std::string> paths = hashed_files(checkpoint);
    for (std::size_t i = 0; i < paths.size(); ++i) out["files"][file_name(paths[i])] = hashes[i];
    out["warnings"] = checkpoint_warnings(checkpoint);
    nlohmann::ordered_json lengths = nlohmann::ordered_json::array();
    for (const LengthForecast& one : forecasts) {
      nlohmann::ordered_json row = {{"tokens", one.tokens}, {"operations", one.operations}, {"bytes", one.bytes}};
      if (one.seconds >= 0) row["seconds"] = one.seconds;
      lengths.push_back(std::move(row));
    }
    out["forecast"] = std::move(lengths);
    out["config"] = parse_json(read_file(config_path), printable(config_path));
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    for (const auto& [name, view] : checkpoint.tensors()) {
      tensors.push_back({{"name", name}, {"dtype", dtype_name(view.dtype)}, {"shape", view.shape}});
    }
    out["tensors"] = std::move(tensors);
    return dump_json(out) + "\n";
  }

  static std::string as_text(const Checkpoint& checkpoint, const std::vector<LengthForecast>& forecasts) {
    const DecoderConfig& config = checkpoint.config();
    const Origin& origin = checkpoint.origin();
    const std::vector<std::string> hashes = checkpoint.file_hashes(), paths = hashed_files(checkpoint);
    std::string text = fmt::format("{}\nsha256 {}\n", checkpoint.name(), Checkpoint::identity(hashes));
    for (std::size_t i = 0; i < paths.size(); ++i) {
      text += fmt::format("  {} {}\n", hashes[i], printable(file_name(paths[i])));
    }
    text += fmt::format("family {}, transform {}, positions {}\n", config.family, config.transform_name(),
                        config.positions_name());
    text += fmt::format("{} layers, {} heads ({} key/value) of {}, width {}, MLP {}, vocabulary {}{}\n",
                        config.num_layers, config.num_heads, config.num_kv_heads, config.head_dim, config.hidden_size,
                        config.intermediate_size, config.vocab_size, config.tie_word_embeddings ? ", tied output" : "");
    text += fmt::format("{} parameters, {} as {} in {} file{}\n", num_parameters(config),
                        format_bytes(stored_bytes(checkpoint)), stored_types(checkpoint),
                        checkpoint.files().weight_paths.size(), checkpoint.files().weight_paths.size() == 1 ? "" : "s");
    if (origin.train_length > 0) text += fmt::format("trained at up to {} tokens\n", origin.train_length);
    if (origin.train_length == 0) text += "training length not known\n";
    if (config.context > 0) text += fmt::format("made for {} tokens, says config.json\n", config.context);
    if (config.max_positions > 0) text += fmt::format("refuses more than {} tokens\n", config.max_positions);
    if (!config.windows.empty()) text += "sliding windows: " + window_text(config) + "\n";
    if (!origin.recipe.empty()) text += fmt::format("recipe {}, seed {}\n", origin.recipe, origin.seed);
    for (const auto& [name, value] : origin.facts) text += fmt::format("{}: {}\n", name, value);
    if (config.positions == "alibi" || config.positions == "nape") {
      std::vector<std::string> slopes;
      for (const double slope : alibi_slopes(config)) slopes.push_back(format_real(slope));
      text += "slopes per head: " + join(slopes, " ") + "\n";
    }
    for (const std::string& warning : checkpoint_warnings(checkpoint)) text += "warning: " + warning + "\n";
    if (!forecasts.empty()) text += "one sample, one answer, float32, above the model:\n";
    for (const LengthForecast& one : forecasts) {
      text += fmt::format("  {:>6} tokens {:>10} {:>12} operations{}\n", one.tokens, format_bytes(one.bytes),
                          fmt::format("{:.3g}", one.operations),
                          one.seconds < 0 ? "" : fmt::format(" {:>10.3g} s", one.seconds));
    }
    text += "tensors:\n";
    for (const auto& [name, view] : checkpoint.tensors()) {
      text += fmt::format("  {} {} {}\n", name, dtype_name(view.dtype), shape_text(view.shape));
    }
    return text;
  }

  // Those of Checkpoint::file_hashes, in its order.
  static std::vector<std::string> hashed_files(const Checkpoint& checkpoint) {
    std::vector<std::string> paths = {checkpoint.files().config_path};
    paths.insert(paths.end(), checkpoint.files().weight_paths.begin(), checkpoint.files().weight_paths.end());
    return paths;
  }
  static std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  std::string model_;
  bool json_ = false, time_ = false;
  ExecFlags exec_;
};

}  // namespace

CommandEntry inspect_command() {
  return {"inspect", "Family, sizes, tensors, hashes, forecasts and warnings of a checkpoint, without loading it",
          "lenbench inspect recall-asentmax-nape\nlenbench inspect path/to/checkpoint --json\n"
          "lenbench inspect path/to/llama --time\n"
          "lenbench inspect 'exec:python my_model.py'",
          [] { return std::unique_ptr<Command>(std::make_unique<Inspect>()); }, "checkpoints"};
}

}  // namespace lenbench::cli
