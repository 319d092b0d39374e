// One training from request to finished checkpoint, with its progress on standard error.
#pragma once

#include "bench/backend.h"
#include "cli/run_progress.h"

namespace lenbench::cli {

// The file of a recipe: `text` itself when it exists, else the bundled recipe of that name. Throws Error ("did you
// mean").
std::string find_recipe(const std::string& text);

// Returns false when a signal stopped it; its state is then saved in the output folder, and a note says so. Throws what
// Backend::train throws.
bool run_training(Backend& backend, const TrainOptions& options, ProgressStyle style);

}  // namespace lenbench::cli
