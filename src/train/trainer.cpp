// The training loop.
#include "train/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/Reduction.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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
#include "model/device.h"
#include "model/weights.h"
#include "train/data.h"
#include "train/optimizer.h"
#include "train/parallel.h"
#include "train/recipe.h"
#include "train/state.h"
#include "train/validation.h"

namespace lenbench {
namespace {

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
        parallel_(options.member),
        device_(open_device(options.device)),
        progress_(progress),
        recipe_(read_recipe(options.recipe_path)),
        checkpoint_name_(recipe_.name),
        tasks_(recipe_, std::filesystem::path(options.recipe_path).parent_path().string()),
        validation_(tasks_.validation_samples()) {
    if (options.dtype != "float32" && options.dtype != "float64") {
      throw Error("--dtype is '" + options.dtype + "'; train in float32 or float64");
    }
    if (options.dtype == "float64") dtype_ = at::kDouble;
    if (!device_.is_cpu() && parallel_.world() > 1) {
      throw Error("--device " + options.device + ": several ranks train on CPUs only; leave out --jobs and launchers");
    }
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
    if (config_.family != "lenbench") {
      throw Error(options.recipe_path + ": model: only lenbench's own family can be trained, not " + config_.family);
    }
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
    // Rank 0 alone reads and writes the folder; what it found there holds for all.
    std::vector<double> work = {0};
    if (parallel_.leads()) work[0] = prepare_folder() ? 1 : 0;
    parallel_.broadcast(work);
    if (work[0] == 0) return;
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
    std::vector<double> resumes = {0};
    if (parallel_.leads()) resumes[0] = !options_.overwrite && peek_train_state(folder()) ? 1 : 0;
    parallel_.broadcast(resumes);
    if (resumes[0] != 0) {
      start_attempt_weights();
      std::map<std::string, at::Tensor> tensors = optimizer_->state();
      if (parallel_.leads()) position_ = load_train_state(folder(), tensors);
      // Counts below 2^53; a seed has two halves.
      std::vector<double> numbers = {static_cast<double>(position_.step), static_cast<double>(position_.seed >> 32U),
                                     static_cast<double>(position_.seed & 0xFFFFFFFFU),
                                     static_cast<double>(position_.attempts)};
      parallel_.broadcast(numbers);
      position_.step = static_cast<std::int64_t>(numbers[0]);
      position_.seed = static_cast<std::uint64_t>(numbers[1]) << 32U | static_cast<std::uint64_t>(numbers[2]);
      position_.attempts = static_cast<std::int64_t>(numbers[3]);
      parallel_.broadcast(tensors);
      optimizer_->set_updates(position_.step);
      if (parallel_.leads()) log_.emplace(folder(), position_.step);
      return;
    }
    if (parallel_.leads()) {
      remove_train_state(folder());
      log_.emplace(folder(), -1);
    }
    start_attempt();
  }

  // Rank 0 keeps the log.
  void log(const nlohmann::ordered_json& line) {
    if (log_) log_->append(line);
  }

  void start_attempt_weights() {
    model_ = make_model(config_, initial_parameters(config_, position_.seed, init_options(recipe_.init), dtype_));
    if (!device_.is_cpu()) {
      std::vector<NamedTensor> there = model_->parameters();
      for (auto& [name, parameter] : there) parameter = parameter.to(device_);
      model_ = make_model(config_, std::move(there));
    }
    for (const auto& [name, parameter] : model_->parameters()) parameter.set_requires_grad(true);
    optimizer_.emplace(model_->parameters(), recipe_.optimizer);
  }

  void start_attempt() {
    start_attempt_weights();
    // Other machines may round the logarithms behind random numbers otherwise.
    parallel_.broadcast(optimizer_->state());
    log({{"event", "start"},
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
    BatchQueue queue(tasks_, position_.seed, position_.step, recipe_.steps, BatchQueue::kAhead, parallel_.rank(),
                     parallel_.world());
    const auto started = std::chrono::steady_clock::now();
    const double seconds_before = position_.seconds;
    const std::int64_t first_step = position_.step;
    while (position_.step < recipe_.steps) {
      if (!train_step(queue.next())) return false;
      const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      position_.seconds = seconds_before + elapsed;
      report_or_save(elapsed / static_cast<double>(position_.step - first_step));
      const bool last = position_.step == recipe_.steps;
      if (last) round_as_saved();
      if (position_.step % recipe_.validation.every_steps == 0 || last || position_.step == recipe_.restart.at_step) {
        last_validation_ = validate(*model_, validation_, parallel_);
        const double right = last_validation_.token_accuracy;
        log({{"step", position_.step},
             {"validation_accuracy", right},
             {"validation_exact", last_validation_.exact_match},
             {"validation_loss", last_validation_.nats},
             {"validation_length", recipe_.validation.length}});
        if (position_.step == recipe_.restart.at_step && right < recipe_.restart.min_accuracy && may_restart()) {
          log({{"event", "restart"},
               {"step", position_.step},
               {"seed", position_.seed},
               {"reason", "plateau"},
               {"validation_accuracy", right}});
          return false;
        }
      }
      if (position_.step % recipe_.save_every_steps == 0 && !last) save_state();
      if (stopping_ && !last) {
        save_state();
        throw TrainingStopped{};
      }
      if (options_.stop_after_steps > 0 && position_.step >= options_.stop_after_steps) return true;
    }
    finish();
    return true;
  }

  // What is validated last, and told of in origin.json, are the numbers that the checkpoint holds: a model that
  // compares close keys can lose several per cent of its samples to float16.
  void round_as_saved() {
    const at::ScalarType saved = scalar_type(save_dtype(recipe_.save_dtype));
    const c10::NoGradGuard no_grad;
    for (const auto& [name, parameter] : model_->parameters()) parameter.copy_(parameter.to(saved));
  }

  bool may_restart() const { return position_.attempts < recipe_.restart.max_seeds; }

  // Those of the mean loss over the judged rows of the whole batch, of which `batch` may be this rank's share.
  void make_gradients(const TrainBatch& batch) {
    const bool stop = options_.stop != nullptr && options_.stop->load();
    if (parallel_.world() == 1) {
      const Judged judged = judge(*model_, batch);
      const at::Tensor loss = at::cross_entropy_loss(judged.logits_NV, judged.targets_N);
      loss.backward();
      loss_ = loss.item<double>();
      stopping_ = stop;
      if (is_logged(position_.step + 1)) train_accuracy_ = right_rows(judged).to(at::kDouble).mean().item<double>();
      return;
    }
    StepSums sums;
    sums.stops = stop ? 1 : 0;
    if (batch.rows > 0) {
      const Judged judged = judge(*model_, batch);
      const at::Tensor loss = at::cross_entropy_loss(judged.logits_NV, judged.targets_N, {}, at::Reduction::Sum);
      loss.backward();
      sums.nats = loss.item<double>();
      sums.right = right_rows(judged).sum().item<double>();
      sums.judged = static_cast<double>(judged.targets_N.numel());
    }
    parallel_.reduce(model_->parameters(), sums);
    loss_ = sums.nats / sums.judged;
    train_accuracy_ = sums.right / sums.judged;
    stopping_ = sums.stops > 0;
  }

  bool is_logged(std::int64_t step) const {
    return step % recipe_.log_every_steps == 0 || step == recipe_.steps || step == 1;
  }

  // False when loss or gradient was not finite and another attempt is to be made; throws when there is none left.
  bool train_step(const TrainBatch& batch) {
    const double learning_rate = learning_rate_at(recipe_, batch.step, position_.attempts);
    make_gradients(batch);
    const double norm = optimizer_->gradient_norm();
    if (!std::isfinite(loss_) || !std::isfinite(norm)) {
      const std::string what = std::isfinite(loss_) ? "gradient" : "loss";
      if (may_restart()) {
        log({{"event", "restart"},
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
    if (is_logged(position_.step)) {
      log({{"step", position_.step},
           {"loss", loss_},
           {"accuracy", train_accuracy_},
           {"learning_rate", learning_rate},
           {"gradient_norm", norm},
           {"tokens", batch.tokens},
           {"seconds", position_.seconds}});
    }
    return true;
  }

  // The step is done, so its state is worth keeping whatever the progress callback throws.
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

  void save_state() const {
    if (parallel_.leads()) save_train_state(folder(), position_, optimizer_->state());
  }

  void finish() {
    if (!parallel_.leads()) return;
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
    log({{"event", "end"},
         {"step", position_.step},
         {"seed", position_.seed},
         {"validation_accuracy", last_validation_.token_accuracy},
         {"validation_exact", last_validation_.exact_match},
         {"seconds", position_.seconds}});
    remove_train_state(folder());
  }

  TrainOptions options_;
  Parallel parallel_;
  at::ScalarType dtype_ = at::kFloat;
  at::Device device_;
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
  bool stopping_ = false;
  Validation last_validation_;
};

}  // namespace

void train_recipe(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress) {
  Trainer(options, progress).run();
}

}  // namespace lenbench
