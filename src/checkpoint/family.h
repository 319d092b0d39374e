// A decoder family as a table: how its config.json is read and what its tensors are called. One file and one line of
// families.def each; the decoder itself is generic.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "checkpoint/config.h"

namespace lenbench {

// How a family keeps what the decoder wants as [out, in] weights, and their biases.
enum class Layout {
  kSame,
  kTransposed,  // weight [in, out]
  kQkvColumns,  // weight [in, queries | keys | values], bias [queries | keys | values]
  kQkvByHead,   // weight [heads x (query | key | value), in], bias alike; as many key/value heads as query heads
};

struct StoredName {
  std::string ours;    // "model.norm", or below a layer "self_attn.q_proj", without ".weight" and ".bias"
  std::string stored;  // the family's name, in its place
  Layout layout = Layout::kSame;
};

struct Family {
  std::string name;                        // in families.def
  std::vector<std::string> architectures;  // of config.json; the first is the usual one
  std::string model_type;                  // of config.json
  std::string prefix = "model.";           // of every tensor but the output layer's; files may leave it out
  std::string layers = "layers.";          // then the layer's number
  std::vector<StoredName> names;           // where they differ from ours
  std::vector<std::string> not_weights;    // ends of names of stored tensors that follow from the configuration
  // The configuration in a parsed config.json, with `family` set; need not call check_config. Throws Error opening with
  // `where`.
  DecoderConfig (*read)(const nlohmann::ordered_json& json, const std::string& where) = nullptr;
};

const std::vector<Family>& family_catalog();
// Requires a name of families.def.
const Family& family_named(const std::string& name);

// Where a parameter of tensor_specs is in the family's files.
struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  Layout layout = Layout::kSame;
  int part = 0;  // kQkv...: 0 queries, 1 keys, 2 values
};
StoredTensor stored_tensor(const DecoderConfig& config, const TensorSpec& spec);

// Name and shape of every tensor that the files must hold, in the order of tensor_specs.
std::vector<TensorSpec> stored_tensor_specs(const DecoderConfig& config);

// True for a stored tensor that is not a weight (a buffer of rotary frequencies, a causal mask).
bool is_not_weight(const Family& family, const std::string& stored_name);

// One maker per line of families.def.
#define LENBENCH_FAMILY(name) Family family_##name();
#include "checkpoint/families.def"
#undef LENBENCH_FAMILY

}  // namespace lenbench
