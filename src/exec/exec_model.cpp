// The Predictor over a program: hello once, then requests and answers by turns.
#include "exec/exec_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"

namespace lenbench {
namespace {

constexpr std::size_t kShownCommandBytes = 120;

std::string shown_command(const std::string& command) {
  const std::string text = printable(command);
  return "program '" + (text.size() > kShownCommandBytes ? text.substr(0, kShownCommandBytes) + "..." : text) + "'";
}

std::string identity(const std::string& command, const ExecHello& hello) {
  return sha256_hex(dump_json({{"command", command}, {"name", hello.name}, {"hash", hello.hash}}));
}

}  // namespace

bool is_exec(std::string_view model) { return model.starts_with(kExecPrefix); }

ExecModel::ExecModel(std::string model, ExecLimits limits)
    : model_(std::move(model)), command_(model_.substr(kExecPrefix.size())), limits_(limits) {
  if (command_.find_first_not_of(" \t\n") == std::string::npos || command_.find('\0') != std::string::npos) {
    throw Error("model '" + printable(model_) + "' has no command; write 'exec:python my_model.py'");
  }
}

ExecHello ExecModel::greet() {
  const std::string where = shown_command(command_) + " ";
  program_ = std::make_unique<Program>(command_);
  try {
    return parse_hello(program_->exchange(hello_request(), limits_.start_seconds, kMaxHelloBytes), where);
  } catch (const Error& error) {
    const std::string message = error.what();
    // What it wrote is known to Program when it is Program that failed.
    const std::string whole =
        message.starts_with(where) ? message + program_->last_words() : where + message + "; no hello came";
    program_.reset();
    throw Error(whole, ExitCode::kNotMeasured);
  }
}

void ExecModel::start() {
  if (started_) return;
  try {
    hello_ = greet();
  } catch (const Error& error) {
    throw Error(std::string("cannot start: ") + error.what() + "; docs/exec.md says what is expected");
  }
  started_ = true;
  info_.name = hello_.name.empty() ? model_ : hello_.name;
  info_.checkpoint_sha256 = identity(command_, hello_);
  info_.transform = hello_.transform;
  info_.positions = hello_.positions;
  info_.dtype = hello_.dtype;
  info_.device = hello_.device;
  info_.num_parameters = hello_.num_parameters;
  info_.vocab_size = hello_.vocab_size;
  info_.train_length = hello_.train_length;
  info_.max_positions = hello_.max_tokens;
}

void ExecModel::announce(const Task& task, std::span<const DrawKey>) {
  wants_nats_ = task.info().metric == TaskMetric::kPerplexity;
}

std::vector<SamplePrediction> ExecModel::ask(std::span<const Sample> samples, bool nats) {
  std::int64_t tokens = 0;
  for (const Sample& sample : samples) tokens = std::max(tokens, std::ssize(sample.tokens));
  const std::string where = shown_command(command_) + ", asked " + std::to_string(samples.size()) + " x " +
                            std::to_string(tokens) + " tokens, ";
  const std::int64_t id = ++requests_;
  ExecAnswer answer;
  try {
    const std::string line =
        program_->exchange(predict_request(id, samples, nats), limits_.answer_seconds, max_answer_bytes(samples));
    answer = parse_answer(line, id, samples, nats, hello_.vocab_size, "");
  } catch (const Error& error) {
    // What it would say next might belong to this request.
    program_.reset();
    throw Error(where + error.what(), ExitCode::kNotMeasured);
  }
  if (!answer.error.empty()) throw Error(where + answer.error, ExitCode::kNotMeasured);
  return std::move(answer.predictions);
}

std::vector<SamplePrediction> ExecModel::predict(std::span<const Sample> samples, const PredictRequest&, Probe* probe) {
  start();
  if (probe != nullptr) throw std::logic_error("ExecModel: a program has no attention to look at");
  if (wants_nats_ && !hello_.nats) {
    throw Error(shown_command(command_) + " gives no nats, so perplexity cannot be measured", ExitCode::kNotMeasured);
  }
  if (program_ == nullptr) {
    const ExecHello again = greet();
    if (again != hello_) {
      program_.reset();
      throw Error(shown_command(command_) + " was started again and is another: it said " + hello_json(again) +
                      " after " + hello_json(hello_),
                  ExitCode::kNotMeasured);
    }
  }
  const std::size_t step = hello_.max_batch > 0 ? static_cast<std::size_t>(hello_.max_batch) : samples.size();
  std::vector<SamplePrediction> predictions;
  for (std::size_t first = 0; first < samples.size(); first += step) {
    std::vector<SamplePrediction> part =
        ask(samples.subspan(first, std::min(step, samples.size() - first)), wants_nats_);
    std::move(part.begin(), part.end(), std::back_inserter(predictions));
  }
  return predictions;
}

}  // namespace lenbench
