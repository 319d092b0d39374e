// Runs a TorchScript module over groups of equally long samples.
#include "model/torchscript.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/safetensors.h"
#include "model/judge.h"
#include "model/predictor.h"

namespace lenbench {
namespace {

constexpr const char* kExtraFile = "lenbench.json";
constexpr const char* kRowsMethod = "logits_at";

struct ScriptFacts {
  std::string name, transform, positions;
  std::int64_t vocab_size = 0, max_tokens = 0, train_length = 0;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("name", self.name);
    visit.defaulted("vocab_size", self.vocab_size);
    visit.defaulted("max_tokens", self.max_tokens);
    visit.defaulted("train_length", self.train_length);
    visit.defaulted("transform", self.transform);
    visit.defaulted("positions", self.positions);
  }
};

std::string cause_of(const std::string& text) {
  // The interpreter puts its own heading and a traceback before what went wrong.
  const std::size_t cause = text.rfind("RuntimeError: ");
  return first_line(cause == std::string::npos ? text : text.substr(cause));
}

class ScriptPredictor final : public Predictor {
 public:
  ScriptPredictor(torch::jit::Module module, PredictorInfo info) : module_(std::move(module)), info_(std::move(info)) {
    rows_method_ = module_.find_method(kRowsMethod).has_value();
  }

  const PredictorInfo& info() const override { return info_; }

  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest&, Probe* probe) override {
    if (probe != nullptr && probe->rows != ProbeRows::kNone) {
      throw Error("a TorchScript module shows no attention; use --probe none");
    }
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> groups;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      groups[{samples[s].tokens.size(), samples[s].scored.size()}].push_back(s);
    }
    std::vector<SamplePrediction> predictions(samples.size());
    for (const auto& [sizes, group] : groups) {
      const std::string what = std::to_string(group.size()) + " x " + std::to_string(sizes.first) + " tokens";
      try {
        predict_group(samples, group, predictions);
      } catch (const std::bad_alloc&) {
        throw Error("out of memory for " + what, ExitCode::kNotMeasured);
      } catch (const Error&) {
        throw;
      } catch (const std::exception& error) {
        const std::string message = error.what();
        throw Error((says_out_of_memory(message) ? "out of memory for " : "the module failed on ") + what + ": " +
                        cause_of(message),
                    ExitCode::kNotMeasured);
      }
    }
    return predictions;
  }

 private:
  void predict_group(std::span<const Sample> samples, const std::vector<std::size_t>& group,
                     std::vector<SamplePrediction>& predictions) {
    const at::NoGradGuard no_grad;
    const auto batch = static_cast<std::int64_t>(group.size());
    const std::int64_t tokens = std::ssize(samples[group[0]].tokens), rows = std::ssize(samples[group[0]].scored);
    const at::Tensor ids_BT = at::empty({batch, tokens}, at::kLong), rows_BR = at::empty({batch, rows}, at::kLong);
    for (std::int64_t b = 0; b < batch; ++b) {
      const Sample& sample = samples[group[static_cast<std::size_t>(b)]];
      std::copy(sample.tokens.begin(), sample.tokens.end(), ids_BT.mutable_data_ptr<std::int64_t>() + b * tokens);
      std::transform(sample.scored.begin(), sample.scored.end(), rows_BR.mutable_data_ptr<std::int64_t>() + b * rows,
                     [](const ScoredToken& scored) { return scored.position; });
    }
    const at::Tensor logits = run(ids_BT, rows_BR);
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::size_t s = group[static_cast<std::size_t>(b)];
      const std::vector<ScoredToken>& scored = samples[s].scored;
      std::vector<std::int32_t> targets;
      for (const ScoredToken& token : scored) {
        if (token.target < 0 || token.target >= logits.size(2)) {
          throw Error("target " + std::to_string(token.target) + " at position " + std::to_string(token.position) +
                          " is outside the module's vocabulary of " + std::to_string(logits.size(2)),
                      ExitCode::kNotMeasured);
        }
        targets.push_back(token.target);
      }
      at::Tensor logits_RV = logits.select(0, b);
      if (!rows_method_) logits_RV = logits_RV.index_select(0, rows_BR.select(0, b));
      predictions[s] = prediction_of(judge_logits(logits_RV, targets), scored);
    }
  }

  at::Tensor run(const at::Tensor& ids_BT, const at::Tensor& rows_BR) {
    const c10::IValue result =
        rows_method_ ? module_.get_method(kRowsMethod)({ids_BT, rows_BR}) : module_.forward({ids_BT});
    const c10::IValue& first =
        result.isTuple() && !result.toTupleRef().elements().empty() ? result.toTupleRef().elements()[0] : result;
    const std::string method = rows_method_ ? kRowsMethod : "forward";
    if (!first.isTensor()) {
      throw Error(method + " gave " + first.tagKind() + " where a tensor of logits is expected",
                  ExitCode::kNotMeasured);
    }
    const at::Tensor& logits = first.toTensor();
    const std::int64_t wanted = rows_method_ ? rows_BR.size(1) : ids_BT.size(1);
    if (logits.dim() != 3 || logits.size(0) != ids_BT.size(0) || logits.size(1) != wanted ||
        !at::isFloatingType(logits.scalar_type())) {
      throw Error(method + " gave a tensor of shape " + shape_text(logits.sizes().vec()) + ", type " +
                      std::string(c10::toString(logits.scalar_type())) + ", where logits [" +
                      std::to_string(ids_BT.size(0)) + ", " + std::to_string(wanted) + ", vocabulary] are expected",
                  ExitCode::kNotMeasured);
    }
    if (info_.vocab_size > 0 && logits.size(2) != info_.vocab_size) {
      throw Error(method + " gave logits of " + std::to_string(logits.size(2)) + " tokens, and " + kExtraFile +
                      " says " + std::to_string(info_.vocab_size),
                  ExitCode::kNotMeasured);
    }
    return logits;
  }

  torch::jit::Module module_;
  PredictorInfo info_;
  bool rows_method_ = false;
};

void refuse(const std::string& path, const std::string& flag, const std::string& value) {
  throw Error(flag + " is '" + printable(value) + "', but '" + printable(path) +
              "' is a TorchScript module, which computes as it was saved");
}

}  // namespace

std::unique_ptr<Predictor> open_torchscript(const std::string& path, const OpenOptions& options) {
  if (options.dtype != "float32") refuse(path, "--dtype", options.dtype);
  if (options.attention_path != "auto") refuse(path, "--attention-path", options.attention_path);
  if (!options.transform.empty()) refuse(path, "--transform", options.transform);
  if (!options.alpha.empty()) refuse(path, "--alpha", options.alpha);
  if (!options.rope_scaling.empty()) refuse(path, "--rope-scaling", options.rope_scaling);
  if (options.device != "cpu") refuse(path, "--device", options.device);
  if (options.threads > 0) at::set_num_threads(options.threads);
  // Optimizing between the first calls would change the last bits of the same question.
  torch::jit::setGraphExecutorOptimize(false);
  std::unordered_map<std::string, std::string> extra = {{kExtraFile, ""}};
  torch::jit::Module module;
  try {
    module = torch::jit::load(path, at::kCPU, extra);
    module.eval();
  } catch (const std::exception& error) {
    throw Error(printable(path) + ": cannot be loaded as TorchScript: " + cause_of(error.what()));
  }
  ScriptFacts facts;
  if (!extra[kExtraFile].empty()) {
    const std::string where = printable(path) + ": " + kExtraFile;
    read_fields(parse_json(extra[kExtraFile], where), facts, where);
    for (const std::int64_t value : {facts.vocab_size, facts.max_tokens, facts.train_length}) {
      if (value < 0) throw Error(where + ": a size is " + std::to_string(value) + ", below 0");
    }
  }
  PredictorInfo info;
  info.name = facts.name.empty() ? std::filesystem::path(path).stem().string() : facts.name;
  info.checkpoint_sha256 = sha256_file(path);
  info.transform = facts.transform;
  info.positions = facts.positions;
  info.device = "cpu";
  info.attention_path = "torchscript";
  for (const at::Tensor& parameter : module.parameters()) {
    if (info.dtype.empty())
      info.dtype = parameter.scalar_type() == at::kFloat      ? "float32"
                   : parameter.scalar_type() == at::kDouble   ? "float64"
                   : parameter.scalar_type() == at::kHalf     ? "float16"
                   : parameter.scalar_type() == at::kBFloat16 ? "bfloat16"
                                                              : "";
    info.num_parameters += parameter.numel();
  }
  info.vocab_size = facts.vocab_size;
  info.max_positions = facts.max_tokens;
  info.train_length = facts.train_length;
  return std::make_unique<ScriptPredictor>(std::move(module), std::move(info));
}

}  // namespace lenbench
