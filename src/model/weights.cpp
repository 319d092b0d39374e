// Loads and saves the weights of a model.
#include "model/weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace lenbench {
namespace {

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

}  // namespace

at::Tensor to_tensor(const TensorView& view) {
  at::Tensor tensor = at::empty(view.shape, at::TensorOptions().dtype(scalar_type(view.dtype)));
  if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

std::vector<NamedTensor> load_parameters(const Checkpoint& checkpoint, at::ScalarType dtype) {
  checkpoint.check_finite();
  std::vector<NamedTensor> parameters;
  for (const TensorSpec& spec : tensor_specs(checkpoint.config())) {
    at::Tensor tensor = to_tensor(checkpoint.tensors().at(spec.name)).to(dtype);
    if (!at::isfinite(tensor).all().item<bool>()) {
      throw Error(printable(checkpoint.files().folder) + ": tensor '" + spec.name +
                  "' holds values too large for the type it is computed in; use --dtype float64");
    }
    parameters.emplace_back(spec.name, std::move(tensor));
  }
  return parameters;
}

Decoder load_decoder(const Checkpoint& checkpoint, at::ScalarType dtype) {
  if (checkpoint.config().item_classes > 0) {
    throw Error(printable(checkpoint.files().folder) + ": a model of sets; this needs a decoder, which reads tokens");
  }
  return Decoder(checkpoint.config(), load_parameters(checkpoint, dtype));
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
