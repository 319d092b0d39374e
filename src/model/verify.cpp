// Verifies a checkpoint against dumped logits and attention statistics.
#include "model/verify.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "checkpoint/safetensors.h"
#include "model/device.h"
#include "model/predictor.h"
#include "model/weights.h"

namespace lenbench {
namespace {

using Table = std::vector<std::vector<double>>;

const TensorView& expected_tensor(const SafetensorsFile& file, const char* name) {
  const auto found = file.tensors().find(name);
  if (found == file.tensors().end()) {
    throw Error(printable(file.path()) + ": tensor '" + name + "' is missing; expected input_ids and logits");
  }
  return found->second;
}

struct Expected {
  at::Tensor tokens_BT, logits_BTV;
};

Expected read_expected(const std::string& path, const DecoderConfig& config) {
  if (config.item_classes > 0) {
    throw Error(printable(path) +
                ": cannot be compared: a model of sets answers items, and a dump holds logits of tokens");
  }
  const SafetensorsFile file(path);
  const std::string where = printable(path);
  const TensorView& ids = expected_tensor(file, "input_ids");
  const TensorView& logits = expected_tensor(file, "logits");
  const bool integers = ids.dtype == Dtype::kI64 || ids.dtype == Dtype::kI32;
  if (!integers || ids.shape.size() != 2 || ids.num_elements() == 0) {
    throw Error(where + ": input_ids must be I64 [B, T], got " + dtype_name(ids.dtype) + " " + shape_text(ids.shape));
  }
  const std::vector<std::int64_t> wanted = {ids.shape[0], ids.shape[1], config.vocab_size};
  if (!is_floating(logits.dtype) || logits.shape != wanted) {
    throw Error(where + ": logits must be floating " + shape_text(wanted) + " for this model, got " +
                dtype_name(logits.dtype) + " " + shape_text(logits.shape));
  }
  Expected expected{to_tensor(ids).to(at::kLong), to_tensor(logits).to(at::kDouble)};
  const std::int64_t lowest = expected.tokens_BT.min().item<std::int64_t>();
  const std::int64_t highest = expected.tokens_BT.max().item<std::int64_t>();
  if (lowest < 0 || highest >= config.vocab_size) {
    throw Error(where + ": input_ids hold " + std::to_string(lowest < 0 ? lowest : highest) +
                ", outside the model's vocabulary of " + std::to_string(config.vocab_size));
  }
  return expected;
}

Table read_table(const nlohmann::ordered_json& json, const DecoderConfig& config, const std::string& where) {
  const auto fail = [&] {
    throw Error(where + ": must be " + std::to_string(config.num_layers) + " lists of " +
                std::to_string(config.num_heads) + " numbers");
  };
  Table table;
  if (!json.is_array() || std::ssize(json) != config.num_layers) fail();
  for (const auto& row : json) {
    if (!row.is_array() || std::ssize(row) != config.num_heads) fail();
    table.emplace_back();
    for (const auto& value : row) {
      if (!value.is_number()) fail();
      table.back().push_back(value.get<double>());
    }
  }
  return table;
}

// Largest difference between the table and `mean` of each head. Written so that NaN on either side is the largest.
template <class Mean>
double largest_difference(const Table& table, const std::vector<HeadStats>& stats, Mean mean) {
  double largest = 0;
  std::size_t next = 0;
  for (const auto& row : table) {
    for (const double value : row) {
      const double difference = std::abs(mean(stats[next++]) - value);
      if (!(difference <= largest)) largest = difference;
    }
  }
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
}

void compare_attention(const std::string& path, const DecoderConfig& config, const std::vector<HeadStats>& stats,
                       VerifyResult& result) {
  const std::string where = printable(path);
  const nlohmann::ordered_json json = parse_json(read_file(path), where);
  const char* entropy = "mean_normalized_entropy_layer_head";
  const char* support = "mean_support_layer_head";
  if (!json.is_object() || !json.contains(entropy)) throw Error(where + ": '" + entropy + "' is missing");
  result.max_entropy_difference = largest_difference(
      read_table(json[entropy], config, where + ": " + entropy), stats,
      [](const HeadStats& head) { return head.normalized_entropy / static_cast<double>(head.normalized_rows); });
  if (!json.contains(support)) return;
  result.max_support_difference =
      largest_difference(read_table(json[support], config, where + ": " + support), stats,
                         [](const HeadStats& head) { return head.support / static_cast<double>(head.rows); });
}

}  // namespace

VerifyResult verify_checkpoint(const std::string& checkpoint_path, const std::string& expected_path,
                               const std::string& attention_path, const OpenOptions& options) {
  const at::NoGradGuard no_grad;
  const c10::Device device = open_device(options.device, options.dtype == "tf32");
  if (options.threads > 0) at::set_num_threads(options.threads);
  const Checkpoint checkpoint = Checkpoint::open(checkpoint_path);
  const DecoderConfig config = inference_config(checkpoint, options);
  const Expected expected = read_expected(expected_path, config);
  const Decoder decoder = load_decoder(checkpoint, config, parse_compute_dtype(options.dtype), device);

  std::vector<HeadStats> stats(static_cast<std::size_t>(config.num_layers * config.num_heads));
  EvaluationRequest request;
  const std::int64_t batch = expected.tokens_BT.size(0), tokens = expected.tokens_BT.size(1);
  request.tokens_BT = expected.tokens_BT.to(device);
  request.positions_BQ = at::arange(tokens, request.tokens_BT.options()).expand({batch, tokens});
  request.path = parse_attention_path(options.attention_path);
  if (!attention_path.empty()) {
    request.probe = ProbeRows::kAll;
    request.lengths.assign(static_cast<std::size_t>(batch), tokens);
    request.stats = &stats;
  }
  const at::Tensor hidden_NE = decoder.hidden(request).flatten(0, 1);
  const at::Tensor difference =
      (decoder.logits(hidden_NE).to(at::kCPU, at::kDouble) - expected.logits_BTV.flatten(0, 1)).abs().flatten();

  VerifyResult result;
  // NaN counts as the largest difference; argmax finds it first.
  const std::int64_t worst = difference.argmax().item<std::int64_t>();
  const double largest = difference[worst].item<double>();
  result.max_abs_logit_difference = std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
  result.worst_token = worst % config.vocab_size;
  result.worst_position = worst / config.vocab_size % tokens;
  result.worst_row = worst / config.vocab_size / tokens;
  if (!attention_path.empty()) compare_attention(attention_path, config, stats, result);
  return result;
}

}  // namespace lenbench
