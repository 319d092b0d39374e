// Where the program finds itself, its data and the checkpoints that come with it.
#include "cli/paths.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/names.h"

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

const char* chosen_data() {
  const char* chosen = std::getenv("LENBENCH_DATA");
  return chosen != nullptr && chosen[0] != '\0' ? chosen : nullptr;
}

}  // namespace

fs::path executable_folder() {
  std::error_code failure;
  const fs::path self = fs::read_symlink("/proc/self/exe", failure);
  return failure ? fs::current_path() : self.parent_path();
}

fs::path data_folder() {
  std::error_code ignored;
  if (const char* chosen = chosen_data(); chosen != nullptr) {
    if (!fs::is_directory(chosen, ignored)) {
      throw Error("LENBENCH_DATA is '" + std::string(chosen) +
                  "', which is no folder; unset it or name the folder that holds checkpoints/");
    }
    return chosen;
  }
  const fs::path installed = (executable_folder() / ".." / "share" / "lenbench").lexically_normal();
  if (fs::is_directory(installed, ignored)) return installed;
  const fs::path source = fs::path(LENBENCH_SOURCE_ROOT) / "results";
  if (fs::is_directory(source, ignored)) return source;
  throw Error("no data folder: neither '" + installed.string() + "' nor '" + source.string() +
              "' exists; set LENBENCH_DATA to the folder that holds checkpoints/");
}

std::vector<std::string> bundled_checkpoints() {
  std::vector<std::string> names;
  fs::path folder;
  try {
    folder = data_folder() / "checkpoints";
  } catch (const Error&) {
    // A program without its data still runs on paths and doubles; a folder that the user named must exist.
    if (chosen_data() != nullptr) throw;
    return names;
  }
  std::error_code failure;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    std::error_code ignored;
    if (fs::exists(it->path() / "config.json", ignored)) names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string find_checkpoint(const std::string& text, const std::vector<std::string>& also) {
  if (text.empty()) throw Error("the checkpoint's name is empty; give a folder, a bundled name or a double");
  std::error_code ignored;
  if (fs::exists(text, ignored)) return text;
  const std::vector<std::string> bundled = bundled_checkpoints();
  if (std::find(bundled.begin(), bundled.end(), text) != bundled.end()) {
    return (data_folder() / "checkpoints" / text).string();
  }
  std::vector<std::string> known = bundled;
  known.insert(known.end(), also.begin(), also.end());
  throw Error("no checkpoint '" + text + "': no such file or folder, bundled checkpoint or double" +
              did_you_mean(text, known) + "; see 'lenbench list checkpoints'");
}

}  // namespace lenbench::cli
