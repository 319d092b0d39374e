// Opens the part of the program that needs LibTorch, only when a command asks for it.
#pragma once

#include <memory>

#include "bench/backend.h"

namespace lenbench::cli {

// The backend of liblenbench_nn.so, looked for at $LENBENCH_NN_LIBRARY, beside the program and in ../lib. The library
// stays open until the process ends. Throws Error when it is missing, cannot be loaded, or is of another build.
std::unique_ptr<Backend> load_backend();

}  // namespace lenbench::cli
