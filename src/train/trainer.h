// Runs a recipe: from nothing, or from where it stopped, to a checkpoint.
#pragma once

#include <functional>
#include <string>

#include "bench/backend.h"

namespace lenbench {

// Trains `options.recipe_path` into `options.output_dir` (config.json, model.safetensors, origin.json, train_log.jsonl;
// while it runs, train_state.safetensors). A killed run goes on from its last saved state, and ends with the same bytes
// as an undisturbed one (same number of threads, same machine). A finished folder of the same recipe is left as it is;
// one of another recipe is refused unless options.overwrite. Throws Error: exit code 2 for a recipe or folder that
// cannot be used, 3 for a non-finite loss or a failed write.
void train_recipe(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress);

}  // namespace lenbench
