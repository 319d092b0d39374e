// `lenbench inspect`: what a checkpoint is, from its files alone.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/exec_flags.h"
#include "cli/flag_set.h"
#include "cli/paths.h"
#include "cli/terminal.h"

namespace lenbench::cli {
namespace {

class Inspect : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("CKPT", model_, "Checkpoint folder or file, bundled name, or 'exec:COMMAND'");
    flags.flag("--json", json_, "One line of JSON");
    exec_.define(flags);
  }

  int run(const Parsed& parsed) override {
    const ExecLimits limits = exec_.read(parsed, model_, {});
    if (is_exec(model_)) {
      ExecModel program(model_, limits);
      program.start();
      print_out(json_ ? program_json(program) : program_text(program));
      return 0;
    }
    const Checkpoint checkpoint = Checkpoint::open(find_checkpoint(model_, {}));
    checkpoint.check_finite();
    print_out(json_ ? as_json(checkpoint) : as_text(checkpoint));
    return 0;
  }

 private:
  static std::string as_json(const Checkpoint& checkpoint) {
    const DecoderConfig& config = checkpoint.config();
    nlohmann::ordered_json out;
    out["name"] = checkpoint.name();
    out["sha256"] = checkpoint.sha256();
    out["transform"] = config.transform_name();
    out["positions"] = config.positions;
    out["num_parameters"] = num_parameters(config);
    out["train_length"] = checkpoint.origin().train_length;
    out["slopes"] = alibi_slopes(config);
    out["config"] = config_to_json(config);
    nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
    for (const auto& [name, view] : checkpoint.tensors()) {
      tensors.push_back({{"name", name}, {"dtype", dtype_name(view.dtype)}, {"shape", view.shape}});
    }
    out["tensors"] = std::move(tensors);
    return dump_json(out) + "\n";
  }

  static std::string as_text(const Checkpoint& checkpoint) {
    const DecoderConfig& config = checkpoint.config();
    const Origin& origin = checkpoint.origin();
    std::string text = fmt::format("{}\nsha256 {}\n", checkpoint.name(), checkpoint.sha256());
    text += fmt::format("transform {}, positions {}\n", config.transform_name(), config.positions);
    text += fmt::format("{} layers, {} heads ({} key/value) of {}, width {}, MLP {}, vocabulary {}{}\n",
                        config.num_layers, config.num_heads, config.num_kv_heads, config.head_dim, config.hidden_size,
                        config.intermediate_size, config.vocab_size, config.tie_word_embeddings ? ", tied output" : "");
    text += fmt::format("{} parameters, weights in {} file{}\n", num_parameters(config),
                        checkpoint.files().weight_paths.size(), checkpoint.files().weight_paths.size() == 1 ? "" : "s");
    if (origin.train_length > 0) text += fmt::format("trained at up to {} tokens\n", origin.train_length);
    if (!origin.recipe.empty()) text += fmt::format("recipe {}, seed {}\n", origin.recipe, origin.seed);
    for (const auto& [name, value] : origin.facts) text += fmt::format("{}: {}\n", name, value);
    std::vector<std::string> slopes;
    for (const double slope : alibi_slopes(config)) slopes.push_back(format_real(slope));
    text += "slopes per head: " + join(slopes, " ") + "\n";
    text += "tensors:\n";
    for (const auto& [name, view] : checkpoint.tensors()) {
      text += fmt::format("  {} {} {}\n", name, dtype_name(view.dtype), shape_text(view.shape));
    }
    return text;
  }

  std::string model_;
  bool json_ = false;
  ExecFlags exec_;
};

}  // namespace

CommandEntry inspect_command() {
  return {"inspect", "Configuration, tensors, slopes and hash of a checkpoint, without loading it",
          "lenbench inspect recall-asentmax-nape\nlenbench inspect path/to/checkpoint --json\n"
          "lenbench inspect 'exec:python my_model.py'",
          [] { return std::unique_ptr<Command>(std::make_unique<Inspect>()); }};
}

}  // namespace lenbench::cli
