// Starts tools/render_figure.py with the specification on its standard input.
#include "cli/renderer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "cli/paths.h"

extern char** environ;

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

constexpr int kNoRenderer = 4;  // EXIT_NO_RENDERER of render_figure.py
constexpr int kNoProgram = 127;
constexpr const char* kAdvice =
    "run tools/setup.sh --figures, or name a Python that has vl-convert-python in LENBENCH_PYTHON, or write "
    "FILE.vl.json";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string python() {
  const std::string chosen = variable("LENBENCH_PYTHON");
  if (!chosen.empty()) return chosen;
  std::string cache = variable("LENBENCH_CACHE");
  if (cache.empty() && !variable("XDG_CACHE_HOME").empty()) cache = variable("XDG_CACHE_HOME") + "/lenbench";
  if (cache.empty() && !variable("HOME").empty()) cache = variable("HOME") + "/.cache/lenbench";
  const std::string made = cache + "/figures/bin/python";
  return !cache.empty() && access(made.c_str(), X_OK) == 0 ? made : "python3";
}

std::string script() {
  const fs::path installed =
      (executable_folder() / ".." / "share" / "lenbench" / "render_figure.py").lexically_normal();
  const fs::path source = fs::path(LENBENCH_SOURCE_ROOT) / "tools" / "render_figure.py";
  std::error_code ignored;
  for (const fs::path& path : {installed, source}) {
    if (fs::is_regular_file(path, ignored)) return path.string();
  }
  throw Error("the renderer is missing: neither '" + installed.string() + "' nor '" + source.string() + "' exists",
              ExitCode::kNotMeasured);
}

// The specification as an open file without a name: a pipe would block both sides when the script fails early.
int input_of(const std::string& text) {
  std::string name = (fs::temp_directory_path() / "lenbench-figure-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) throw Error("'" + name + "' cannot be created: " + std::strerror(errno), ExitCode::kNotMeasured);
  unlink(name.c_str());
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0) {
      close(file);
      throw Error("the temporary folder cannot be written: " + std::string(std::strerror(errno)),
                  ExitCode::kNotMeasured);
    }
    done += static_cast<std::size_t>(written);
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

int exit_code_of(const std::vector<std::string>& words, int input) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return kNoProgram;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

bool needs_renderer(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  return extension == ".svg" || extension == ".png" || extension == ".pdf" || extension == ".html";
}

void render_figure(const std::string& specification, const std::string& path) {
  const std::string interpreter = python(), program = script();
  const int input = input_of(specification);
  const int code = exit_code_of({interpreter, program, "-o", path}, input);
  close(input);
  if (code == kNoProgram) {
    throw Error("'" + path + "' needs Python, and '" + interpreter + "' does not start: " + kAdvice,
                ExitCode::kNotMeasured);
  }
  if (code == kNoRenderer) {
    throw Error("'" + path + "' needs vl-convert-python, which '" + interpreter + "' does not have: " + kAdvice,
                ExitCode::kNotMeasured);
  }
  if (code != 0) {
    throw Error("'" + path + "' was not drawn: render_figure.py ended with code " + std::to_string(code),
                ExitCode::kNotMeasured);
  }
}

}  // namespace lenbench::cli
