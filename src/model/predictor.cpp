// The Predictor over a model: batches, judged rows, probes, memory.
#include "model/predictor.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/inference_change.h"
#include "checkpoint/memory.h"
#include "model/batch.h"
#include "model/device.h"
#include "model/judge.h"
#include "model/weights.h"

namespace lenbench {
namespace {

class ModelPredictor final : public Predictor {
 public:
  ModelPredictor(std::unique_ptr<SequenceModel> model, PredictorInfo info, AttentionPath path,
                 std::int64_t weights_bytes)
      : model_(std::move(model)), info_(std::move(info)), path_(path), weights_bytes_(weights_bytes) {
    const DecoderConfig& config = model_->config();
    info_.input = config.item_classes > 0 ? TaskInput::kItems : TaskInput::kTokens;
    info_.num_parameters = num_parameters(config);
    info_.vocab_size = config.vocab_size;
    info_.transform = config.transform_name();
    info_.positions = config.positions_name();
    info_.max_positions = config.max_positions;
    info_.rows_depend_on_length = config.rows_depend_on_length();
    if (info_.dtype.empty()) info_.dtype = model_->dtype() == at::kDouble ? "float64" : "float32";
  }

  const PredictorInfo& info() const override { return info_; }

  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                        Probe* probe) override {
    if (samples.empty()) return {};
    check(samples);
    std::int64_t tokens = 0;
    for (const Sample& sample : samples) tokens = std::max(tokens, std::ssize(sample.tokens));
    const std::string sizes = std::to_string(samples.size()) + " x " + std::to_string(tokens) + " tokens";
    try {
      return run(samples, request, probe);
    } catch (const std::bad_alloc&) {
      throw Error("out of memory for " + sizes, ExitCode::kNotMeasured);
    } catch (const c10::Error& error) {
      const std::string message = first_line(error.what_without_backtrace());
      throw Error(
          (says_out_of_memory(message) ? "out of memory for " + sizes + ": " : "the model failed on " + sizes + ": ") +
              message,
          ExitCode::kNotMeasured);
    }
  }

  std::int64_t predicted_bytes(std::int64_t rows, std::int64_t tokens, std::int64_t scored) const override {
    const auto element_bytes = static_cast<std::int64_t>(at::elementSize(model_->dtype()));
    return predicted_evaluation_bytes(model_->config(), element_bytes, rows, tokens, scored) + weights_bytes_;
  }

 private:
  void check(std::span<const Sample> samples) const {
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const auto where = [&] { return "sample " + std::to_string(s) + " of the batch"; };
      if (samples[s].tokens.empty()) throw Error(where() + " has no tokens");
      const auto refuse = [&](std::int32_t id, const char* what, std::int64_t position) {
        throw Error(where() + ": " + what + " " + std::to_string(id) + " at position " + std::to_string(position) +
                    " is outside the model's vocabulary of " + std::to_string(info_.vocab_size));
      };
      for (std::size_t t = 0; t < samples[s].tokens.size(); ++t) {
        const std::int32_t id = samples[s].tokens[t];
        if (id < 0 || id >= info_.vocab_size) refuse(id, "token", static_cast<std::int64_t>(t));
      }
      for (const ScoredToken& scored : samples[s].scored) {
        if (scored.target < 0 || scored.target >= model_->config().num_outputs())
          refuse(scored.target, "target", scored.position);
        if (scored.position < 0 || scored.position >= std::ssize(samples[s].tokens)) {
          throw Error(where() + ": judged position " + std::to_string(scored.position) + " is outside its " +
                      std::to_string(samples[s].tokens.size()) + " tokens");
        }
      }
    }
  }

  std::vector<SamplePrediction> run(std::span<const Sample> samples, const PredictRequest& request, Probe* probe) {
    EvaluationRequest evaluation = evaluation_request(samples);
    evaluation.path = path_;
    std::vector<HeadStats> stats;
    std::vector<RowStatistics> answer_rows;
    std::vector<std::vector<HeadStats>> by_position;
    std::vector<at::Tensor> states;
    if (probe != nullptr && request.probe != ProbeRows::kNone) {
      stats.resize(static_cast<std::size_t>(model_->config().num_layers * model_->config().num_heads));
      evaluation.probe = request.probe;
      evaluation.stats = &stats;
      if (request.probe == ProbeRows::kAnswer) {
        evaluation.wanted_rows = &answer_rows;
        evaluation.states = &states;
        evaluation.source_keys_BQ = source_keys(samples, evaluation.positions_BQ.size(1));
      }
      if (request.probe == ProbeRows::kPrefix) evaluation.by_position = &by_position;
    }
    const at::Device device = model_->parameters().front().second.device();
    evaluation.tokens_BT = evaluation.tokens_BT.to(device);
    evaluation.positions_BQ = evaluation.positions_BQ.to(device);
    if (evaluation.source_keys_BQ.defined()) evaluation.source_keys_BQ = evaluation.source_keys_BQ.to(device);

    const at::Tensor hidden_BQE = model_->hidden(evaluation), output_VE = model_->output_weights();
    std::vector<SamplePrediction> predictions;
    for (std::int64_t b = 0; b < std::ssize(samples); ++b) {
      const std::vector<ScoredToken>& scored = samples[static_cast<std::size_t>(b)].scored;
      std::vector<std::int32_t> targets;
      for (const ScoredToken& token : scored) targets.push_back(token.target);
      JudgedRows judged = judge(*model_, output_VE, hidden_BQE.select(0, b).slice(0, 0, std::ssize(scored)), targets);
      predictions.push_back(prediction_of(std::move(judged), scored));
    }
    if (!stats.empty()) {
      add_probe(stats, request.probe, *probe);
      add_states(samples, states, *probe);
    }
    for (std::size_t k = 0; k < by_position.size(); ++k) {
      if (probe->by_position.size() <= k) probe->by_position.resize(k + 1, std::vector<HeadStats>(stats.size()));
      for (std::size_t i = 0; i < stats.size(); ++i) probe->by_position[k][i].add(by_position[k][i]);
    }
    if (!answer_rows.empty()) split_by_outcome(samples, predictions, evaluation, answer_rows, *probe);
    return predictions;
  }

  // answer_sources of each sample, [B, Q], padded with -1.
  static at::Tensor source_keys(std::span<const Sample> samples, std::int64_t judged_rows) {
    const at::Tensor keys_BQ = at::full({std::ssize(samples), judged_rows}, -1, at::TensorOptions().dtype(at::kLong));
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const std::vector<std::int64_t> sources = answer_sources(samples[b]);
      std::copy(sources.begin(), sources.end(),
                keys_BQ.mutable_data_ptr<std::int64_t>() + static_cast<std::int64_t>(b) * judged_rows);
    }
    return keys_BQ;
  }

  void split_by_outcome(std::span<const Sample> samples, const std::vector<SamplePrediction>& predictions,
                        const EvaluationRequest& evaluation, const std::vector<RowStatistics>& layers,
                        Probe& probe) const {
    const std::int64_t judged_rows = evaluation.positions_BQ.size(1);
    const at::Tensor right_BQ = at::zeros(evaluation.positions_BQ.sizes(), at::TensorOptions().dtype(at::kBool));
    const at::Tensor wrong_BQ = at::zeros_like(right_BQ);
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const std::vector<ScoredToken>& scored = samples[b].scored;
      const auto answers = judged_answers(samples[b], predictions[b], predictions[b].first_nonfinite < 0);
      for (std::size_t i = 0; i < scored.size(); ++i) {
        if (scored[i].answer < 0) continue;
        const bool right = std::lower_bound(answers.begin(), answers.end(), std::pair(scored[i].answer, false))->second;
        const at::Tensor& mask = right ? right_BQ : wrong_BQ;
        mask.mutable_data_ptr<bool>()[static_cast<std::int64_t>(b) * judged_rows + static_cast<std::int64_t>(i)] = true;
      }
    }
    const auto num_heads = static_cast<std::size_t>(model_->config().num_heads);
    const auto add = [&](const at::Tensor& mask_BQ, std::vector<HeadStats>& all) {
      if (!mask_BQ.any().item<bool>()) return;
      all.resize(layers.size() * num_heads);
      for (std::size_t l = 0; l < layers.size(); ++l) {
        std::vector<HeadStats> heads(num_heads);
        const std::int64_t window = model_->config().window(static_cast<std::int64_t>(l));
        add_statistics(layers[l], visible_positions(model_->last_keys(evaluation.positions_BQ), window),
                       mask_BQ.to(evaluation.positions_BQ.device()), evaluation.source_keys_BQ, heads);
        for (std::size_t h = 0; h < num_heads; ++h) all[l * num_heads + h].add(heads[h]);
      }
    };
    add(right_BQ, probe.heads_right);
    add(wrong_BQ, probe.heads_wrong);
  }

  // States [B, E] by depth, handed over sample by sample.
  static void add_states(std::span<const Sample> samples, const std::vector<at::Tensor>& states, Probe& probe) {
    if (states.empty()) return;
    probe.num_depths = std::ssize(states);
    const at::Tensor state_BDE = at::stack(states, 1).to(at::kDouble).cpu().contiguous();
    const std::int64_t size = state_BDE.size(1) * state_BDE.size(2);
    for (std::int64_t b = 0; b < std::ssize(samples); ++b) {
      const double* first = state_BDE.data_ptr<double>() + b * size;
      const bool judged = !samples[static_cast<std::size_t>(b)].scored.empty();
      probe.states.emplace_back(first, judged ? first + size : first);
    }
  }

  void add_probe(const std::vector<HeadStats>& stats, ProbeRows rows, Probe& probe) const {
    if (probe.heads.empty()) {
      probe.rows = rows;
      probe.num_layers = model_->config().num_layers;
      probe.num_heads = model_->config().num_heads;
      probe.heads.resize(stats.size());
      probe.head_has_position = model_->head_has_position();
      probe.head_alpha = model_->head_alpha();
    }
    if (probe.heads.size() != stats.size() || probe.rows != rows) {
      throw std::logic_error("Predictor: a probe holds statistics of another model or of other rows");
    }
    for (std::size_t i = 0; i < stats.size(); ++i) probe.heads[i].add(stats[i]);
  }

  std::unique_ptr<SequenceModel> model_;
  PredictorInfo info_;
  AttentionPath path_;
  std::int64_t weights_bytes_;  // of weights that are converted while they are needed
};

}  // namespace

bool says_out_of_memory(const std::string& message) {
  return message.find("allocate memory") != std::string::npos || message.find("out of memory") != std::string::npos;
}

std::unique_ptr<Predictor> make_predictor(std::unique_ptr<SequenceModel> model, PredictorInfo info,
                                          AttentionPath path) {
  return std::make_unique<ModelPredictor>(std::move(model), std::move(info), path, 0);
}

std::unique_ptr<Predictor> make_predictor(Decoder decoder, PredictorInfo info, AttentionPath path) {
  return make_predictor(std::make_unique<Decoder>(std::move(decoder)), std::move(info), path);
}

AttentionPath parse_attention_path(const std::string& name) {
  if (name == "auto") return AttentionPath::kAuto;
  if (name == "reference") return AttentionPath::kReference;
  if (name == "streaming") return AttentionPath::kStreaming;
  throw Error("attention path '" + printable(name) + "' is not known" +
              did_you_mean(name, {"auto", "reference", "streaming"}) + "; use auto, reference or streaming");
}

at::ScalarType parse_compute_dtype(const std::string& name) {
  if (name == "float32" || name == "tf32") return at::kFloat;
  if (name == "float64") return at::kDouble;
  if (name == "bfloat16") return at::kBFloat16;
  throw Error("dtype '" + printable(name) + "' is not known" +
              did_you_mean(name, {"float32", "float64", "bfloat16", "tf32"}) +
              "; use float32, float64, bfloat16 or tf32");
}

DecoderConfig inference_config(const Checkpoint& checkpoint, const OpenOptions& options) {
  return changed_at_inference(checkpoint.config(), {options.transform, options.alpha, options.rope_scaling},
                              checkpoint.origin().train_length);
}

std::unique_ptr<Predictor> open_predictor(const std::string& checkpoint_path, const OpenOptions& options) {
  const AttentionPath path = parse_attention_path(options.attention_path);
  const at::ScalarType dtype = parse_compute_dtype(options.dtype);
  const c10::Device device = open_device(options.device, options.dtype == "tf32");
  if (options.threads > 0) at::set_num_threads(options.threads);
  const Checkpoint checkpoint = Checkpoint::open(checkpoint_path);
  std::unique_ptr<SequenceModel> model = load_model(checkpoint, inference_config(checkpoint, options), dtype, device);

  PredictorInfo info;
  info.name = checkpoint.name();
  info.checkpoint_sha256 = checkpoint.sha256();
  info.device = device.is_cuda() ? "cuda" : "cpu";
  info.dtype = options.dtype;
  info.attention_path = options.attention_path;
  info.train_length = checkpoint.origin().train_length;
  const std::int64_t weights_bytes = converted_bytes(checkpoint, static_cast<std::int64_t>(at::elementSize(dtype)));
  return std::make_unique<ModelPredictor>(std::move(model), std::move(info), path, weights_bytes);
}

}  // namespace lenbench
