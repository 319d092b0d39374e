// `lenbench verify`: a checkpoint's logits against a dump of a reference implementation.
#include <fmt/core.h>

#include "base/error.h"
#include "cli/backend_loader.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/model_choice.h"
#include "cli/terminal.h"

namespace lenbench::cli {
namespace {

std::string statistic_text(const char* what, double difference, double tolerance) {
  if (difference < 0) return fmt::format("{} not compared: the file gives none\n", what);
  return fmt::format("largest {} difference {:.3e} (tolerance {:.1e})\n", what, difference, tolerance);
}

class Verify : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("CKPT", model_, "Checkpoint folder or file, or a bundled name");
    flags.positional("EXPECTED", expected_, "safetensors file with input_ids and logits");
    flags.value("--attention", attention_, "FILE", "Also compare entropy and support with this attention.json");
    flags.value("--device", device_, "NAME", "cpu, cuda or cuda:N");
    flags.value("--dtype", dtype_, "NAME", "float32, float64 or bfloat16; on CUDA also tf32");
    flags.value("--attention-path", path_, "NAME", "auto, reference or streaming");
    flags.value("--threads", threads_, "N", "CPU threads; 0: all");
    flags.value("--transform", transform_, "NAME", "Change the attention at inference, as `run` does");
    flags.value("--alpha", alpha_, "A", "Short for --transform entmax:alpha=A");
    flags.value("--rope-scaling", rope_scaling_, "NAME:k=v", "Change RoPE at inference, as `run` does");
  }

  int run(const Parsed& parsed) override {
    require_values(parsed, {{"--transform", transform_}, {"--alpha", alpha_}, {"--rope-scaling", rope_scaling_}});
    OpenOptions options;
    require_one_of(path_, "--attention-path", {"auto", "reference", "streaming"});
    options.device = parse_device(device_);
    options.dtype = parse_dtype(dtype_, device_);
    options.attention_path = path_;
    options.transform = transform_;
    options.alpha = alpha_;
    options.rope_scaling = rope_scaling_;
    options.threads = parse_threads(threads_);
    const std::string path = choose_checkpoint(model_, "logits");
    const VerifyResult result = load_backend()->verify(path, expected_, attention_, options);
    std::string text = fmt::format(
        "largest logit difference {:.3e} (tolerance {:.1e}) at row {}, position {}, token {}\n",
        result.max_abs_logit_difference, result.tolerance, result.worst_row, result.worst_position, result.worst_token);
    if (!attention_.empty()) {
      text += statistic_text("entropy", result.max_entropy_difference, result.entropy_tolerance);
      text += statistic_text("support", result.max_support_difference, result.support_tolerance);
    }
    text += result.passed() ? "ok\n" : "differs\n";
    print_out(text);
    return static_cast<int>(result.passed() ? ExitCode::kOk : ExitCode::kWorse);
  }

 private:
  std::string model_, expected_, attention_, device_ = "cpu", dtype_ = "float32", path_ = "auto", threads_ = "0";
  std::string transform_, alpha_, rope_scaling_;
};

}  // namespace

CommandEntry verify_command() {
  return {"verify", "Compare a checkpoint's logits with a reference dump; exit 1 when they differ",
          "lenbench verify model/ model/expected.safetensors\n"
          "lenbench verify model/ model/expected.safetensors --attention model/attention.json",
          [] { return std::unique_ptr<Command>(std::make_unique<Verify>()); }, "checkpoints"};
}

}  // namespace lenbench::cli
