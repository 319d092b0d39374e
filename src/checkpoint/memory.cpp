// Memory of an evaluation, counted from the tensors that Decoder::hidden and judge hold at their peak.
#include "checkpoint/memory.h"

#include <algorithm>

#include "checkpoint/family.h"
#include "checkpoint/set_model.h"

namespace lenbench {
namespace {

// Elements of one scratch tensor; a handful of them live at a time.
constexpr std::int64_t kScratchElements = std::int64_t{1} << 20;
constexpr std::int64_t kStatisticsBytes = 44;
constexpr std::int64_t kCodeBytes = 16;  // of a key beside its coded channels
// malloc keeps blocks up to this size when they are freed. Measured where ranks share rows: as much as six of a head's
// keys stay unused.
constexpr std::int64_t kKeptBlockBytes = std::int64_t{32} << 20, kKeptBlocks = 6;
constexpr std::int64_t kConvertedBytes = std::int64_t{64} << 20;  // see converts_when_loaded
// Kernels' scratch and what the allocator keeps.
constexpr std::int64_t kConstantBytes = std::int64_t{16} << 20;

// What the reference path holds besides, where windows or capped scores ask for it: a block of scores, its masks, and
// the intermediates of its normalizer and statistics.
std::int64_t reference_bytes(const DecoderConfig& config, std::int64_t element, std::int64_t batch,
                             std::int64_t tokens) {
  const bool is_windowed = std::any_of(config.windows.begin(), config.windows.end(),
                                       [&](std::int64_t window) { return window > 0 && window < tokens; });
  if (config.score_softcap == 0 && !is_windowed) return 0;
  return std::max(kScratchElements, batch * config.num_heads * tokens) * (5 * element + 26);
}

// While a layer attends and ranks share the rows: ids of every token; k and v of one head, and a rank's part of them on
// its way; of the rows held residual stream, q that becomes the result, k and v, of one head's q as the kernels want it
// and result, and the statistics, of each head and joined.
std::int64_t shared_bytes(const DecoderConfig& config, std::int64_t element, std::int64_t batch, std::int64_t tokens,
                          std::int64_t rows) {
  const std::int64_t heads_each = config.num_heads / config.num_kv_heads;
  const std::int64_t of_tokens = 8 + element * 2 * config.head_dim + config.head_dim + kCodeBytes;
  const std::int64_t channels = config.hidden_size + config.num_heads * config.head_dim +
                                2 * config.num_kv_heads * config.head_dim + (1 + 2 * heads_each) * config.head_dim;
  const std::int64_t of_rows = 32 + element * channels + kStatisticsBytes * (config.num_heads + heads_each);
  const std::int64_t block = batch * tokens * config.head_dim * element;
  const std::int64_t kept = block <= kKeptBlockBytes ? kKeptBlocks * block : 0;
  return batch * (tokens * of_tokens + rows * of_rows) + kept;
}

}  // namespace

std::int64_t evaluation_chunk_tokens(const DecoderConfig& config, std::int64_t batch) {
  const std::int64_t widest =
      std::max({config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim});
  return std::max<std::int64_t>(64, kScratchElements / (batch * widest));
}

std::int64_t predicted_evaluation_bytes(const DecoderConfig& config, std::int64_t element, std::int64_t batch,
                                        std::int64_t tokens, std::int64_t judged, int ranks) {
  if (config.item_classes > 0) return predicted_set_bytes(config, element, batch, tokens);
  const std::int64_t queries = config.num_heads * config.head_dim, keys = config.num_kv_heads * config.head_dim;
  const std::int64_t rows = (tokens + ranks - 1) / ranks;
  // While a layer attends: ids, residual stream, q, q as the kernels want it, result, k and v of every row, and the
  // statistics of every row and head.
  std::int64_t attending =
      batch * rows *
      (40 + element * (config.hidden_size + 3 * queries + 2 * keys) + kStatisticsBytes * config.num_heads);
  if (ranks > 1) attending = shared_bytes(config, element, batch, tokens, rows);
  // While a chunk goes through the MLP: residual stream and attention's result of every row, intermediates of a chunk.
  const std::int64_t chunk_rows = batch * std::min(rows, evaluation_chunk_tokens(config, batch));
  const std::int64_t chunk = chunk_rows * element * (queries + 4 * config.hidden_size + 4 * config.intermediate_size);
  const std::int64_t passing = batch * rows * element * (config.hidden_size + queries) + chunk;
  // While rows are judged, on one rank at worst: their hidden state; logits as computed, in double, and as
  // exponentials.
  const std::int64_t logits =
      std::min(std::max(kLogitBytes, config.vocab_size * 8), batch * judged * config.vocab_size * 8);
  const std::int64_t judging = batch * judged * element * config.hidden_size + logits * 7 / 2;
  return std::max({attending + reference_bytes(config, element, batch, tokens), passing, judging}) + kConstantBytes;
}

std::int64_t stored_bytes(const Checkpoint& checkpoint) {
  std::int64_t bytes = 0;
  for (const auto& [name, view] : checkpoint.tensors()) bytes += std::ssize(view.bytes);
  return bytes;
}

bool converts_when_loaded(const Checkpoint& checkpoint) {
  return checkpoint.config().item_classes > 0 || stored_bytes(checkpoint) <= kConvertedBytes;
}

std::int64_t converted_bytes(const Checkpoint& checkpoint, std::int64_t element) {
  if (converts_when_loaded(checkpoint)) return 0;
  // One layer and the output weights are converted at a time.
  const DecoderConfig& config = checkpoint.config();
  std::int64_t layer = 0, output = 0;
  for (const TensorSpec& spec : tensor_specs(config)) {
    const StoredTensor stored = stored_tensor(config, spec);
    const TensorView& view = checkpoint.tensors().at(stored.name);
    if (dtype_bytes(view.dtype) == element && stored.layout == Layout::kSame) continue;
    const std::int64_t bytes = num_elements(spec) * element;
    if (spec.name.starts_with("model.layers.0.")) layer += bytes;
    if (spec.name == (config.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight")) output = bytes;
  }
  return layer + output;
}

Operations evaluation_operations(const DecoderConfig& config, std::int64_t tokens, std::int64_t judged) {
  const auto T = static_cast<double>(tokens), Q = static_cast<double>(std::min(judged, tokens));
  const auto width = static_cast<double>(config.hidden_size);
  const auto queries = static_cast<double>(config.num_heads * config.head_dim);
  const auto keys = static_cast<double>(config.num_kv_heads * config.head_dim);
  const double mlp = width * static_cast<double>(config.intermediate_size) * (config.gated_mlp ? 3 : 2);
  Operations operations;
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
    // The last layer has queries and MLP for the judged rows alone.
    const bool last = layer + 1 == config.num_layers;
    const double rows = last ? Q : T;
    const auto window = static_cast<double>(config.window(layer));
    double visible = last ? Q * T : T * (T + 1) / 2;
    if (window > 0 && window < T) visible = last ? Q * window : window * T - window * (window - 1) / 2;
    operations.attention += 4 * queries * visible;
    operations.rest += 2 * (2 * T * width * keys + rows * (2 * width * queries + mlp));
  }
  operations.rest += 2 * Q * width * static_cast<double>(config.vocab_size);
  return operations;
}

}  // namespace lenbench
