// The formulas of scaled rotary frequencies, and their names.
#include "checkpoint/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"

namespace lenbench {
namespace {

using Kind = RopeScaling::Kind;

struct KindRow {
  Kind kind;
  const char* name;
};
constexpr KindRow kKinds[] = {{Kind::kNone, "default"},
                              {Kind::kLinear, "linear"},
                              {Kind::kDynamic, "dynamic"},
                              {Kind::kLlama3, "llama3"},
                              {Kind::kYarn, "yarn"}};

// YaRN's attention temperature, as a factor on cosines and sines (so squared on scores): 0.1 m ln(s) + 1.
double yarn_factor(double scale, double mscale) { return scale <= 1 ? 1.0 : 0.1 * mscale * std::log(scale) + 1.0; }

// The channel pair that turns `rotations` times over `positions`.
double yarn_channel(double rotations, double positions, double base, double channels) {
  return channels * std::log(positions / (rotations * 2 * std::numbers::pi)) / (2 * std::log(base));
}

struct Option {
  const char* name;
  double RopeScaling::*value;
  std::vector<Kind> kinds;
};

const std::vector<Option>& options() {
  static const std::vector<Option> all = {
      {"factor", &RopeScaling::factor, {Kind::kLinear, Kind::kDynamic, Kind::kLlama3, Kind::kYarn}},
      {"low", &RopeScaling::low_freq_factor, {Kind::kLlama3}},
      {"high", &RopeScaling::high_freq_factor, {Kind::kLlama3}},
      {"beta_fast", &RopeScaling::beta_fast, {Kind::kYarn}},
      {"beta_slow", &RopeScaling::beta_slow, {Kind::kYarn}},
      {"mscale", &RopeScaling::mscale, {Kind::kYarn}},
      {"mscale_all_dim", &RopeScaling::mscale_all_dim, {Kind::kYarn}},
  };
  return all;
}

bool has_option(const Option& option, Kind kind) {
  return std::find(option.kinds.begin(), option.kinds.end(), kind) != option.kinds.end();
}

bool needs_original(Kind kind) { return kind != Kind::kNone && kind != Kind::kLinear; }

bool parse_bool(const std::string& text, const std::string& what) {
  if (text != "true" && text != "false") throw Error(what + " is '" + printable(text) + "'; use true or false");
  return text == "true";
}

// One `name=value`.
void set_option(RopeScaling& scaling, const std::string& name, const std::string& value) {
  const std::string what = "--rope-scaling " + printable(name);
  std::vector<std::string> known;
  for (const Option& option : options()) {
    if (!has_option(option, scaling.kind)) continue;
    if (name == option.name) {
      scaling.*option.value = parse_real(value, what);
      return;
    }
    known.emplace_back(option.name);
  }
  if (needs_original(scaling.kind)) {
    if (name == "original") {
      scaling.original_positions = parse_int(value, what);
      return;
    }
    known.emplace_back("original");
  }
  if (scaling.kind == Kind::kYarn) {
    if (name == "attention_factor") {
      scaling.attention_factor = parse_real(value, what);
      return;
    }
    if (name == "truncate") {
      scaling.truncate = parse_bool(value, what);
      return;
    }
    known.insert(known.end(), {"attention_factor", "truncate"});
  }
  throw Error("--rope-scaling: " + std::string(rope_scaling_name(scaling.kind)) + " has no parameter '" +
              printable(name) + "'" + did_you_mean(name, known) + "; it takes " + join(known, ", "));
}

}  // namespace

const char* rope_scaling_name(Kind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

Kind parse_rope_scaling_name(std::string_view name, const std::string& where) {
  std::vector<std::string> known;
  for (const KindRow& row : kKinds) {
    if (name == row.name) return row.kind;
    known.emplace_back(row.name);
  }
  throw Error(where + ": RoPE scaling '" + printable(name) + "' is not supported" + did_you_mean(name, known) +
              "; known are " + join(known, ", "));
}

std::string rope_scaling_text(const RopeScaling& scaling) {
  if (scaling.kind == Kind::kNone) return "";
  const RopeScaling plain;
  std::vector<std::string> parts;
  for (const Option& option : options()) {
    const bool told = option.value == &RopeScaling::factor || scaling.*option.value != plain.*option.value;
    if (has_option(option, scaling.kind) && told) {
      parts.push_back(std::string(option.name) + "=" + format_real(scaling.*option.value));
    }
  }
  if (needs_original(scaling.kind)) parts.push_back("original=" + std::to_string(scaling.original_positions));
  if (scaling.attention_factor) parts.push_back("attention_factor=" + format_real(*scaling.attention_factor));
  if (!scaling.truncate) parts.push_back("truncate=false");
  return std::string(rope_scaling_name(scaling.kind)) + "(" + join(parts, ",") + ")";
}

RopeScaling parse_rope_scaling(std::string_view text, std::int64_t context) {
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  RopeScaling scaling;
  if (name == "none" || name == rope_scaling_name(Kind::kNone)) {
    if (colon != text.npos) throw Error("--rope-scaling: '" + printable(text) + "': " + name + " takes no parameters");
    return scaling;
  }
  scaling.kind = parse_rope_scaling_name(name, "--rope-scaling");
  scaling.original_positions = needs_original(scaling.kind) ? context : 0;
  std::set<std::string> given;
  if (colon != text.npos) {
    for (const std::string& part : split(text.substr(colon + 1), ',')) {
      const std::size_t equals = part.find('=');
      if (equals == part.npos) {
        throw Error("--rope-scaling: '" + printable(part) + "' is not NAME=VALUE, as in yarn:factor=4");
      }
      if (!given.insert(part.substr(0, equals)).second) {
        throw Error("--rope-scaling: " + printable(part.substr(0, equals)) + " is given twice");
      }
      set_option(scaling, part.substr(0, equals), part.substr(equals + 1));
    }
  }
  if (!given.contains("factor"))
    throw Error("--rope-scaling: '" + printable(text) + "' needs a factor, as in " + name + ":factor=4");
  if (needs_original(scaling.kind) && scaling.original_positions == 0 && !given.contains("original")) {
    throw Error("--rope-scaling: " + name + " needs original=N, the length before scaling; the model does not say it");
  }
  return scaling;
}

void check_rope_scaling(const RopeScaling& scaling, double base, std::int64_t channels, const std::string& where) {
  if (scaling.kind == Kind::kNone) return;
  const std::string name = where + ": RoPE scaling " + rope_scaling_name(scaling.kind);
  const auto above_zero = [&](double value, const char* what) {
    if (!std::isfinite(value) || value <= 0) {
      throw Error(name + ": " + what + " is " + (std::isfinite(value) ? format_real(value) : "not finite") +
                  "; it must be above 0");
    }
  };
  above_zero(scaling.factor, "factor");
  if (needs_original(scaling.kind) && scaling.original_positions < 1) {
    throw Error(name + ": original_max_position_embeddings is " + std::to_string(scaling.original_positions) +
                "; it must be at least 1");
  }
  if (scaling.kind == Kind::kDynamic) {
    if (channels <= 2)
      throw Error(name + ": needs more than 2 rotating channels a head, not " + std::to_string(channels));
    if (scaling.factor < 1) {
      throw Error(name + ": factor is " + format_real(scaling.factor) + "; the formula needs at least 1");
    }
  }
  if (scaling.kind == Kind::kLlama3) {
    above_zero(scaling.low_freq_factor, "low_freq_factor");
    above_zero(scaling.high_freq_factor, "high_freq_factor");
    if (scaling.high_freq_factor <= scaling.low_freq_factor) {
      throw Error(name + ": high_freq_factor (" + format_real(scaling.high_freq_factor) +
                  ") must be above low_freq_factor (" + format_real(scaling.low_freq_factor) + ")");
    }
  }
  if (scaling.kind == Kind::kYarn) {
    above_zero(scaling.beta_fast, "beta_fast");
    above_zero(scaling.beta_slow, "beta_slow");
    if (scaling.beta_fast < scaling.beta_slow) {
      throw Error(name + ": beta_fast (" + format_real(scaling.beta_fast) + ") must not be below beta_slow (" +
                  format_real(scaling.beta_slow) + ")");
    }
    if (base <= 1) throw Error(name + ": rope_theta is " + format_real(base) + "; the formula needs more than 1");
    above_zero(rope_attention_factor(scaling), "attention_factor");
  }
}

double rope_attention_factor(const RopeScaling& scaling) {
  if (scaling.kind != Kind::kYarn) return 1;
  if (scaling.attention_factor) return *scaling.attention_factor;
  if (scaling.mscale != 0 && scaling.mscale_all_dim != 0) {
    return yarn_factor(scaling.factor, scaling.mscale) / yarn_factor(scaling.factor, scaling.mscale_all_dim);
  }
  return yarn_factor(scaling.factor, 1);
}

std::vector<double> rope_frequencies(const RopeScaling& scaling, double base, std::int64_t channels,
                                     std::int64_t length) {
  const auto width = static_cast<double>(channels);
  const auto original = static_cast<double>(scaling.original_positions);
  if (scaling.kind == Kind::kDynamic && length > scaling.original_positions) {
    const double growth = scaling.factor * static_cast<double>(length) / original - (scaling.factor - 1);
    base *= std::pow(growth, width / (width - 2));
  }
  std::vector<double> frequencies;
  for (std::int64_t c = 0; c < channels / 2; ++c) {
    frequencies.push_back(std::pow(base, -2.0 * static_cast<double>(c) / width));
  }
  switch (scaling.kind) {
    case Kind::kNone:
    case Kind::kDynamic:
      break;
    case Kind::kLinear:
      for (double& frequency : frequencies) frequency /= scaling.factor;
      break;
    case Kind::kLlama3:
      for (double& frequency : frequencies) {
        const double rotations = original * frequency / (2 * std::numbers::pi);
        const double kept =
            (rotations - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
        const double share = std::clamp(kept, 0.0, 1.0);
        frequency = (1 - share) * frequency / scaling.factor + share * frequency;
      }
      break;
    case Kind::kYarn: {
      double low = yarn_channel(scaling.beta_fast, original, base, width);
      double high = yarn_channel(scaling.beta_slow, original, base, width);
      if (scaling.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
      }
      low = std::max(low, 0.0);
      high = std::min(high, width - 1);
      if (low == high) high += 0.001;
      for (std::size_t c = 0; c < frequencies.size(); ++c) {
        const double interpolated = std::clamp((static_cast<double>(c) - low) / (high - low), 0.0, 1.0);
        frequencies[c] = interpolated * frequencies[c] / scaling.factor + (1 - interpolated) * frequencies[c];
      }
      break;
    }
  }
  return frequencies;
}

}  // namespace lenbench
