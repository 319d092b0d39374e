// Reading, checking and scheduling of recipes.
#include "train/recipe.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/error.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"

namespace lenbench {
namespace {

constexpr int kMaxBases = 8;

nlohmann::ordered_json read_merged(const std::string& path, int depth) {
  nlohmann::ordered_json json = parse_json(read_file(path), path);
  if (!json.is_object()) throw Error(path + ": a recipe is a JSON object");
  const auto base = json.find("base");
  if (base == json.end()) return json;
  if (!base->is_string()) throw Error(path + ": base: expected the file name of a recipe");
  if (depth >= kMaxBases)
    throw Error(path + ": base: more than " + std::to_string(kMaxBases) + " recipes build on each other");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  nlohmann::ordered_json merged = read_merged((folder / base->get<std::string>()).string(), depth + 1);
  json.erase("base");
  merged.merge_patch(json);
  return merged;
}

// One line naming the key, what it must be and what it is.
void require(bool ok, const std::string& where, const std::string& key, const std::string& rule, double value) {
  if (ok) return;
  throw Error(where + ": " + key + " must be " + rule + ", not " + nlohmann::ordered_json(value).dump());
}

void check(const Recipe& recipe, const std::string& path) {
  const auto number = [&](bool ok, const char* key, const char* rule, auto value) {
    require(ok, path, key, rule, static_cast<double>(value));
  };
  number(recipe.steps >= 1, "steps", "at least 1", recipe.steps);
  number(recipe.batch >= 1, "batch", "at least 1", recipe.batch);
  number(recipe.log_every_steps >= 1, "log_every_steps", "at least 1", recipe.log_every_steps);
  number(recipe.save_every_steps >= 1, "save_every_steps", "at least 1", recipe.save_every_steps);
  const RecipeOptimizer& optimizer = recipe.optimizer;
  number(optimizer.learning_rate > 0, "optimizer.learning_rate", "above 0", optimizer.learning_rate);
  number(optimizer.beta1 >= 0 && optimizer.beta1 < 1, "optimizer.beta1", "in [0, 1)", optimizer.beta1);
  number(optimizer.beta2 >= 0 && optimizer.beta2 < 1, "optimizer.beta2", "in [0, 1)", optimizer.beta2);
  number(optimizer.epsilon > 0, "optimizer.epsilon", "above 0", optimizer.epsilon);
  number(optimizer.weight_decay >= 0, "optimizer.weight_decay", "at least 0", optimizer.weight_decay);
  number(optimizer.clip_norm > 0, "optimizer.clip_norm", "above 0", optimizer.clip_norm);
  number(optimizer.final_fraction >= 0 && optimizer.final_fraction <= 1, "optimizer.final_fraction", "in [0, 1]",
         optimizer.final_fraction);
  number(optimizer.warmup_steps >= 0, "optimizer.warmup_steps", "at least 0", optimizer.warmup_steps);
  const RecipeLengths& lengths = recipe.lengths;
  number(lengths.low >= 1, "lengths.low", "at least 1", lengths.low);
  number(lengths.high >= lengths.low, "lengths.high", "at least lengths.low", lengths.high);
  number(lengths.grow_from >= lengths.low && lengths.grow_from <= lengths.high, "lengths.grow_from",
         "between lengths.low and lengths.high", lengths.grow_from);
  number(lengths.grow_until >= 0 && lengths.grow_until <= 1, "lengths.grow_until", "in [0, 1]", lengths.grow_until);
  number(recipe.restart.at_step >= 0, "restart.at_step", "at least 0", recipe.restart.at_step);
  number(recipe.restart.max_seeds >= 1, "restart.max_seeds", "at least 1", recipe.restart.max_seeds);
  for (const double rate : recipe.restart.learning_rates) number(rate > 0, "restart.learning_rates", "above 0", rate);
  number(recipe.validation.samples >= 1, "validation.samples", "at least 1", recipe.validation.samples);
  number(recipe.validation.every_steps >= 1, "validation.every_steps", "at least 1", recipe.validation.every_steps);
  number(recipe.validation.length >= 1, "validation.length", "at least 1", recipe.validation.length);
  number(recipe.init.linear_std >= 0, "init.linear_std", "at least 0", recipe.init.linear_std);
  number(recipe.init.embedding_std >= 0, "init.embedding_std", "at least 0", recipe.init.embedding_std);
  number(recipe.init.scaler_std >= 0, "init.scaler_std", "at least 0", recipe.init.scaler_std);
  number(recipe.init.scaler_beta > 0, "init.scaler_beta", "above 0", recipe.init.scaler_beta);
  if (recipe.init.linear != "default" && recipe.init.linear != "normal") {
    throw Error(path + ": init.linear must be \"default\" or \"normal\", not \"" + recipe.init.linear + "\"");
  }
  if (recipe.save_dtype != "float32" && recipe.save_dtype != "float16" && recipe.save_dtype != "bfloat16") {
    throw Error(path + ": save_dtype must be \"float32\", \"float16\" or \"bfloat16\", not \"" + recipe.save_dtype +
                "\"");
  }
  if (recipe.sources.empty()) throw Error(path + ": sources is empty: name at least one task to train on");
  for (const RecipeSource& source : recipe.sources) {
    number(source.weight >= 0.001, "sources.weight", "at least 0.001", source.weight);
    number(source.from >= 0 && source.from < source.until && source.until <= 1, "sources.from", "in [0, until)",
           source.from);
  }
  // Every step needs a source. Coverage changes only where a source begins or ends.
  for (const RecipeSource& edge : recipe.sources) {
    for (const double progress : {0.0, edge.until}) {
      if (progress >= 1) continue;
      const bool covered = std::any_of(recipe.sources.begin(), recipe.sources.end(), [&](const RecipeSource& source) {
        return progress >= source.from && progress < source.until;
      });
      number(covered, "sources", "present at every step; none is active from this fraction of the steps on", progress);
    }
  }
}

}  // namespace

Recipe read_recipe(const std::string& path) {
  nlohmann::ordered_json json = read_merged(path, 0);
  Recipe recipe;
  const auto model = json.find("model");
  if (model == json.end() || !model->is_object()) {
    throw Error(path + ": model is missing: an object with the keys of a config.json");
  }
  recipe.model = dump_json(*model);
  json.erase("model");
  read_fields(json, recipe, path);
  check(recipe, path);
  return recipe;
}

nlohmann::ordered_json recipe_json(const Recipe& recipe) {
  nlohmann::ordered_json json = write_fields(recipe);
  json["model"] = parse_json(recipe.model, "model");
  return json;
}

double peak_learning_rate(const Recipe& recipe, std::int64_t attempt) {
  const std::vector<double>& rates = recipe.restart.learning_rates;
  if (rates.empty()) return recipe.optimizer.learning_rate;
  return rates[static_cast<std::size_t>(attempt - 1) % rates.size()];
}

double learning_rate_at(const Recipe& recipe, std::int64_t step, std::int64_t attempt) {
  const RecipeOptimizer& optimizer = recipe.optimizer;
  const double peak = peak_learning_rate(recipe, attempt);
  if (step < optimizer.warmup_steps) {
    return peak * static_cast<double>(step + 1) / static_cast<double>(optimizer.warmup_steps);
  }
  const auto span = static_cast<double>(std::max<std::int64_t>(1, recipe.steps - optimizer.warmup_steps));
  const double progress = static_cast<double>(step - optimizer.warmup_steps) / span;
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, progress)));
  return peak * (optimizer.final_fraction + (1 - optimizer.final_fraction) * cosine);
}

std::int64_t top_length_at(const Recipe& recipe, std::int64_t step) {
  const RecipeLengths& lengths = recipe.lengths;
  const double growth_steps = lengths.grow_until * static_cast<double>(recipe.steps);
  if (static_cast<double>(step) >= growth_steps) return lengths.high;
  const double progress = static_cast<double>(step) / growth_steps;
  return lengths.grow_from +
         static_cast<std::int64_t>(progress * static_cast<double>(lengths.high - lengths.grow_from));
}

}  // namespace lenbench
