// Opens the part of the program that needs LibTorch, only when a command asks for it.
#include "cli/backend_loader.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/paths.h"

namespace lenbench::cli {
namespace {

constexpr const char* kLibraryName = "liblenbench_nn.so";

// An explicit choice is never replaced by a guess.
std::vector<std::string> candidates() {
  const char* chosen = std::getenv("LENBENCH_NN_LIBRARY");
  if (chosen != nullptr && chosen[0] != '\0') return {chosen};
  const std::filesystem::path home = executable_folder();
  return {(home / kLibraryName).string(), (home / ".." / "lib" / kLibraryName).lexically_normal().string()};
}

}  // namespace

std::unique_ptr<Backend> load_backend() {
  const std::vector<std::string> paths = candidates();
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const std::string reason = dlerror();
      if (reason.find("failed to map") != std::string::npos || reason.find("allocate memory") != std::string::npos) {
        throw Error("out of memory: cannot load '" + path + "': " + reason + "; free some memory or raise its limit",
                    ExitCode::kNotMeasured);
      }
      throw Error(
          "cannot load '" + path + "': " + reason +
          "; LibTorch 2.11 is missing or another one: install torch>=2.11,<2.12 beside an installed lenbench, or run "
          "tools/setup.sh and build again");
    }
    const auto open = reinterpret_cast<OpenBackend>(dlsym(library, kBackendSymbol));
    Backend* backend = open == nullptr ? nullptr : open(kBackendAbi);
    if (backend == nullptr) {
      throw Error("'" + path + "' belongs to another build of lenbench (wanted interface " +
                  std::to_string(kBackendAbi) + "); build again or unset LENBENCH_NN_LIBRARY");
    }
    return std::unique_ptr<Backend>(backend);
  }
  throw Error("this command needs " + std::string(kLibraryName) + ", which is at none of: " + join(paths, ", ") +
              "; build with -DLENBENCH_NN=ON or set LENBENCH_NN_LIBRARY");
}

}  // namespace lenbench::cli
