// Reads a config.json key by key and refuses what nobody asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "checkpoint/config.h"

namespace lenbench {

// Each reader marks its key as known. Absent and null mean the same: the fallback. Errors open with `where` and name
// the key and its value.
class ConfigKeys {
 public:
  // `json` is an object and outlives this.
  ConfigKeys(const nlohmann::ordered_json& json, std::string where);

  const std::string& where() const { return where_; }
  // Whether the key is there, with null too.
  bool holds(const std::string& key) const;
  // The value, null where it is absent or null.
  const nlohmann::ordered_json* find(const std::string& key);

  std::int64_t required_size(const std::string& key);
  std::optional<std::int64_t> size(const std::string& key);
  std::int64_t size(const std::string& key, std::int64_t fallback) { return size(key).value_or(fallback); }
  std::optional<double> real(const std::string& key);
  double real(const std::string& key, double fallback) { return real(key).value_or(fallback); }
  bool flag(const std::string& key, bool fallback);
  std::optional<std::string> text(const std::string& key);
  std::string text(const std::string& key, const std::string& fallback) { return text(key).value_or(fallback); }

  // Keys that change nothing.
  void ignore(std::initializer_list<const char*> keys);
  // Throws Error when `key` is there and is not null, false or empty; `why` ends the message.
  void refuse_unless_off(const std::string& key, const std::string& why);
  // Throws Error for a key that no reader asked for, beyond those that every family's files may have.
  void finish();

 private:
  const nlohmann::ordered_json& json_;
  std::string where_;
  std::set<std::string> known_;
};

// True for null, false, an empty object or list.
bool says_no(const nlohmann::ordered_json& value);
// True for bookkeeping, generation defaults and training keys that every family's files may have and that change
// nothing.
bool is_harmless_key(const std::string& key);

// Throws Error naming the known ones ("silu", "gelu", "gelu_new", ...).
Activation parse_activation(const std::string& name, const std::string& where);

// What all of transformers' rotary families share: rope_theta, rope_scaling or rope_parameters, and
// partial_rotary_factor; and their older names. Call when the sizes and `context` of `config` are set.
void read_rope(ConfigKeys& keys, DecoderConfig& config, double default_partial = 1.0);

// sliding_window: `fallback` where it is absent, 0 (none) where it is null. Throws Error below 1.
std::int64_t read_window(ConfigKeys& keys, std::int64_t fallback);

// layer_types, or where it is absent the rule: layer l has a window where `is_windowed(l)`. `window` 0: there is none.
void read_windows(ConfigKeys& keys, DecoderConfig& config, std::int64_t window,
                  const std::function<bool(std::int64_t layer)>& is_windowed);

// vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, max_position_embeddings and
// tie_word_embeddings, with one key/value head a head, in blocks of RMSNorm without posts and unscaled embeddings.
DecoderConfig read_sizes(ConfigKeys& keys, const std::string& family);

// read_sizes and what Llama's descendants add: num_key_value_heads, head_dim, rms_norm_eps, hidden_act of a gated MLP.
DecoderConfig read_llama_like(ConfigKeys& keys, const std::string& family);

// Windows of Qwen 2 and 3: with use_sliding_window, in the layers from max_window_layers on.
void read_qwen_windows(ConfigKeys& keys, DecoderConfig& config);

}  // namespace lenbench
