// Memory of an evaluation, counted from the tensors that Decoder::hidden and judge hold at their peak.
#include "model/memory.h"

#include <algorithm>

#include "model/judge.h"

namespace lenbench {

std::int64_t predicted_evaluation_bytes(const Decoder& decoder, std::int64_t batch, std::int64_t tokens,
                                        std::int64_t judged) {
  const DecoderConfig& config = decoder.config();
  const std::int64_t element = decoder.dtype() == at::kDouble ? 8 : 4;
  const std::int64_t queries = config.num_heads * config.head_dim, keys = config.num_kv_heads * config.head_dim;
  // Token ids, residual stream, q, k, v and attention's result of every row.
  const std::int64_t rows = batch * tokens * (8 + element * (config.hidden_size + 2 * queries + 2 * keys));
  const std::int64_t chunk_rows = batch * std::min(tokens, decoder.chunk_tokens(batch));
  const std::int64_t chunk = chunk_rows * element * (4 * config.intermediate_size + 3 * config.hidden_size);
  const std::int64_t logits = std::min(kLogitBytes, batch * judged * config.vocab_size * 8) * 5 / 2;
  return rows + std::max(chunk, logits) + batch * judged * element * config.hidden_size;
}

}  // namespace lenbench
