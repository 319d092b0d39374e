// Reads safetensors files: mapping, recognition of foreign formats, strict header, layout of the data.
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "checkpoint/mapped_file.h"

namespace lenbench {
namespace {

using Json = nlohmann::ordered_json;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Called only for files that cannot be safetensors, because a header length may begin with any of these bytes.
void refuse_foreign_format(std::string_view text, const std::string& where) {
  if (text.starts_with("PK\x03\x04")) {
    throw Error(where + ": is a torch.save archive (zip), not safetensors; " + conversion_hint(base_name(where)));
  }
  if (text.size() >= 2 && text[0] == '\x80' && text[1] >= 1 && text[1] <= 5) {
    throw Error(where + ": is a Python pickle, not safetensors; " + conversion_hint(base_name(where)));
  }
  if (text.starts_with("version https://git-lfs")) {
    throw Error(where + ": is a Git LFS pointer, not the weights; fetch them with 'git lfs pull'");
  }
  if (text.starts_with("GGUF")) throw Error(where + ": is a GGUF file, not safetensors; convert it to safetensors");
  if (text.starts_with("\x89HDF")) throw Error(where + ": is an HDF5 file, not safetensors; convert it to safetensors");
}

std::uint64_t unsigned_number(const Json& value, const std::string& where) {
  if (!value.is_number_unsigned()) throw Error(where + ": must be a non-negative integer, got " + value.dump());
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw Error(where + ": " + std::to_string(number) + " is too large");
  }
  return number;
}

struct Extent {
  std::uint64_t begin = 0, end = 0;
  std::string name;
};

// Fills everything of `view` but its bytes; returns where they are in the data section.
Extent parse_entry(const std::string& name, const Json& entry, const std::string& file, TensorView& view) {
  const std::string where = file + ": tensor '" + printable(name) + "'";
  if (!entry.is_object()) throw Error(where + ": entry must be an object with dtype, shape and data_offsets");
  for (const auto& item : entry.items()) {
    if (item.key() != "dtype" && item.key() != "shape" && item.key() != "data_offsets") {
      throw Error(where + ": unknown key '" + printable(item.key()) + "'");
    }
  }
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.contains(key)) throw Error(where + ": '" + key + "' is missing");
  }
  if (!entry["dtype"].is_string()) throw Error(where + ": dtype must be a string");
  view.dtype = parse_dtype(entry["dtype"].get_ref<const std::string&>(), where);

  const Json& shape = entry["shape"];
  if (!shape.is_array()) throw Error(where + ": shape must be a list");
  std::uint64_t bytes = static_cast<std::uint64_t>(dtype_bytes(view.dtype));
  bool empty = false;
  for (const Json& size : shape) {
    const std::uint64_t value = unsigned_number(size, where + ": shape");
    view.shape.push_back(static_cast<std::int64_t>(value));
    empty = empty || value == 0;
  }
  for (const std::int64_t size : view.shape) {
    const std::uint64_t limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!empty && static_cast<std::uint64_t>(size) > limit / bytes) {
      throw Error(where + ": shape " + shape_text(view.shape) + " has too many elements");
    }
    bytes = empty ? 0 : bytes * static_cast<std::uint64_t>(size);
  }

  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) throw Error(where + ": data_offsets must be [begin, end]");
  Extent extent{unsigned_number(offsets[0], where + ": data_offsets"),
                unsigned_number(offsets[1], where + ": data_offsets"), name};
  if (extent.begin > extent.end) {
    throw Error(where + ": data_offsets are not in order (" + std::to_string(extent.begin) + " > " +
                std::to_string(extent.end) + ")");
  }
  if (extent.end - extent.begin != bytes) {
    throw Error(where + ": shape " + shape_text(view.shape) + " of " + dtype_name(view.dtype) + " needs " +
                std::to_string(bytes) + " bytes, data_offsets give " + std::to_string(extent.end - extent.begin));
  }
  return extent;
}

// The tensors must tile the data section: no overlap, no gap, nothing missing, nothing left over.
void check_layout(std::vector<Extent> extents, std::uint64_t available, const std::string& file) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::string tensor = "tensor '" + printable(extents[i].name) + "'";
    if (extents[i].begin < expected) {
      throw Error(file + ": " + tensor + " overlaps '" + printable(extents[i - 1].name) + "' (begins at byte " +
                  std::to_string(extents[i].begin) + ", the other ends at " + std::to_string(expected) + ")");
    }
    if (extents[i].begin > expected) {
      throw Error(file + ": " + std::to_string(extents[i].begin - expected) + " bytes before " + tensor +
                  " belong to no tensor");
    }
    expected = extents[i].end;
  }
  if (expected > available) {
    throw Error(file + ": is cut off: the header promises " + std::to_string(expected) + " bytes of tensors, " +
                std::to_string(available) + " are there (" + std::to_string(expected - available) +
                " bytes missing); copy the file again");
  }
  if (expected < available) {
    throw Error(file + ": " + std::to_string(available - expected) +
                " bytes after the last tensor belong to no tensor");
  }
}

}  // namespace

std::string conversion_hint(const std::string& file_name) {
  const std::string name = printable(file_name);
  return "pickled code is never run here; convert it with: python3 -c \"import torch, safetensors.torch as s; "
         "d = torch.load('" +
         name +
         "', map_location='cpu', weights_only=True); s.save_file({k: v.clone().contiguous() for k, v in d.items()}, "
         "'model.safetensors')\"";
}

std::int64_t TensorView::num_elements() const { return static_cast<std::int64_t>(bytes.size()) / dtype_bytes(dtype); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  storage_ = file;
  parse(file->bytes());
}

SafetensorsFile SafetensorsFile::from_bytes(std::string bytes, const std::string& where) {
  SafetensorsFile file;
  file.path_ = where;
  const auto storage = std::make_shared<const std::string>(std::move(bytes));
  file.storage_ = storage;
  file.parse(std::as_bytes(std::span(storage->data(), storage->size())));
  return file;
}

void SafetensorsFile::parse(std::span<const std::byte> file) {
  const std::string where = printable(path_);
  const std::string_view text = as_text(file);
  if (file.size() < 8) {
    refuse_foreign_format(text, where);
    throw Error(where + ": is cut off: " + std::to_string(file.size()) +
                " bytes where a safetensors file starts with 8 (" + std::to_string(8 - file.size()) +
                " bytes missing)");
  }
  std::uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | std::to_integer<std::uint64_t>(file[i]);
  const std::uint64_t after_length = file.size() - 8;
  const bool looks_right = header_bytes <= kMaxSafetensorsHeaderBytes && after_length > 0 && text[8] == '{';
  if (!looks_right) {
    refuse_foreign_format(text, where);
    if (header_bytes == 0) throw Error(where + ": header length is 0; not a safetensors file");
    if (header_bytes > kMaxSafetensorsHeaderBytes) {
      throw Error(where + ": header length " + std::to_string(header_bytes) + " is over the limit of " +
                  std::to_string(kMaxSafetensorsHeaderBytes) + " bytes; not a safetensors file");
    }
    if (after_length > 0) throw Error(where + ": header does not start with '{'; not a safetensors file");
  }
  if (header_bytes > after_length) {
    throw Error(where + ": is cut off inside its header: " + std::to_string(header_bytes) + " bytes promised, " +
                std::to_string(after_length) + " there (" + std::to_string(header_bytes - after_length) +
                " bytes missing)");
  }
  const Json header = parse_json(text.substr(8, header_bytes), where + ": header");
  if (!header.is_object()) throw Error(where + ": header must be a JSON object");
  const std::uint64_t data_bytes = after_length - header_bytes;
  std::vector<Extent> extents;
  for (const auto& item : header.items()) {
    if (item.key() == "__metadata__") {
      if (!item.value().is_object()) throw Error(where + ": __metadata__ must be an object of strings");
      for (const auto& fact : item.value().items()) {
        if (!fact.value().is_string()) {
          throw Error(where + ": __metadata__ '" + printable(fact.key()) + "' must be a string");
        }
        metadata_[fact.key()] = fact.value().get<std::string>();
      }
      continue;
    }
    extents.push_back(parse_entry(item.key(), item.value(), where, tensors_[item.key()]));
  }
  check_layout(extents, data_bytes, where);
  for (const Extent& extent : extents) {
    TensorView& view = tensors_[extent.name];
    view.bytes = file.subspan(8 + header_bytes + extent.begin, extent.end - extent.begin);
    view.owner = storage_;
  }
}

}  // namespace lenbench
