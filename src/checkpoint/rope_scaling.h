// Scalings of rotary frequencies: what they are, and the frequencies they give. No torch.
//
// A channel pair c of C rotates by position * f_c; unscaled f_c = base^(-c/C). Every formula is that of the
// transformers library (modeling_rope_utils), in double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lenbench {

struct RopeScaling {
  enum class Kind {
    kNone,
    kLinear,   // f / factor (position interpolation, arXiv 2306.15595)
    kDynamic,  // NTK-aware: a base that grows with the length of the whole text beyond original_positions
    kLlama3,   // f / factor for long wavelengths, f for short ones, a blend between
    kYarn,     // f / factor blended with f by the number of rotations, and a temperature (arXiv 2309.00071)
  };
  Kind kind = Kind::kNone;
  double factor = 1;
  std::int64_t original_positions = 0;               // dynamic, llama3, yarn: length before the scaling
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn: rotations at the ends of the blend
  bool truncate = true;                              // yarn: the ends are rounded to whole channels
  // yarn: what cosines and sines are multiplied by; none: from factor and the two mscales (0: not given).
  std::optional<double> attention_factor;
  double mscale = 0, mscale_all_dim = 0;
  bool operator==(const RopeScaling&) const = default;
};

// "linear", "dynamic", "llama3", "yarn"; "default" for kNone.
const char* rope_scaling_name(RopeScaling::Kind kind);
// Throws Error opening with `where`, naming the known ones.
RopeScaling::Kind parse_rope_scaling_name(std::string_view name, const std::string& where);

// "yarn(factor=4,original=32)": the kind with every value that differs from its default; "" for kNone.
std::string rope_scaling_text(const RopeScaling& scaling);

// The value of --rope-scaling: "yarn:factor=4,original=2048" with any of factor, original, low, high (llama3),
// beta_fast, beta_slow, attention_factor, mscale, mscale_all_dim, truncate=true|false (yarn); "none" takes a scaling
// away. `context` stands for `original` where that is not given; Error where neither is and the kind needs it.
RopeScaling parse_rope_scaling(std::string_view text, std::int64_t context);

// Throws Error opening with `where` for values that no formula can take.
void check_rope_scaling(const RopeScaling& scaling, double base, std::int64_t channels, const std::string& where);

// What multiplies cosines and sines.
double rope_attention_factor(const RopeScaling& scaling);

// f_c of `channels` / 2 pairs for a text of `length` tokens. Requires a scaling that was checked.
std::vector<double> rope_frequencies(const RopeScaling& scaling, double base, std::int64_t channels,
                                     std::int64_t length);

}  // namespace lenbench
