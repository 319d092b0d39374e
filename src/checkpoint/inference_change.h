// What-if: another attention transform or position treatment on a trained model, at inference.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/config.h"

namespace lenbench {

// As the flags of that name have them; empty: as trained.
struct InferenceChange {
  std::string transform;     // "adaptive-temperature", "ssmax:s=0.43", "entmax:alpha=1.5"
  std::string alpha;         // "1.5": short for entmax with that alpha
  std::string rope_scaling;  // "yarn:factor=4", as parse_rope_scaling takes it
};

// The configuration of the changed model; transform_name() and positions_name() then tell it from the trained one, so
// Records of the two never mix. Its parameters are among those of `config`. Throws Error for a change that is not
// known, not complete, or has no meaning for the model. `train_length` (0: unknown) stands for the length before a RoPE
// scaling where neither the change nor the configuration says it.
DecoderConfig changed_at_inference(DecoderConfig config, const InferenceChange& change, std::int64_t train_length);

}  // namespace lenbench
