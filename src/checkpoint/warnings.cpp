// Looks over configurations and tensors for what is allowed but seldom meant.
#include "checkpoint/warnings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/names.h"
#include "base/numbers.h"

namespace lenbench {
namespace {

using Kind = RopeScaling::Kind;

// Models of fewer tokens than this are seldom scaled on purpose.
constexpr std::int64_t kShortContext = 256;

void warn_of_scaling(const DecoderConfig& config, std::vector<std::string>& warnings) {
  const RopeScaling& scaling = config.rope_scaling;
  if (scaling.kind == Kind::kNone) {
    if (scaling.factor != 1) {
      warnings.push_back("RoPE type default: its factor " + format_real(scaling.factor) + " is not used");
    }
    return;
  }
  const std::string name = std::string("RoPE scaling ") + rope_scaling_name(scaling.kind);
  const std::int64_t original = scaling.original_positions > 0 ? scaling.original_positions : config.context;
  if (scaling.factor < 1) {
    warnings.push_back(name + ": factor " + format_real(scaling.factor) + " is below 1, which shortens the context");
  } else if (scaling.factor == 1) {
    warnings.push_back(name + ": factor 1 scales nothing");
  }
  if (config.context > 0 && original > config.context) {
    warnings.push_back(name + ": original_max_position_embeddings " + std::to_string(original) +
                       " is above max_position_embeddings " + std::to_string(config.context));
  }
  const double reach = scaling.factor * static_cast<double>(original);
  if (scaling.kind == Kind::kYarn && config.context > 0 && static_cast<double>(config.context) > reach) {
    warnings.push_back(name + ": max_position_embeddings " + std::to_string(config.context) +
                       " is beyond factor times " + std::to_string(original));
  }
  if (scaling.kind == Kind::kYarn && scaling.attention_factor) {
    RopeScaling derived = scaling;
    derived.attention_factor.reset();
    const double usual = rope_attention_factor(derived);
    if (std::abs(*scaling.attention_factor - usual) > 0.05 * usual) {
      warnings.push_back(name + ": attention_factor " + format_real(*scaling.attention_factor) + " is not the " +
                         format_real(usual) + " that factor gives");
    }
  }
  if (original > 0 && original < kShortContext) {
    warnings.push_back(name + " of a model of only " + std::to_string(original) + " tokens");
  }
}

}  // namespace

std::string stored_types(const Checkpoint& checkpoint) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [name, view] : checkpoint.tensors()) ++counts[dtype_name(view.dtype)];
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [name, count] : counts) order.emplace_back(count, name);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  for (const auto& [count, name] : order) {
    parts.push_back(order.size() == 1 ? name : name + " (" + std::to_string(count) + " tensors)");
  }
  return join(parts, ", ");
}

std::vector<std::string> checkpoint_warnings(const Checkpoint& checkpoint) {
  const DecoderConfig& config = checkpoint.config();
  std::vector<std::string> warnings;
  if (checkpoint.files().index_ignored) warnings.push_back("an index of shards is there and was ignored");
  if (checkpoint.tied_twice())
    warnings.push_back("tied weights are stored twice: the output layer again, equal to the embedding");
  const std::string types = stored_types(checkpoint);
  if (types.find(',') != types.npos) warnings.push_back("tensors of several types: " + types);
  if (config.positions == "rope") warn_of_scaling(config, warnings);
  if (config.rows_depend_on_length()) {
    warnings.push_back(
        "dynamic scaling makes a row depend on the length of the whole text: Records are marked teacher_forced");
  }
  const bool never_narrow = !config.windows.empty() && config.context > 0 &&
                            std::all_of(config.windows.begin(), config.windows.end(),
                                        [&](std::int64_t window) { return window == 0 || window >= config.context; });
  if (never_narrow) {
    warnings.push_back("sliding windows are not below max_position_embeddings " + std::to_string(config.context) +
                       ": up to there they change nothing");
  }
  return warnings;
}

}  // namespace lenbench
