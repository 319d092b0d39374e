// One training from request to finished checkpoint, with its progress on standard error.
#include "cli/train_session.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "cli/interrupt.h"
#include "cli/paths.h"
#include "cli/terminal.h"

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

std::string progress_text(const TrainProgress& now) {
  std::string text = fmt::format("step {}/{}, loss {:.4f}, accuracy {:.1f} %, learning rate {:.2e}", now.step,
                                 now.num_steps, now.loss, 100 * now.train_accuracy, now.learning_rate);
  const std::string left = format_duration(now.seconds_left);
  if (!left.empty()) text += ", " + left + " left";
  return text;
}

nlohmann::ordered_json progress_json(const TrainProgress& now) {
  nlohmann::ordered_json json = {{"event", "progress"},
                                 {"step", now.step},
                                 {"num_steps", now.num_steps},
                                 {"loss", now.loss},
                                 {"train_accuracy", now.train_accuracy},
                                 {"learning_rate", now.learning_rate}};
  json["seconds_left"] = now.seconds_left < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(now.seconds_left);
  return json;
}

}  // namespace

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

bool run_training(Backend& backend, const TrainOptions& options, ProgressStyle style) {
  const std::atomic<bool>* stop = watch_interrupts();
  const bool json = style == ProgressStyle::kJson;
  ProgressLine line;
  auto last_line = std::chrono::steady_clock::now() - std::chrono::hours(1);
  const auto progress = [&](const TrainProgress& now) {
    if (style == ProgressStyle::kQuiet) return;
    const auto time = std::chrono::steady_clock::now();
    const bool due = time - last_line > std::chrono::seconds(json ? 1 : 10) || now.step == now.num_steps;
    if (!json) line.show(progress_text(now));
    if (!due || (!json && stderr_is_terminal())) return;
    line.keep(json ? dump_json(progress_json(now)) : progress_text(now));
    last_line = time;
  };
  TrainOptions stoppable = options;
  stoppable.stop = stop;
  try {
    backend.train(stoppable, progress);
  } catch (const TrainingStopped&) {
    line.clear();
    print_note("stopped; the same command resumes from the state saved in '" + options.output_dir + "'");
    return false;
  }
  line.clear();
  return true;
}

}  // namespace lenbench::cli
