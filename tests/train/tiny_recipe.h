// A recipe small enough to train within a test.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/base/temporary_folder.h"

namespace lenbench {

inline nlohmann::ordered_json tiny_recipe() {
  return nlohmann::ordered_json::parse(R"({
    "name": "tiny", "method": "asentmax", "seed": 3, "steps": 12, "batch": 8,
    "model": {
      "architectures": ["SparseGemma2ForCausalLM"], "model_type": "gemma2",
      "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 4, "head_dim": 4, "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
      "tie_word_embeddings": false, "attn_logit_softcapping": null, "final_logit_softcapping": null,
      "apply_rotary": false, "apply_nape": true, "entmax_alpha": 1.5,
      "attn_scale_type": "adapt-softplus-tanh", "attn_scale_proj_bias": true
    },
    "optimizer": {"learning_rate": 0.01, "warmup_steps": 3},
    "lengths": {"low": 16, "high": 24, "grow_from": 16, "grow_until": 0.5},
    "sources": [{"task": "recall:keys=6,values=4,filler=4,queries=4,repeat=true", "weight": 2},
                {"task": "recall:keys=6,values=4,filler=4,queries=2", "weight": 1, "from": 0.25}],
    "validation": {"task": "recall:keys=6,values=4,filler=4,queries=2", "length": 24, "samples": 16, "every_steps": 4},
    "log_every_steps": 2, "save_every_steps": 3
  })");
}

// Writes it as FOLDER/recipe.json and returns the path.
inline std::string write_recipe(const TemporaryFolder& folder, const nlohmann::ordered_json& recipe,
                                const std::string& name = "recipe.json") {
  std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << recipe.dump();
  return folder / name;
}

}  // namespace lenbench
