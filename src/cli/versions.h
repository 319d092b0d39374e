// What `lenbench --version` prints.
#pragma once

#include <string>

namespace lenbench::cli {

// "lenbench 0.1.0 (commit abc)\n"; with `verbose` a line for each library, LibTorch included when it can be loaded.
std::string version_text(bool verbose);

}  // namespace lenbench::cli
