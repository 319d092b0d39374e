// `lenbench train`: a checkpoint from a recipe.
#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "cli/backend_loader.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "cli/terminal.h"

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

struct Interrupted {};

std::string find_recipe(const std::string& text) {
  std::error_code ignored;
  if (fs::exists(text, ignored)) return text;
  const fs::path folder = data_folder() / "recipes";
  if (fs::exists(folder / (text + ".json"), ignored)) return (folder / (text + ".json")).string();
  std::vector<std::string> known;
  std::error_code failure;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (it->path().extension() == ".json") known.push_back(it->path().stem().string());
  }
  throw Error("no recipe '" + text + "': no such file, and not one of " + folder.string() + did_you_mean(text, known));
}

std::string progress_text(const TrainProgress& now) {
  std::string text = fmt::format("step {}/{}, loss {:.4f}, accuracy {:.1f} %, learning rate {:.2e}", now.step,
                                 now.num_steps, now.loss, 100 * now.train_accuracy, now.learning_rate);
  const std::string left = format_duration(now.seconds_left);
  if (!left.empty()) text += ", " + left + " left";
  return text;
}

class Train : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("RECIPE", recipe_, "Recipe file, or the name of a bundled one");
    flags.value("-o,--output", output_, "DIR", "Folder of the checkpoint; an unfinished training there resumes", true);
    flags.value("--seed", seed_, "N", "Seed in place of the recipe's; the checkpoint is then named NAME-seedN");
    flags.value("--threads", threads_, "N", "CPU threads; 0: all");
    flags.flag("--overwrite", overwrite_, "Replace a checkpoint that is already in DIR");
  }

  int run(const Parsed& parsed) override {
    TrainOptions options;
    options.recipe_path = find_recipe(recipe_);
    options.output_dir = output_;
    options.threads = static_cast<int>(std::min<std::int64_t>(parse_at_least(threads_, "--threads", 0), 4096));
    options.overwrite = overwrite_;
    if (parsed.has("--seed")) options.seed = parse_uint(seed_, "--seed");
    const std::unique_ptr<Backend> backend = load_backend();
    const std::atomic<bool>* stop = watch_interrupts();
    ProgressLine line;
    auto last_line = std::chrono::steady_clock::now() - std::chrono::hours(1);
    const auto progress = [&](const TrainProgress& now) {
      const auto time = std::chrono::steady_clock::now();
      line.show(progress_text(now));
      if (!stderr_is_terminal() && (time - last_line > std::chrono::seconds(10) || now.step == now.num_steps)) {
        line.keep(progress_text(now));
        last_line = time;
      }
      if (*stop) throw Interrupted{};
    };
    try {
      backend->train(options, progress);
    } catch (const Interrupted&) {
      line.clear();
      print_note("stopped; the same command resumes from the state saved in '" + output_ + "'");
      return kInterruptedExit;
    }
    line.clear();
    print_out(output_ + "\n");
    return 0;
  }

 private:
  std::string recipe_, output_, threads_ = "0", seed_;
  bool overwrite_ = false;
};

}  // namespace

CommandEntry train_command() {
  return {"train", "Train a small model from a recipe",
          "lenbench train recall-asentmax-nape -o my-checkpoint\n"
          "lenbench train my-recipe.json -o my-checkpoint --threads 2",
          [] { return std::unique_ptr<Command>(std::make_unique<Train>()); }};
}

}  // namespace lenbench::cli
