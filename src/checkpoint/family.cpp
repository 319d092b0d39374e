// The catalogue of families, which one a config.json names, and where its tensors are.
#include "checkpoint/family.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLayerPrefix = "model.layers.";

bool has_architecture(const Family& family, const std::string& name) {
  return std::find(family.architectures.begin(), family.architectures.end(), name) != family.architectures.end();
}

std::string known_architectures(std::vector<std::string>& names) {
  for (const Family& family : family_catalog()) {
    names.insert(names.end(), family.architectures.begin(), family.architectures.end());
  }
  return join(names, ", ");
}

const Family& family_of(const Json& json, const std::string& where) {
  std::vector<std::string> names;
  const std::string known = known_architectures(names);
  const auto found = json.find("architectures");
  if (found == json.end() || found->is_null()) {
    throw Error(where + ": 'architectures' is missing; it must name one of " + known);
  }
  if (!found->is_array() || found->size() != 1 || !(*found)[0].is_string()) {
    throw Error(where + ": architectures must be a list of one name, got " + printable(found->dump()));
  }
  const auto& name = (*found)[0].get_ref<const std::string&>();
  for (const Family& family : family_catalog()) {
    if (!has_architecture(family, name)) continue;
    const auto type = json.find("model_type");
    if (type != json.end() && *type != family.model_type) {
      throw Error(where + ": model_type must be \"" + family.model_type + "\" for " + name + ", got " +
                  printable(type->dump()));
    }
    return family;
  }
  throw Error(where + ": architecture '" + printable(name) + "' is not supported" + did_you_mean(name, names) +
              "; known are " + known);
}

bool is_fused(Layout layout) { return layout == Layout::kQkvColumns || layout == Layout::kQkvByHead; }

}  // namespace

const std::vector<Family>& family_catalog() {
  static const std::vector<Family> catalog = [] {
    std::vector<Family> families;
#define LENBENCH_FAMILY(id)          \
  families.push_back(family_##id()); \
  if (families.back().name != #id) throw std::logic_error("family_" #id " has another name");
#include "checkpoint/families.def"
#undef LENBENCH_FAMILY
    return families;
  }();
  return catalog;
}

const Family& family_named(const std::string& name) {
  for (const Family& family : family_catalog()) {
    if (family.name == name) return family;
  }
  throw std::invalid_argument("no family " + name);
}

DecoderConfig parse_config(std::string_view text, const std::string& where) {
  const Json json = parse_json(text, where);
  if (!json.is_object()) throw Error(where + ": must hold a JSON object");
  DecoderConfig config = family_of(json, where).read(json, where);
  check_config(config, where);
  return config;
}

StoredTensor stored_tensor(const DecoderConfig& config, const TensorSpec& spec) {
  const Family& family = family_named(config.family);
  const std::size_t dot = spec.name.rfind('.');
  const std::string ending = spec.name.substr(dot);
  const bool is_affine = ending == ".weight" || ending == ".bias";
  std::string ours = is_affine ? spec.name.substr(0, dot) : spec.name;
  std::string before;
  if (ours.starts_with(kLayerPrefix)) {
    const std::size_t number = std::string_view(kLayerPrefix).size();
    const std::size_t end = ours.find('.', number);
    before = family.prefix + family.layers + ours.substr(number, end + 1 - number);
    ours = ours.substr(end + 1);
  }
  const auto rule =
      std::find_if(family.names.begin(), family.names.end(), [&](const StoredName& name) { return name.ours == ours; });
  StoredTensor stored{spec.name, spec.shape, Layout::kSame, 0};
  if (rule == family.names.end()) {
    if (!before.empty()) stored.name = before + ours + (is_affine ? ending : "");
    return stored;
  }
  stored.name = before + rule->stored + (is_affine ? ending : "");
  stored.layout = rule->layout;
  if (is_fused(rule->layout)) {
    stored.part = ours == "self_attn.q_proj" ? 0 : ours == "self_attn.k_proj" ? 1 : 2;
    stored.shape[0] = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim;
  }
  const bool transposed = rule->layout == Layout::kTransposed || rule->layout == Layout::kQkvColumns;
  if (transposed && stored.shape.size() == 2) std::swap(stored.shape[0], stored.shape[1]);
  return stored;
}

std::vector<TensorSpec> stored_tensor_specs(const DecoderConfig& config) {
  std::vector<TensorSpec> specs;
  for (const TensorSpec& spec : tensor_specs(config)) {
    const StoredTensor stored = stored_tensor(config, spec);
    if (stored.part == 0) specs.push_back({stored.name, stored.shape});
  }
  return specs;
}

bool is_not_weight(const Family& family, const std::string& stored_name) {
  return std::any_of(family.not_weights.begin(), family.not_weights.end(),
                     [&](const std::string& end) { return stored_name.ends_with(end); });
}

}  // namespace lenbench
