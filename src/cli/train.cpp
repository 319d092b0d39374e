// `lenbench train`: a checkpoint from a recipe.
#include "base/error.h"
#include "base/numbers.h"
#include "bench/answer_terms.h"
#include "cli/backend_loader.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/run_ranks.h"
#include "cli/terminal.h"
#include "cli/train_session.h"
#include "dist/meeting.h"

namespace lenbench::cli {
namespace {

class Train : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("RECIPE", recipe_, "Recipe file, or the name of a bundled one");
    flags.value("-o,--output", output_, "DIR", "Folder of the checkpoint; an unfinished training there resumes", true);
    flags.value("--seed", seed_, "N", "Seed in place of the recipe's; the checkpoint is then named NAME-seedN");
    flags.value("--device", device_, "NAME", "cpu, cuda or cuda:N");
    flags.value("--threads", threads_, "N", "CPU threads; 0: all");
    flags.value("--dtype", dtype_, "NAME", "float32 or float64");
    flags.value("--jobs", jobs_, "N", "Processes on this machine that share every batch; --threads is for all of them");
    flags.flag("--overwrite", overwrite_, "Replace a checkpoint that is already in DIR");
    flags.flag("--quiet", quiet_, "No progress and no notes on standard error");
    flags.flag("--json-progress", json_progress_, "Progress as JSON lines on standard error");
  }

  // What all ranks must have in common.
  static Terms terms_of(const TrainOptions& options) {
    return {program_term(),
            {"the recipe", options.recipe_path},
            {"--dtype", options.dtype},
            {"--seed", options.seed ? std::to_string(*options.seed) : ""}};
  }

  int run(const Parsed& parsed) override {
    const ProgressStyle style = choose_progress(quiet_, json_progress_);
    TrainOptions options;
    options.recipe_path = find_recipe(recipe_);
    options.output_dir = output_;
    options.device = parse_device(device_);
    options.overwrite = overwrite_;
    require_one_of(dtype_, "--dtype", {"float32", "float64"});
    options.dtype = dtype_;
    if (parsed.has("--seed")) options.seed = parse_uint(seed_, "--seed");
    RunRanks ranks(parse_jobs(jobs_));
    options.threads = ranks.threads(parse_threads(threads_));
    if (!ranks.leads()) silence_notes();
    ranks.start();
    const std::unique_ptr<Backend> backend = load_backend();
    std::unique_ptr<SharedStore> store;
    if (ranks.shared()) {
      store = ranks.connect(*backend);
      options.member = ranks.membership(*store);
    }
    const std::atomic<bool>* stop = watch_interrupts();
    bool finished = false;
    {
      const RankWatch watch(ranks.locals(), stop, what_is_kept(true));
      if (ranks.shared() && !meet(options.member, terms_of(options), {.stop = stop, .note = print_note})) {
        return kInterruptedExit;
      }
      finished = run_training(*backend, options, ranks.leads() ? style : ProgressStyle::kQuiet);
    }
    if (!finished) return kInterruptedExit;
    if (ranks.leads()) print_out(output_ + "\n");
    return 0;
  }

 private:
  std::string recipe_, output_, threads_ = "0", seed_, device_ = "cpu", dtype_ = "float32", jobs_ = "1";
  bool overwrite_ = false, quiet_ = false, json_progress_ = false;
};

}  // namespace

CommandEntry train_command() {
  return {"train", "Train a small model from a recipe",
          "lenbench train recall-asentmax-nape -o my-checkpoint\n"
          "lenbench train recall-asentmax-nape --seed 11 -o my-checkpoint-seed11\n"
          "lenbench train my-recipe.json -o my-checkpoint --threads 2\n"
          "lenbench train my-recipe.json -o my-checkpoint --jobs 4    # the same batches, shared by four processes\n"
          "torchrun --nproc-per-node 4 --no-python lenbench train my-recipe.json -o my-checkpoint",
          [] { return std::unique_ptr<Command>(std::make_unique<Train>()); }};
}

}  // namespace lenbench::cli
