// Memory of an evaluation, counted from the tensors that Decoder::hidden and judge hold at their peak.
#include "checkpoint/memory.h"

#include <algorithm>

#include "checkpoint/set_model.h"

namespace lenbench {
namespace {

// Elements of one scratch tensor; a handful of them live at a time.
constexpr std::int64_t kScratchElements = std::int64_t{1} << 20;
constexpr std::int64_t kStatisticsBytes = 44;
// Kernels' scratch and what the allocator keeps.
constexpr std::int64_t kConstantBytes = std::int64_t{11} << 20;

}  // namespace

std::int64_t evaluation_chunk_tokens(const DecoderConfig& config, std::int64_t batch) {
  const std::int64_t widest =
      std::max({config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim});
  return std::max<std::int64_t>(64, kScratchElements / (batch * widest));
}

std::int64_t predicted_evaluation_bytes(const DecoderConfig& config, std::int64_t element, std::int64_t batch,
                                        std::int64_t tokens, std::int64_t judged) {
  if (config.item_classes > 0) return predicted_set_bytes(config, element, batch, tokens);
  const std::int64_t queries = config.num_heads * config.head_dim, keys = config.num_kv_heads * config.head_dim;
  // While a layer attends: ids, residual stream, q, q as the kernels want it, result, k and v of every row, and the
  // statistics of every row and head.
  const std::int64_t attending =
      batch * tokens *
      (40 + element * (config.hidden_size + 3 * queries + 2 * keys) + kStatisticsBytes * config.num_heads);
  // While a chunk goes through the MLP: residual stream and attention's result of every row, intermediates of a chunk.
  const std::int64_t chunk_rows = batch * std::min(tokens, evaluation_chunk_tokens(config, batch));
  const std::int64_t chunk = chunk_rows * element * (queries + 4 * config.hidden_size + 4 * config.intermediate_size);
  const std::int64_t passing = batch * tokens * element * (config.hidden_size + queries) + chunk;
  // While rows are judged: their hidden state; logits as computed, in double, and as exponentials.
  const std::int64_t logits =
      std::min(std::max(kLogitBytes, config.vocab_size * 8), batch * judged * config.vocab_size * 8);
  const std::int64_t judging = batch * judged * element * config.hidden_size + logits * 7 / 2;
  return std::max({attending, passing, judging}) + kConstantBytes;
}

}  // namespace lenbench
