// The training loop.
#include "train/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/build_info.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/numbers.h"
#include "checkpoint/checkpoint.h"
#include "model/decoder.h"
#include "model/weights.h"
#include "train/data.h"
#include "train/optimizer.h"
#include "train/recipe.h"
#include "train/state.h"

namespace lenbench {
namespace {

constexpr std::int64_t kValidationBatch = 64;

at::Tensor tensor_of(const std::vector<std::int64_t>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::memcpy(tensor.mutable_data_ptr(), values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

struct Judged {
  at::Tensor logits_NV;  // N judged rows
  at::Tensor targets_N;
};

Judged judge(const SequenceModel& model, const TrainBatch& batch) {
  const at::Tensor tokens_BT = tensor_of(batch.ids).view({batch.rows, batch.tokens});
  return {model.forward(tokens_BT, tensor_of(batch.scored_flat)), tensor_of(batch.targets)};
}

at::Tensor right_rows(const Judged& judged) { return judged.logits_NV.argmax(-1).eq(judged.targets_N); }

double accuracy(const Judged& judged) { return right_rows(judged).to(at::kDouble).mean().item<double>(); }

// On samples of the training length: shares of judged tokens, and of samples with every judged token, that are right,
// and nats per token.
struct Validation {
  double token_accuracy = 0, exact_match = 0, nats = 0;
};

Validation validate(const SequenceModel& model, const std::vector<Sample>& samples) {
  const c10::NoGradGuard no_grad;
  double right = 0, exact = 0, nats = 0, count = 0;
  for (std::size_t first = 0; first < samples.size(); first += kValidationBatch) {
    const std::size_t last = std::min(samples.size(), first + kValidationBatch);
    const Judged judged = judge(model, pack({samples.begin() + static_cast<std::ptrdiff_t>(first),
                                             samples.begin() + static_cast<std::ptrdiff_t>(last)}));
    const auto tokens = static_cast<double>(judged.targets_N.numel());
    const at::Tensor rows = right_rows(judged).contiguous();
    const bool* row = rows.const_data_ptr<bool>();
    for (std::size_t i = first; i < last; ++i) {
      const std::ptrdiff_t judged_rows = std::ssize(samples[i].scored);
      exact += std::all_of(row, row + judged_rows, [](bool is_right) { return is_right; }) ? 1 : 0;
      right += static_cast<double>(std::count(row, row + judged_rows, true));
      row += judged_rows;
    }
    nats += at::cross_entropy_loss(judged.logits_NV, judged.targets_N).item<double>() * tokens;
    count += tokens;
  }
  return {right / count, exact / static_cast<double>(samples.size()), nats / count};
}

InitOptions init_options(const RecipeInit& init) {
  InitOptions options;
  options.linear = init.linear == "normal" ? InitOptions::Linear::kNormal : InitOptions::Linear::kUniformFanIn;
  options.linear_std = init.linear_std;
  options.embedding_std = init.embedding_std;
  options.scaler_weight_std = init.scaler_std;
  options.scaler_beta = init.scaler_beta;
  return options;
}

Dtype save_dtype(const std::string& name) {
  if (name == "float16") return Dtype::kF16;
  return name == "bfloat16" ? Dtype::kBF16 : Dtype::kF32;
}

class Trainer {
 public:
  Trainer(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress)
      : options_(options),
        progress_(progress),
        recipe_(read_recipe(options.recipe_path)),
        checkpoint_name_(recipe_.name),
        tasks_(recipe_, std::filesystem::path(options.recipe_path).parent_path().string()),
        validation_(tasks_.validation_samples()) {
    if (options.seed && *options.seed != recipe_.seed) {
      recipe_.seed = *options.seed;
      checkpoint_name_ = seeded_name(recipe_.name, recipe_.seed);
    }
    nlohmann::ordered_json model = parse_json(recipe_.model, options.recipe_path);
    model["vocab_size"] = tasks_.vocab_size();
    const SpecialTokens& specials = tasks_.specials();
    for (const auto& [key, id] : {std::pair{"bos_token_id", specials.bos}, std::pair{"eos_token_id", specials.eos},
                                  std::pair{"pad_token_id", specials.pad}}) {
      if (id >= 0) model[key] = id;
    }
    config_ = parse_config(dump_json(model), options.recipe_path + ": model");
    const bool items = tasks_.validation().info().input == TaskInput::kItems;
    if (items != (config_.item_classes > 0)) {
      throw Error(options.recipe_path + ": model: " +
                  (items ? tasks_.validation_task() +
                               " needs a model of sets: {\"lenbench\": {\"item_classes\": 10}}, one layer, no positions"
                         : "lenbench.item_classes makes a model of sets, and " + tasks_.validation_task() +
                               " asks about tokens; leave it out"));
    }
    position_.seed = recipe_.seed;
    position_.recipe_sha256 = sha256_hex(dump_json(recipe_json(recipe_)) + tasks_.documents_sha256());
  }

  void run() {
    if (!prepare_folder()) return;
    at::globalContext().setFlushDenormal(true);
    if (options_.threads > 0) at::set_num_threads(options_.threads);
    resume_or_start();
    while (!run_attempt()) {
      position_.step = 0;
      ++position_.seed;
      ++position_.attempts;
      start_attempt();
    }
  }

 private:
  const std::string& folder() const { return options_.output_dir; }

  // False when the folder already holds the finished result of this recipe.
  bool prepare_folder() {
    std::error_code failure;
    std::filesystem::create_directories(folder(), failure);
    if (failure) throw Error(folder() + ": cannot be made: " + failure.message() + "; choose another -o");
    const bool finished = std::filesystem::exists(folder() + "/model.safetensors");
    if (options_.overwrite || (!finished && !peek_train_state(folder()))) return true;
    if (const auto state = peek_train_state(folder())) {
      if (state->recipe_sha256 == position_.recipe_sha256) return true;
      throw Error(folder() +
                  ": holds the unfinished run of another recipe (or of an edited one): use --overwrite to start "
                  "over, or another -o");
    }
    const std::string origin_path = folder() + "/origin.json";
    if (std::filesystem::exists(origin_path)) {
      const Origin origin = parse_origin(read_file(origin_path), origin_path);
      const auto recorded = origin.facts.find("recipe_sha256");
      if (recorded != origin.facts.end() && recorded->second == position_.recipe_sha256) return false;
    }
    throw Error(folder() + ": already holds another checkpoint: use --overwrite to replace it, or another -o");
  }

  void resume_or_start() {
    if (!options_.overwrite && peek_train_state(folder())) {
      start_attempt_weights();
      std::map<std::string, at::Tensor> tensors = optimizer_->state();
      position_ = load_train_state(folder(), tensors);
      optimizer_->set_updates(position_.step);
      log_.emplace(folder(), position_.step);
      return;
    }
    remove_train_state(folder());
    log_.emplace(folder(), -1);
    start_attempt();
  }

  void start_attempt_weights() {
    model_ = make_model(config_, initial_parameters(config_, position_.seed, init_options(recipe_.init)));
    for (const auto& [name, parameter] : model_->parameters()) parameter.set_requires_grad(true);
    optimizer_.emplace(model_->parameters(), recipe_.optimizer);
  }

  void start_attempt() {
    start_attempt_weights();
    log_->append({{"event", "start"},
                  {"step", 0},
                  {"seed", position_.seed},
                  {"attempt", position_.attempts},
                  {"recipe", recipe_.name},
                  {"recipe_sha256", position_.recipe_sha256},
                  {"lenbench", std::string(version())},
                  {"commit", std::string(commit())},
                  {"parameters", num_parameters(config_)}});
  }

  // True when the run is over; false when the seed did not leave the plateau and another is to be tried.
  bool run_attempt() {
    BatchQueue queue(tasks_, position_.seed, position_.step, recipe_.steps);
    const auto started = std::chrono::steady_clock::now();
    const double seconds_before = position_.seconds;
    const std::int64_t first_step = position_.step;
    while (position_.step < recipe_.steps) {
      if (!train_step(queue.next())) return false;
      const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      position_.seconds = seconds_before + elapsed;
      report_or_save(elapsed / static_cast<double>(position_.step - first_step));
      const bool last = position_.step == recipe_.steps;
      if (position_.step % recipe_.validation.every_steps == 0 || last || position_.step == recipe_.restart.at_step) {
        last_validation_ = validate(*model_, validation_);
        const double right = last_validation_.token_accuracy;
        log_->append({{"step", position_.step},
                      {"validation_accuracy", right},
                      {"validation_exact", last_validation_.exact_match},
                      {"validation_loss", last_validation_.nats},
                      {"validation_length", recipe_.validation.length}});
        if (position_.step == recipe_.restart.at_step && right < recipe_.restart.min_accuracy && may_restart()) {
          log_->append({{"event", "restart"},
                        {"step", position_.step},
                        {"seed", position_.seed},
                        {"reason", "plateau"},
                        {"validation_accuracy", right}});
          return false;
        }
      }
      if (position_.step % recipe_.save_every_steps == 0 && !last) save_state();
      if (options_.stop_after_steps > 0 && position_.step >= options_.stop_after_steps) return true;
    }
    finish();
    return true;
  }

  bool may_restart() const { return position_.attempts < recipe_.restart.max_seeds; }

  // False when loss or gradient was not finite and another attempt is to be made; throws when there is none left.
  bool train_step(const TrainBatch& batch) {
    const double learning_rate = learning_rate_at(recipe_, batch.step, position_.attempts);
    const Judged judged = judge(*model_, batch);
    const at::Tensor loss = at::cross_entropy_loss(judged.logits_NV, judged.targets_N);
    loss.backward();
    const double norm = optimizer_->gradient_norm();
    loss_ = loss.item<double>();
    if (!std::isfinite(loss_) || !std::isfinite(norm)) {
      const std::string what = std::isfinite(loss_) ? "gradient" : "loss";
      if (may_restart()) {
        log_->append({{"event", "restart"},
                      {"step", batch.step},
                      {"seed", position_.seed},
                      {"reason", what + " not finite"},
                      {"learning_rate", learning_rate}});
        return false;
      }
      throw Error(
          "training " + recipe_.name + ": the " + what + " is not finite at step " + std::to_string(batch.step) +
              " (seed " + std::to_string(position_.seed) + ", learning rate " + format_real(learning_rate) +
              "): lower optimizer.learning_rate or lengthen warmup_steps; the last good state is kept in " + folder(),
          ExitCode::kNotMeasured);
    }
    optimizer_->step(learning_rate, norm);
    ++position_.step;
    if (position_.step % recipe_.log_every_steps == 0 || position_.step == recipe_.steps || position_.step == 1) {
      train_accuracy_ = accuracy(judged);
      log_->append({{"step", position_.step},
                    {"loss", loss_},
                    {"accuracy", train_accuracy_},
                    {"learning_rate", learning_rate},
                    {"gradient_norm", norm},
                    {"tokens", batch.tokens},
                    {"seconds", position_.seconds}});
    }
    return true;
  }

  // An interrupt arrives as an exception of the progress callback: the step is done, so its state is worth keeping.
  void report_or_save(double seconds_per_step) const {
    try {
      report(seconds_per_step);
    } catch (...) {
      save_state();
      throw;
    }
  }

  void report(double seconds_per_step) const {
    TrainProgress progress;
    progress.step = position_.step;
    progress.num_steps = recipe_.steps;
    progress.loss = loss_;
    progress.train_accuracy = train_accuracy_;
    progress.learning_rate = learning_rate_at(recipe_, position_.step - 1, position_.attempts);
    progress.seconds_left = seconds_per_step * static_cast<double>(recipe_.steps - position_.step);
    progress_(progress);
  }

  void save_state() const { save_train_state(folder(), position_, optimizer_->state()); }

  void finish() {
    Origin origin;
    origin.name = checkpoint_name_;
    origin.train_length = recipe_.lengths.high;
    origin.recipe = recipe_.name;
    origin.seed = position_.seed;
    origin.facts = {{"method", recipe_.method},
                    {"recipe_sha256", position_.recipe_sha256},
                    {"steps", std::to_string(recipe_.steps)},
                    {"seeds_tried", std::to_string(position_.attempts)},
                    {"learning_rate", format_real(peak_learning_rate(recipe_, position_.attempts))},
                    {"validation_accuracy", format_real(last_validation_.token_accuracy)},
                    {"validation_exact", format_real(last_validation_.exact_match)},
                    {"validation_task", tasks_.validation_task()},
                    {"validation_length", std::to_string(recipe_.validation.length)},
                    {"lenbench", std::string(version())},
                    {"commit", std::string(commit())}};
    save_checkpoint(folder(), *model_, origin, save_dtype(recipe_.save_dtype));
    log_->append({{"event", "end"},
                  {"step", position_.step},
                  {"seed", position_.seed},
                  {"validation_accuracy", last_validation_.token_accuracy},
                  {"validation_exact", last_validation_.exact_match},
                  {"seconds", position_.seconds}});
    remove_train_state(folder());
  }

  TrainOptions options_;
  std::function<void(const TrainProgress&)> progress_;
  Recipe recipe_;
  std::string checkpoint_name_;
  TrainTasks tasks_;
  std::vector<Sample> validation_;
  DecoderConfig config_;
  TrainPosition position_;
  std::unique_ptr<SequenceModel> model_;
  std::optional<AdamW> optimizer_;
  std::optional<TrainLog> log_;
  double loss_ = 0, train_accuracy_ = 0;
  Validation last_validation_;
};

}  // namespace

void train_recipe(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress) {
  Trainer(options, progress).run();
}

}  // namespace lenbench
