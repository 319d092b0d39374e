// Loads and saves the weights of a model.
#include "model/weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/isfinite.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "checkpoint/family.h"
#include "checkpoint/memory.h"

namespace lenbench {

at::ScalarType scalar_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return at::kDouble;
    case Dtype::kF32:
      return at::kFloat;
    case Dtype::kF16:
      return at::kHalf;
    case Dtype::kBF16:
      return at::kBFloat16;
    case Dtype::kI64:
      return at::kLong;
    case Dtype::kI32:
      return at::kInt;
    case Dtype::kU8:
      return at::kByte;
    case Dtype::kBool:
      return at::kBool;
  }
  throw std::logic_error("scalar_type: no such dtype");
}

namespace {

// What a family keeps, as the decoder wants it: a view where strides can say it.
at::Tensor as_ours(const DecoderConfig& config, const StoredTensor& stored, const at::Tensor& tensor) {
  const std::int64_t D = config.head_dim, queries = config.num_heads * D, keys = config.num_kv_heads * D;
  switch (stored.layout) {
    case Layout::kSame:
      return tensor;
    case Layout::kTransposed:
      return tensor.dim() == 2 ? tensor.t() : tensor;
    case Layout::kQkvColumns: {
      const at::Tensor rows = tensor.dim() == 2 ? tensor.t() : tensor;
      if (stored.part == 0) return rows.narrow(0, 0, queries);
      return rows.narrow(0, queries + (stored.part - 1) * keys, keys);
    }
    case Layout::kQkvByHead:
      return tensor.unflatten(0, {config.num_heads, 3, D}).select(1, stored.part).flatten(0, 1);
  }
  throw std::logic_error("as_ours: no such layout");
}

}  // namespace

at::Tensor to_tensor(const TensorView& view) {
  at::Tensor tensor = at::empty(view.shape, at::TensorOptions().dtype(scalar_type(view.dtype)));
  if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

at::Tensor to_mapped_tensor(const TensorView& view) {
  const auto address = reinterpret_cast<std::uintptr_t>(view.bytes.data());
  if (view.bytes.empty() || address % static_cast<std::uintptr_t>(dtype_bytes(view.dtype)) != 0) return to_tensor(view);
  return at::from_blob(
      const_cast<std::byte*>(view.bytes.data()), view.shape, [owner = view.owner](void*) {},
      at::TensorOptions().dtype(scalar_type(view.dtype)));
}

std::vector<NamedTensor> stored_parameters(const Checkpoint& checkpoint, const DecoderConfig& config) {
  std::vector<NamedTensor> parameters;
  for (const TensorSpec& spec : tensor_specs(config)) {
    const StoredTensor stored = stored_tensor(checkpoint.config(), spec);
    const TensorView& view = checkpoint.tensors().at(stored.name);
    parameters.emplace_back(spec.name, as_ours(config, stored, to_mapped_tensor(view)));
  }
  return parameters;
}

namespace {

// What make_model() takes: converted to `dtype`, or as stored where checkpoint/memory.h says that it is kept so.
std::vector<NamedTensor> load_parameters(const Checkpoint& checkpoint, const DecoderConfig& config,
                                         at::ScalarType dtype, at::Device device) {
  checkpoint.check_finite();
  std::vector<NamedTensor> parameters = stored_parameters(checkpoint, config);
  const bool converts = converts_when_loaded(checkpoint);
  for (auto& [name, tensor] : parameters) {
    const bool may_overflow = tensor.scalar_type() == at::kDouble && dtype != at::kDouble;
    if (!converts && !may_overflow) continue;
    // A copy of its own, aligned as LibTorch likes it, whatever the file's layout is.
    const at::Tensor converted = at::empty(tensor.sizes(), tensor.options().dtype(dtype)).copy_(tensor);
    if (!at::isfinite(converted).all().item<bool>()) {
      throw Error(printable(checkpoint.files().folder) + ": tensor '" + name +
                  "' holds values too large for the type it is computed in; use --dtype float64");
    }
    if (converts) tensor = converted;
  }
  for (auto& [name, tensor] : parameters) tensor = tensor.to(device);
  return parameters;
}

}  // namespace

std::unique_ptr<SequenceModel> load_model(const Checkpoint& checkpoint, const DecoderConfig& config,
                                          at::ScalarType dtype, at::Device device) {
  return make_model(config, load_parameters(checkpoint, config, dtype, device), dtype);
}

Decoder load_decoder(const Checkpoint& checkpoint, const DecoderConfig& config, at::ScalarType dtype,
                     at::Device device) {
  if (config.item_classes > 0) {
    throw Error(printable(checkpoint.files().folder) + ": a model of sets; this needs a decoder, which reads tokens");
  }
  return Decoder(config, load_parameters(checkpoint, config, dtype, device), dtype);
}

Decoder load_decoder(const Checkpoint& checkpoint, at::ScalarType dtype) {
  return load_decoder(checkpoint, checkpoint.config(), dtype);
}

void save_checkpoint(const std::string& folder, const SequenceModel& model, const Origin& origin, Dtype stored) {
  const std::filesystem::path path(folder);
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) {
    throw Error(printable(folder) + ": cannot be created (" + failed.message() + ")", ExitCode::kNotMeasured);
  }
  std::map<std::string, at::Tensor> converted;
  std::map<std::string, TensorSource> sources;
  for (const auto& [name, parameter] : model.parameters()) {
    const at::Tensor tensor = parameter.detach().to(at::kCPU, scalar_type(stored)).contiguous();
    const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
    const TensorSource source{stored, tensor.sizes().vec(), {data, tensor.nbytes()}};
    if (first_nonfinite(stored, source.bytes)) {
      throw Error(
          printable(folder) + ": tensor '" + name + "' is not finite as " + dtype_name(stored) + "; nothing was saved",
          ExitCode::kNotMeasured);
    }
    converted[name] = tensor;
    sources[name] = source;
  }
  write_file_atomically((path / "config.json").string(), config_to_json(model.config()).dump(2) + "\n");
  write_file_atomically((path / "origin.json").string(), origin_text(origin));
  write_safetensors((path / "model.safetensors").string(), sources, {{"format", "pt"}});
}

}  // namespace lenbench
