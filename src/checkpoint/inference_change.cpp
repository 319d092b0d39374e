// Applies what-if changes to a configuration.
#include "checkpoint/inference_change.h"

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"

namespace lenbench {
namespace {

// The VALUE of "NAME:key=VALUE". Throws Error when it has another form.
std::string parameter_of(const std::string& text, const std::string& key, const char* example) {
  const std::string start = ":" + key + "=";
  const std::size_t colon = text.find(':');
  if (colon == text.npos || text.compare(colon, start.size(), start) != 0 || text.size() == colon + start.size()) {
    throw Error("--transform '" + printable(text) + "' must say " + key + ", as in " + example);
  }
  return text.substr(colon + start.size());
}

void set_alpha(DecoderConfig& config, const std::string& text, const std::string& what) {
  const double alpha = parse_real(text, what);
  if (alpha <= 1 || alpha > 2) {
    throw Error(what + " is " + printable(text) + "; it must be above 1 (softmax) and at most 2 (sparsemax)");
  }
  if (config.topk_size > 0) throw Error(what + " has no meaning for a model of " + config.transform_name());
  config.entmax_alpha = alpha;
  config.alpha_learnable = false;
}

void set_transform(DecoderConfig& config, const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  if (name == "adaptive-temperature" && text == name) {
    const bool plain = config.entmax_alpha == 1 && !config.alpha_learnable && config.topk_size == 0;
    if (!plain) {
      throw Error("transform adaptive-temperature needs a softmax model; this one is " + config.transform_name());
    }
    config.adaptive_temperature = true;
  } else if (name == "ssmax") {
    if (config.attn_scale_type != "none") {
      throw Error("transform ssmax needs a model without a length scale; this one is " + config.transform_name());
    }
    const double s = parse_real(parameter_of(text, "s", "ssmax:s=0.43"), "--transform ssmax: s");
    if (s <= 0) throw Error("--transform ssmax: s is " + format_real(s) + "; it must be above 0");
    config.attn_scale_type = "fixed";
    config.ssmax_s = s;
  } else if (name == "entmax") {
    set_alpha(config, parameter_of(text, "alpha", "entmax:alpha=1.5"), "--transform entmax: alpha");
  } else {
    const std::vector<std::string> known = {"adaptive-temperature", "ssmax:s=S", "entmax:alpha=A"};
    throw Error("transform '" + printable(text) + "' cannot be applied at inference" + did_you_mean(text, known) +
                "; use " + join(known, ", "));
  }
}

}  // namespace

DecoderConfig changed_at_inference(DecoderConfig config, const InferenceChange& change, std::int64_t train_length) {
  if (!change.transform.empty()) set_transform(config, change.transform);
  if (!change.alpha.empty()) {
    if (change.transform.starts_with("entmax")) throw Error("--alpha and --transform entmax say the same; keep one");
    if (config.adaptive_temperature) throw Error("--alpha: adaptive temperature works with softmax only");
    set_alpha(config, change.alpha, "--alpha");
  }
  if (!change.rope_scaling.empty()) {
    if (config.positions != "rope") {
      throw Error("--rope-scaling '" + printable(change.rope_scaling) +
                  "' needs a model with rotary positions; this one has " + config.positions);
    }
    config.rope_scaling = parse_rope_scaling(change.rope_scaling, config.context > 0 ? config.context : train_length);
  }
  check_config(config, "the changed model");
  return config;
}

}  // namespace lenbench
