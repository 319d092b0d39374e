// Finds training logs beside checkpoints, and what the models are.
#include "cli/training_logs.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "bench/backend.h"
#include "checkpoint/config.h"
#include "checkpoint/index.h"
#include "cli/paths.h"

namespace lenbench::cli {
namespace {

namespace fs = std::filesystem;

// Of a bundled training the log may be all that is kept.
fs::path find_training(const std::string& text) {
  std::error_code ignored;
  const std::vector<std::string> bundled = bundled_checkpoints();
  if (!fs::exists(text, ignored) && !bundled.empty()) {
    const fs::path kept = data_folder() / "checkpoints" / text;
    if (fs::exists(kept / kTrainingLogName, ignored)) return kept;
  }
  return find_checkpoint(text, {});
}

TrainingLog read_one(const std::string& text) {
  std::error_code ignored;
  fs::path path = find_training(text);
  if (fs::is_directory(path, ignored)) path /= kTrainingLogName;
  if (!fs::exists(path, ignored)) {
    throw Error(printable(text) + ": has no " + kTrainingLogName + "; 'lenbench train' writes one beside its model");
  }
  TrainingLog log = parse_training_log(read_regular_file(path.string()), printable(path.string()));
  // Only for the colour of its line: an unfinished training has no configuration yet.
  const fs::path config = path.parent_path() / "config.json";
  if (fs::exists(config, ignored)) {
    log.transform = parse_config(read_file(config.string()), printable(config.string())).transform_name();
  }
  return log;
}

}  // namespace

std::vector<TrainingLog> read_training_logs(const std::vector<std::string>& texts) {
  std::vector<TrainingLog> logs;
  for (const std::string& text : texts) logs.push_back(read_one(text));
  return logs;
}

}  // namespace lenbench::cli
