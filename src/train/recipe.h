// What `lenbench train` does, as data: model, initial values, optimizer, lengths, tasks. One JSON file per recipe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lenbench {

// One source of training samples. A batch is drawn from one source, chosen with probability proportional to `weight`
// among those with from <= step/steps < until.
struct RecipeSource {
  std::string task;  // NAME[:k=v,...]
  double weight = 1;
  double from = 0, until = 1;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("task", self.task);
    visit.defaulted("weight", self.weight);
    visit.defaulted("from", self.from);
    visit.defaulted("until", self.until);
  }
};

// Nominal length of a batch: uniform in [low, top], where top grows linearly from `grow_from` to `high` during the
// first `grow_until` of the steps.
struct RecipeLengths {
  std::int64_t low = 16, high = 64, grow_from = 16;
  double grow_until = 0.3;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("low", self.low);
    visit.defaulted("high", self.high);
    visit.defaulted("grow_from", self.grow_from);
    visit.defaulted("grow_until", self.grow_until);
  }
};

// AdamW with linear warm-up and a cosine to `final_fraction` of the peak; gradients clipped by their global norm.
struct RecipeOptimizer {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8, weight_decay = 0.0, clip_norm = 1.0;
  double final_fraction = 0.0;
  std::int64_t warmup_steps = 300;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("learning_rate", self.learning_rate);
    visit.defaulted("beta1", self.beta1);
    visit.defaulted("beta2", self.beta2);
    visit.defaulted("epsilon", self.epsilon);
    visit.defaulted("weight_decay", self.weight_decay);
    visit.defaulted("clip_norm", self.clip_norm);
    visit.defaulted("final_fraction", self.final_fraction);
    visit.defaulted("warmup_steps", self.warmup_steps);
  }
};

// How the weights start. "default": uniform in +-1/sqrt(fan in); "normal": N(0, linear_std), as Hugging Face does.
struct RecipeInit {
  std::string linear = "default";
  double linear_std = 0.02;
  double embedding_std = 0.02;              // before the decoder's factor sqrt(hidden size)
  double scaler_std = 0.02;                 // weights of ASEntmax's scaler projections
  double scaler_beta = 0.6931471805599453;  // ASEntmax's beta at the start (the reference: ln 2)

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("linear", self.linear);
    visit.defaulted("linear_std", self.linear_std);
    visit.defaulted("embedding_std", self.embedding_std);
    visit.defaulted("scaler_std", self.scaler_std);
    visit.defaulted("scaler_beta", self.scaler_beta);
  }
};

// Leaving a loss plateau is a matter of seed. When accuracy on the training length is below `min_accuracy` at
// `at_step` (0: never), or the loss is not finite, the run starts over with the next seed, at most `max_seeds` in all;
// the log and origin.json keep the count. Attempt i has the peak learning rate i (modulo their number) of
// `learning_rates`, so that recipes of one base give every method the same search; empty: the optimizer's throughout.
struct RecipeRestart {
  std::int64_t at_step = 0;
  double min_accuracy = 0;
  std::int64_t max_seeds = 1;
  std::vector<double> learning_rates;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("at_step", self.at_step);
    visit.defaulted("min_accuracy", self.min_accuracy);
    visit.defaulted("max_seeds", self.max_seeds);
    visit.sparse("learning_rates", self.learning_rates);
  }
};

// Measured on the validation split of `task` at `length`, the training length: never on longer ones.
struct RecipeValidation {
  std::string task;                    // NAME[:k=v,...]; empty: the first source
  std::vector<std::string> documents;  // text held out of training; empty: the recipe's documents
  std::int64_t length = 64, samples = 256, every_steps = 500;

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("task", self.task);
    visit.defaulted("documents", self.documents);
    visit.defaulted("length", self.length);
    visit.defaulted("samples", self.samples);
    visit.defaulted("every_steps", self.every_steps);
  }
};

struct Recipe {
  std::string name;    // of the checkpoint
  std::string method;  // as tables show it, e.g. "asentmax"
  std::uint64_t seed = 1;
  std::int64_t steps = 0, batch = 64;
  std::vector<std::string> documents;  // UTF-8 files for text tasks, relative to the recipe's folder
  std::string model;  // JSON text of a config.json (checkpoint/config.h); vocab_size comes from the task
  RecipeInit init;
  RecipeOptimizer optimizer;
  RecipeLengths lengths;
  std::vector<RecipeSource> sources;
  RecipeRestart restart;
  RecipeValidation validation;
  std::int64_t log_every_steps = 50, save_every_steps = 500;
  std::string save_dtype = "float32";  // of the finished checkpoint: "float32", "float16" or "bfloat16"

  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("name", self.name);
    visit("method", self.method);
    visit.defaulted("seed", self.seed);
    visit("steps", self.steps);
    visit.defaulted("batch", self.batch);
    visit.defaulted("documents", self.documents);
    visit.defaulted("init", self.init);
    visit.defaulted("optimizer", self.optimizer);
    visit.defaulted("lengths", self.lengths);
    visit("sources", self.sources);
    visit.defaulted("restart", self.restart);
    visit.defaulted("validation", self.validation);
    visit.defaulted("log_every_steps", self.log_every_steps);
    visit.defaulted("save_every_steps", self.save_every_steps);
    visit.defaulted("save_dtype", self.save_dtype);
  }
};

// Reads a recipe; "model" is an object. `"base": "other.json"` (relative to the file) is read first and changed by this
// file as a JSON merge patch (RFC 7396). Strict: unknown keys, wrong types and values out of range are Errors naming
// the key.
Recipe read_recipe(const std::string& path);

// The resolved recipe as JSON, every field present but an empty list of learning rates.
nlohmann::ordered_json recipe_json(const Recipe& recipe);

// Peak learning rate of an attempt, 1-based.
double peak_learning_rate(const Recipe& recipe, std::int64_t attempt);
// Learning rate of an attempt at a step, 0-based.
double learning_rate_at(const Recipe& recipe, std::int64_t step, std::int64_t attempt = 1);
// Largest nominal length at a step.
std::int64_t top_length_at(const Recipe& recipe, std::int64_t step);

}  // namespace lenbench
