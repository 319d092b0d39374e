// Writes safetensors files: one deterministic layout, put in place atomically.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/files.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace lenbench {

std::string safetensors_bytes(const std::map<std::string, TensorSource>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<const std::pair<const std::string, TensorSource>*> order;
  for (const auto& item : tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return dtype_bytes(a->second.dtype) > dtype_bytes(b->second.dtype);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    nlohmann::ordered_json& facts = header["__metadata__"] = nlohmann::ordered_json::object();
    for (const auto& [key, value] : metadata) facts[key] = value;
  }
  std::size_t offset = 0;
  for (const auto* item : order) {
    const auto& [name, tensor] = *item;
    std::size_t bytes = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::size_t>(size);
    if (bytes != tensor.bytes.size()) {
      throw std::logic_error("safetensors_bytes: '" + name + "' has " + std::to_string(tensor.bytes.size()) +
                             " bytes for shape " + shape_text(tensor.shape));
    }
    nlohmann::ordered_json& entry = header[name];
    entry["dtype"] = dtype_name(tensor.dtype);
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, offset + bytes};
    offset += bytes;
  }

  std::string text = dump_json(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string file;
  file.reserve(8 + text.size() + offset);
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  file += text;
  for (const auto* item : order) {
    const auto& bytes = item->second.bytes;
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return file;
}

void write_safetensors(const std::string& path, const std::map<std::string, TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_file_atomically(path, safetensors_bytes(tensors, metadata));
}

}  // namespace lenbench
