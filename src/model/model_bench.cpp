// Takes queries, keys and values out of a checkpoint for the kernel benchmark, and times whole passes.
#include "model/model_bench.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "attention/kernel_bench.h"
#include "base/clock.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "model/batch.h"
#include "model/device.h"
#include "model/predictor.h"
#include "model/weights.h"

namespace lenbench {
namespace {

EvaluationRequest request_of(const Sample& sample, const DecoderConfig& config, c10::Device device) {
  for (const std::int32_t token : sample.tokens) {
    if (token < 0 || token >= config.vocab_size) {
      throw Error("the sample has token " + std::to_string(token) + ", the model knows " +
                  std::to_string(config.vocab_size) + "; choose a task of the model's vocabulary with --task");
    }
  }
  EvaluationRequest request = evaluation_request(std::span(&sample, 1));
  request.tokens_BT = request.tokens_BT.to(device);
  request.positions_BQ = request.positions_BQ.to(device);
  return request;
}

// The first head with a bias and the first without, of each layer.
std::vector<BenchInput> trained_inputs(const KernelBenchOptions& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.checkpoint_path);
  const c10::Device device = open_device(options.device);
  const Decoder decoder = load_decoder(checkpoint, checkpoint.config(), at::kFloat, device);
  const std::vector<bool> has_position = decoder.head_has_position();
  std::vector<std::int64_t> chosen;
  for (const bool wanted : {true, false}) {
    const auto found = std::find(has_position.begin(), has_position.end(), wanted);
    if (found != has_position.end()) chosen.push_back(found - has_position.begin());
  }
  std::vector<BenchInput> inputs;
  EvaluationRequest request = request_of(options.sample, decoder.config(), device);
  request.on_attend = [&](std::int64_t layer, const AttendRequest& attention) {
    const bool topk = attention.normalizer.kind == Normalizer::Kind::kTopK;
    if (!uncovered_by_streaming(attention).empty() || attention.normalizer.adaptive || (topk && options.backward)) {
      throw Error("the heads of a model of " + decoder.config().transform_name() +
                  " cannot be timed: the streaming kernels have no single sweep for it");
    }
    for (const std::int64_t head : chosen) {
      const std::int64_t group = head / (attention.q_BHQD.size(1) / attention.k_BGKD.size(1));
      const Normalizer& normalizer = attention.normalizer;
      BenchInput input;
      const bool biased = has_position[static_cast<std::size_t>(head)];
      input.name = fmt::format("layer {} head {} ({})", layer, head, biased ? "positional" : "positionless");
      input.q_TD = attention.q_BHQD[0][head].clone();
      input.k_TD = attention.k_BGKD[0][group].clone();
      input.v_TD = attention.v_BGKD[0][group].clone();
      input.slope = attention.slopes.empty() ? 0 : attention.slopes[static_cast<std::size_t>(head)];
      input.alpha = normalizer.alpha_minus_one_H.defined() ? 1 + normalizer.alpha_minus_one_H[head].item<double>()
                    : normalizer.kind == Normalizer::Kind::kEntmax ? normalizer.alpha
                                                                   : options.alpha;
      input.topk = topk ? normalizer.topk : 0;
      inputs.push_back(std::move(input));
    }
  };
  decoder.hidden(request);
  return inputs;
}

}  // namespace

std::vector<KernelTiming> time_kernels(const KernelBenchOptions& options,
                                       const std::function<void(const std::string&)>& progress) {
  std::vector<KernelTiming> timings;
  const auto time = [&](const BenchInput& input) {
    progress(input.name);
    const std::vector<KernelTiming> timed = options.backward
                                                ? time_training(input, options.heads, options.repeats, options.threads)
                                                : time_input(input, options.repeats, options.threads, options.certify);
    timings.insert(timings.end(), timed.begin(), timed.end());
  };
  const c10::Device device = open_device(options.device);
  at::set_num_threads(options.threads);
  for (const double std : options.stds) {
    const std::int64_t rows = options.length * (options.backward ? options.heads : 1);
    BenchInput input = random_bench_input(rows, options.head_dim, std, options.alpha);
    for (at::Tensor* tensor : {&input.q_TD, &input.k_TD, &input.v_TD}) *tensor = tensor->to(device);
    time(input);
  }
  if (!options.checkpoint_path.empty()) {
    for (const BenchInput& input : trained_inputs(options)) time(input);
  }
  return timings;
}

EndToEndTiming time_model(const std::string& checkpoint_path, const Sample& sample, const OpenOptions& options,
                          std::int64_t repeats, bool beside_sdpa) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  const c10::Device device = open_device(options.device, options.dtype == "tf32");
  const Checkpoint checkpoint = Checkpoint::open(checkpoint_path);
  const Decoder decoder = load_decoder(checkpoint, checkpoint.config(), parse_compute_dtype(options.dtype), device);
  EvaluationRequest request = request_of(sample, decoder.config(), device);
  request.path = parse_attention_path(options.attention_path);
  // Work on a device is waited for by reading from it.
  const auto pass = [&](const EvaluationRequest& one) { decoder.logits(decoder.hidden(one)[0]).cpu(); };
  const auto timed_pass = [&](const EvaluationRequest& one) {
    const double start = steady_seconds();
    pass(one);
    return steady_seconds() - start;
  };
  EvaluationRequest with_sdpa = request;
  with_sdpa.attend_instead = causal_sdpa;
  pass(request);
  if (beside_sdpa) pass(with_sdpa);
  std::vector<std::pair<double, double>> rounds;  // seconds, of which in attention
  std::vector<double> seconds, sdpa_seconds, ratios;
  for (std::int64_t round = 0; round < repeats; ++round) {
    double attention = 0;
    request.attention_seconds = &attention;
    seconds.push_back(timed_pass(request));
    rounds.emplace_back(seconds.back(), attention);
    if (!beside_sdpa) continue;
    sdpa_seconds.push_back(timed_pass(with_sdpa));
    ratios.push_back(sdpa_seconds.back() / seconds.back());
  }
  std::sort(rounds.begin(), rounds.end());
  EndToEndTiming timing;
  timing.tokens = std::ssize(sample.tokens);
  timing.seconds = spread_of(seconds);
  const auto& [total, attention] = rounds[rounds.size() / 2];
  timing.attention_share = attention / total;
  if (beside_sdpa) {
    timing.sdpa_seconds = spread_of(sdpa_seconds);
    timing.sdpa_ratio = spread_of(ratios);
  }
  return timing;
}

}  // namespace lenbench
