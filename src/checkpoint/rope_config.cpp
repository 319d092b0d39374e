// Rotary positions, windows and sizes as the configurations of transformers' rotary families write them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "checkpoint/config_keys.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;
using Kind = RopeScaling::Kind;

// A number that several keys may give; they must agree.
class Agreed {
 public:
  Agreed(std::string where) : where_(std::move(where)) {}
  void offer(const std::string& key, std::optional<double> value) {
    if (!value) return;
    if (value_ && *value_ != *value) {
      throw Error(where_ + ": " + key_ + " is " + format_real(*value_) + " and " + key + " " + format_real(*value) +
                  "; they must agree");
    }
    value_ = value;
    key_ = key;
  }
  double or_else(double fallback) const { return value_.value_or(fallback); }

 private:
  std::string where_, key_;
  std::optional<double> value_;
};

// The name of the scaling; "default" where there is none and nothing to scale by.
std::string kind_in(ConfigKeys& keys) {
  const std::optional<std::string> type = keys.text("rope_type"), old = keys.text("type");
  if (type && old && *type != *old) {
    throw Error(keys.where() + ": rope_type is '" + printable(*type) + "' and type '" + printable(*old) +
                "'; they must agree");
  }
  if (type || old) return type ? *type : *old;
  if (keys.find("factor") != nullptr) {
    throw Error(keys.where() + ": has a factor but no rope_type; say linear, dynamic, llama3 or yarn, or take the " +
                "factor away");
  }
  return "default";
}

// Versions of transformers with the first form of YaRN, 4.43 to 4.50: the range of channels is read off
// max_position_embeddings, and neither original_max_position_embeddings nor mscale, mscale_all_dim and truncate are
// read.
bool has_first_yarn(const std::string& version) {
  const std::vector<std::string> parts = split(version, '.');
  if (parts.size() < 2 || parts[0] != "4" || parts[1].empty() || parts[1].size() > 2) return false;
  if (!std::all_of(parts[1].begin(), parts[1].end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  const std::int64_t minor = parse_int(parts[1], "transformers_version");
  return minor >= 43 && minor <= 50;
}

RopeScaling read_scaling(const Json& json, const DecoderConfig& config, const std::string& where,
                         std::optional<std::int64_t> outer_original, const std::string& version, Agreed& theta,
                         Agreed& partial) {
  if (!json.is_object()) throw Error(where + ": must be an object or null, got " + printable(json.dump()));
  for (const char* layer_type : {"full_attention", "sliding_attention"}) {
    if (json.contains(layer_type)) {
      throw Error(where + ": holds parameters by layer type; only one set for all layers is supported");
    }
  }
  ConfigKeys keys(json, where);
  RopeScaling scaling;
  scaling.kind = parse_rope_scaling_name(kind_in(keys), where);
  theta.offer("rope_theta of the RoPE parameters", keys.real("rope_theta"));
  partial.offer("partial_rotary_factor of the RoPE parameters", keys.real("partial_rotary_factor"));
  const std::optional<double> factor = keys.real("factor");
  const std::optional<std::int64_t> original = keys.size("original_max_position_embeddings");
  if (scaling.kind == Kind::kDynamic) {
    scaling.original_positions = config.context;  // as transformers does, whatever `original` says
  } else if (scaling.kind == Kind::kLlama3 || scaling.kind == Kind::kYarn) {
    scaling.original_positions = outer_original.value_or(original.value_or(config.context));
  }
  if (scaling.kind == Kind::kLlama3) {
    const std::optional<double> low = keys.real("low_freq_factor"), high = keys.real("high_freq_factor");
    if (!low || !high) throw Error(where + ": llama3 needs low_freq_factor and high_freq_factor");
    scaling.low_freq_factor = *low;
    scaling.high_freq_factor = *high;
  }
  if (scaling.kind == Kind::kYarn) {
    scaling.attention_factor = keys.real("attention_factor");
    // transformers takes 0 for "not given".
    if (const double value = keys.real("beta_fast", 0); value != 0) scaling.beta_fast = value;
    if (const double value = keys.real("beta_slow", 0); value != 0) scaling.beta_slow = value;
    scaling.mscale = keys.real("mscale", 0);
    scaling.mscale_all_dim = keys.real("mscale_all_dim", 0);
    scaling.truncate = keys.flag("truncate", true);
    keys.ignore({"finetuned"});
    if (has_first_yarn(version)) {
      scaling.original_positions = config.context;
      scaling.mscale = scaling.mscale_all_dim = 0;
      scaling.truncate = true;
    }
  }
  if (factor) {
    scaling.factor = *factor;
  } else if (scaling.kind == Kind::kYarn && scaling.original_positions > 0) {
    scaling.factor = static_cast<double>(config.context) / static_cast<double>(scaling.original_positions);
  } else if (scaling.kind != Kind::kNone) {
    throw Error(where + ": " + rope_scaling_name(scaling.kind) + " needs a factor");
  }
  keys.finish();
  return scaling;
}

}  // namespace

void read_rope(ConfigKeys& keys, DecoderConfig& config, double default_partial) {
  config.positions = "rope";
  Agreed theta(keys.where()), partial(keys.where());
  theta.offer("rope_theta", keys.real("rope_theta"));
  theta.offer("rotary_emb_base", keys.real("rotary_emb_base"));
  partial.offer("rotary_pct", keys.real("rotary_pct"));
  partial.offer("partial_rotary_factor", keys.real("partial_rotary_factor"));
  const std::optional<std::int64_t> original = keys.size("original_max_position_embeddings");
  const std::string version = keys.text("transformers_version", "");
  std::optional<RopeScaling> scaling;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* json = keys.find(key);
    if (json == nullptr || json->empty()) continue;
    const RopeScaling found = read_scaling(*json, config, keys.where() + ": " + key, original, version, theta, partial);
    if (scaling && *scaling != found) {
      throw Error(keys.where() + ": rope_scaling and rope_parameters say different things; keep one");
    }
    scaling = found;
  }
  config.rope_scaling = scaling.value_or(RopeScaling{});
  config.rope_theta = theta.or_else(10000.0);
  const double share = partial.or_else(default_partial);
  if (!(share > 0) || share > 1) {
    throw Error(keys.where() + ": the share of a head that rotates is " + format_real(share) +
                "; it must be above 0 and at most 1");
  }
  config.rotary_dim = static_cast<std::int64_t>(static_cast<double>(config.head_dim) * share);
}

std::int64_t read_window(ConfigKeys& keys, std::int64_t fallback) {
  if (!keys.holds("sliding_window")) return fallback;
  const std::optional<std::int64_t> window = keys.size("sliding_window");
  if (window && *window < 1) {
    throw Error(keys.where() + ": sliding_window is " + std::to_string(*window) +
                "; it must be at least 1, or null for none");
  }
  return window.value_or(0);
}

void read_windows(ConfigKeys& keys, DecoderConfig& config, std::int64_t window,
                  const std::function<bool(std::int64_t layer)>& is_windowed) {
  const Json* types = keys.find("layer_types");
  config.windows.clear();
  if (types != nullptr && (!types->is_array() || std::ssize(*types) != config.num_layers)) {
    throw Error(keys.where() + ": layer_types must be a list with one name a layer, got " + printable(types->dump()));
  }
  for (std::int64_t layer = 0; layer < config.num_layers && layer < kMaxLayers; ++layer) {
    bool windowed = is_windowed(layer);
    if (types != nullptr) {
      const Json& type = (*types)[static_cast<std::size_t>(layer)];
      windowed = type == "sliding_attention";
      if (!windowed && type != "full_attention") {
        throw Error(keys.where() + ": layer type " + printable(type.dump()) +
                    " is not supported; use full_attention or sliding_attention");
      }
    }
    if (windowed && types != nullptr && window == 0) {
      throw Error(keys.where() + ": layer_types has sliding_attention, but there is no sliding_window");
    }
    config.windows.push_back(windowed ? window : 0);
  }
  if (std::all_of(config.windows.begin(), config.windows.end(), [](std::int64_t w) { return w == 0; })) {
    config.windows.clear();
  }
}

DecoderConfig read_sizes(ConfigKeys& keys, const std::string& family) {
  DecoderConfig config;
  config.family = family;
  config.vocab_size = keys.required_size("vocab_size");
  config.hidden_size = keys.required_size("hidden_size");
  config.intermediate_size = keys.required_size("intermediate_size");
  config.num_layers = keys.required_size("num_hidden_layers");
  config.num_heads = config.num_kv_heads = keys.required_size("num_attention_heads");
  if (config.num_heads < 1) {
    throw Error(keys.where() + ": num_attention_heads is " + std::to_string(config.num_heads) +
                "; it must be at least 1");
  }
  config.head_dim = config.hidden_size / config.num_heads;
  const std::optional<std::int64_t> context = keys.size("max_position_embeddings");
  if (context && *context < 1) {
    throw Error(keys.where() + ": max_position_embeddings is " + std::to_string(*context) + "; it must be at least 1");
  }
  config.context = context.value_or(0);
  config.norm = NormKind::kRms;
  config.post_norms = false;
  config.scale_embedding = false;
  config.tie_word_embeddings = keys.flag("tie_word_embeddings", false);
  return config;
}

DecoderConfig read_llama_like(ConfigKeys& keys, const std::string& family) {
  DecoderConfig config = read_sizes(keys, family);
  config.num_kv_heads = keys.size("num_key_value_heads", config.num_heads);
  config.head_dim = keys.size("head_dim", config.head_dim);
  config.norm_eps = keys.real("rms_norm_eps", 1e-6);
  config.activation = parse_activation(keys.text("hidden_act", "silu"), keys.where() + ": hidden_act");
  return config;
}

void read_qwen_windows(ConfigKeys& keys, DecoderConfig& config) {
  const bool is_on = keys.flag("use_sliding_window", false);
  if (!is_on) keys.ignore({"sliding_window"});
  const std::int64_t window = is_on ? read_window(keys, 4096) : 0;
  const std::int64_t first = keys.size("max_window_layers", 28);
  read_windows(keys, config, window, [&](std::int64_t layer) { return layer >= first; });
}

}  // namespace lenbench
