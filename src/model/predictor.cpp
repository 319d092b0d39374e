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
#include "bench/answer_terms.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/inference_change.h"
#include "checkpoint/memory.h"
#include "model/batch.h"
#include "model/device.h"
#include "model/judge.h"
#include "model/text_ranks.h"
#include "model/weights.h"

namespace lenbench {
namespace {

class ModelPredictor final : public Predictor {
 public:
  ModelPredictor(std::unique_ptr<SequenceModel> model, PredictorInfo info, AttentionPath path,
                 std::int64_t weights_bytes, std::unique_ptr<TextRanks> ranks = nullptr)
      : model_(std::move(model)),
        info_(std::move(info)),
        path_(path),
        weights_bytes_(weights_bytes),
        ranks_(std::move(ranks)) {
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

  ~ModelPredictor() override {
    if (ranks_ == nullptr || !ranks_->leads() || is_lost_) return;
    try {
      ranks_->end();
    } catch (const RankLost&) {
      // Those that are left notice themselves.
    }
  }
  ModelPredictor(const ModelPredictor&) = delete;
  ModelPredictor& operator=(const ModelPredictor&) = delete;

  const PredictorInfo& info() const override { return info_; }

  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                        Probe* probe) override {
    if (samples.empty()) return {};
    check(samples);
    if (ranks_ == nullptr) {
      return guarded(samples, [&] { return run(samples, SequenceShare(longest(samples)), request, probe); });
    }
    if (is_lost_) throw std::logic_error("Predictor: asked after it was lost");
    // After a failure other ranks wait for this one, and cannot be asked anything else.
    is_lost_ = true;
    std::vector<SamplePrediction> predictions;
    try {
      predictions = guarded(samples, [&] {
        const ProbeRows rows = probe == nullptr ? ProbeRows::kNone : request.probe;
        ranks_->ask(samples, rows);
        return run_shared(samples, rows, probe);
      });
    } catch (const RankLost& error) {
      throw PredictorLost(error.what(), true);
    } catch (const std::exception& error) {
      throw PredictorLost(error.what(), false);
    }
    is_lost_ = false;
    return predictions;
  }

  // Of ranks other than 0; see Backend::follow().
  bool follow(const std::atomic<bool>* stop) {
    std::vector<Sample> samples;
    for (ProbeRows rows = ProbeRows::kNone; ranks_->receive(samples, rows);) {
      if (stop != nullptr && stop->load()) return false;
      guarded(samples, [&] { return run_shared(samples, rows, nullptr); });
    }
    return stop == nullptr || !stop->load();
  }

  std::int64_t predicted_bytes(std::int64_t rows, std::int64_t tokens, std::int64_t scored) const override {
    const auto element_bytes = static_cast<std::int64_t>(at::elementSize(model_->dtype()));
    return predicted_evaluation_bytes(model_->config(), element_bytes, rows, tokens, scored,
                                      ranks_ == nullptr ? 1 : ranks_->world()) +
           weights_bytes_;
  }
  std::int64_t peak_bytes_elsewhere() const override { return ranks_ == nullptr ? 0 : ranks_->peak_bytes_elsewhere(); }

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

  // `answer`, with what LibTorch throws as an Error.
  template <class Answer>
  std::vector<SamplePrediction> guarded(std::span<const Sample> samples, const Answer& answer) const {
    std::string sizes = std::to_string(samples.size()) + " x " + std::to_string(longest(samples)) + " tokens";
    if (ranks_ != nullptr) {
      sizes += " on rank " + std::to_string(ranks_->rank()) + " of " + std::to_string(ranks_->world());
    }
    try {
      return answer();
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

  // One call, on every rank; `sum` may be null.
  std::vector<SamplePrediction> run_shared(std::span<const Sample> samples, ProbeRows rows, Probe* sum) {
    const SequenceShare share(longest(samples), &ranks_->exchange());
    Probe probe;
    std::vector<SamplePrediction> predictions = run(samples, share, {rows}, &probe);
    if (rows != ProbeRows::kNone) {
      ranks_->join(samples, share, probe);
      if (sum != nullptr) sum->add(probe);
    }
    ranks_->compare_memory();
    return predictions;
  }

  std::vector<SamplePrediction> run(std::span<const Sample> samples, const SequenceShare& share,
                                    const PredictRequest& request, Probe* probe) {
    const JudgedRowLists owned = owned_rows(samples, share);
    EvaluationRequest evaluation = evaluation_request(samples, owned);
    evaluation.share = &share;
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
        evaluation.source_keys_BQ = source_keys(samples, owned, evaluation.positions_BQ.size(1));
      }
      if (request.probe == ProbeRows::kPrefix) evaluation.by_position = &by_position;
    }
    const at::Device device = model_->parameters().front().second.device();
    evaluation.tokens_BT = evaluation.tokens_BT.to(device);
    evaluation.positions_BQ = evaluation.positions_BQ.to(device);
    if (evaluation.source_keys_BQ.defined()) evaluation.source_keys_BQ = evaluation.source_keys_BQ.to(device);

    const at::Tensor hidden_BQE = model_->hidden(evaluation), output_VE = model_->output_weights();
    std::vector<JudgedRows> judged;
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const at::Tensor hidden_QE = hidden_BQE.select(0, static_cast<std::int64_t>(b)).slice(0, 0, std::ssize(owned[b]));
      judged.push_back(judge_owned(samples[b].scored, owned[b], hidden_QE, output_VE));
    }
    if (!share.is_whole()) ranks_->join(judged);
    std::vector<SamplePrediction> predictions;
    for (std::size_t b = 0; b < samples.size(); ++b) {
      predictions.push_back(prediction_of(std::move(judged[b]), samples[b].scored));
    }
    if (!stats.empty()) {
      add_probe(stats, request.probe, *probe);
      add_states(samples, states, *probe);
    }
    for (std::size_t k = 0; k < by_position.size(); ++k) {
      if (probe->by_position.size() <= k) probe->by_position.resize(k + 1, std::vector<HeadStats>(stats.size()));
      for (std::size_t i = 0; i < stats.size(); ++i) probe->by_position[k][i].add(by_position[k][i]);
    }
    if (!answer_rows.empty()) split_by_outcome(samples, owned, predictions, evaluation, answer_rows, *probe);
    return predictions;
  }

  // Parallel to `scored`, 0 for rows that are not owned.
  JudgedRows judge_owned(std::span<const ScoredToken> scored, const std::vector<std::size_t>& owned,
                         const at::Tensor& hidden_QE, const at::Tensor& output_VE) const {
    std::vector<std::int32_t> targets;
    for (const std::size_t i : owned) targets.push_back(scored[i].target);
    JudgedRows judged = judge(*model_, output_VE, hidden_QE, targets);
    if (owned.size() == scored.size()) return judged;
    JudgedRows all{std::vector<std::int32_t>(scored.size()), std::vector<double>(scored.size())};
    for (std::size_t k = 0; k < owned.size(); ++k) {
      all.argmax[owned[k]] = judged.argmax[k];
      all.nll[owned[k]] = judged.nll[k];
    }
    return all;
  }

  // answer_sources of the rows owned, [B, Q], padded with -1.
  static at::Tensor source_keys(std::span<const Sample> samples, const JudgedRowLists& owned,
                                std::int64_t judged_rows) {
    const at::Tensor keys_BQ = at::full({std::ssize(samples), judged_rows}, -1, at::TensorOptions().dtype(at::kLong));
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const std::vector<std::int64_t> sources = answer_sources(samples[b]);
      auto* next = keys_BQ.mutable_data_ptr<std::int64_t>() + static_cast<std::int64_t>(b) * judged_rows;
      for (const std::size_t i : owned[b]) *next++ = sources[i];
    }
    return keys_BQ;
  }

  void split_by_outcome(std::span<const Sample> samples, const JudgedRowLists& owned,
                        const std::vector<SamplePrediction>& predictions, const EvaluationRequest& evaluation,
                        const std::vector<RowStatistics>& layers, Probe& probe) const {
    const std::int64_t judged_rows = evaluation.positions_BQ.size(1);
    const at::Tensor right_BQ = at::zeros(evaluation.positions_BQ.sizes(), at::TensorOptions().dtype(at::kBool));
    const at::Tensor wrong_BQ = at::zeros_like(right_BQ);
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const std::vector<ScoredToken>& scored = samples[b].scored;
      const auto answers = judged_answers(samples[b], predictions[b], predictions[b].first_nonfinite < 0);
      for (std::size_t k = 0; k < owned[b].size(); ++k) {
        const std::int32_t answer = scored[owned[b][k]].answer;
        if (answer < 0) continue;
        const bool right = std::lower_bound(answers.begin(), answers.end(), std::pair(answer, false))->second;
        const at::Tensor& mask = right ? right_BQ : wrong_BQ;
        mask.mutable_data_ptr<bool>()[static_cast<std::int64_t>(b) * judged_rows + static_cast<std::int64_t>(k)] = true;
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
  std::int64_t weights_bytes_;        // of weights that are converted while they are needed
  std::unique_ptr<TextRanks> ranks_;  // that divide every text; null: none
  bool is_lost_ = false;
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

namespace {

void require_splittable(const Checkpoint& checkpoint, const c10::Device& device) {
  if (checkpoint.config().item_classes > 0) {
    throw Error("'" + checkpoint.name() + "' is a model of sets: it has no sequence to split over ranks");
  }
  if (device.is_cuda()) throw Error("a sequence is split over ranks on the CPU only: leave out --device");
}

std::unique_ptr<ModelPredictor> open_model_predictor(const std::string& checkpoint_path, const OpenOptions& options) {
  const AttentionPath path = parse_attention_path(options.attention_path);
  const at::ScalarType dtype = parse_compute_dtype(options.dtype);
  const c10::Device device = open_device(options.device, options.dtype == "tf32");
  if (options.threads > 0) at::set_num_threads(options.threads);
  const Checkpoint checkpoint = Checkpoint::open(checkpoint_path);
  if (options.split.world > 1) require_splittable(checkpoint, device);
  std::unique_ptr<SequenceModel> model = load_model(checkpoint, inference_config(checkpoint, options), dtype, device);

  PredictorInfo info;
  info.name = checkpoint.name();
  info.checkpoint_sha256 = checkpoint.sha256();
  info.device = device.is_cuda() ? "cuda" : "cpu";
  info.dtype = options.dtype;
  info.attention_path = options.attention_path;
  info.train_length = checkpoint.origin().train_length;
  const std::int64_t weights_bytes = converted_bytes(checkpoint, static_cast<std::int64_t>(at::elementSize(dtype)));
  std::unique_ptr<TextRanks> ranks;
  if (options.split.world > 1)
    ranks = std::make_unique<TextRanks>(options.split, answer_terms(info.checkpoint_sha256, options));
  return std::make_unique<ModelPredictor>(std::move(model), std::move(info), path, weights_bytes, std::move(ranks));
}

}  // namespace

std::unique_ptr<Predictor> open_predictor(const std::string& checkpoint_path, const OpenOptions& options) {
  return open_model_predictor(checkpoint_path, options);
}

bool follow_predictor(const std::string& checkpoint_path, const OpenOptions& options, const std::atomic<bool>* stop) {
  return open_model_predictor(checkpoint_path, options)->follow(stop);
}

}  // namespace lenbench
