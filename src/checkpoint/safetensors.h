// The safetensors format: 8 bytes little-endian header length, a JSON header, then the tensors' bytes back to back.
// Strict: every byte of the data belongs to exactly one tensor. Limits: header of at most 100 MB (as in the format's
// own implementation). Never reads pickle: files of torch.save are recognised by their first bytes and refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/dtype.h"

namespace lenbench {

inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

// One tensor inside a file. `bytes` lives as long as `owner` does, and need not be aligned.
struct TensorView {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // the mapped file
  std::int64_t num_elements() const;
};

// "[2, 70, 40]"
std::string shape_text(const std::vector<std::int64_t>& shape);

class SafetensorsFile {
 public:
  // Maps the file. Throws Error naming the file and what is wrong: missing, a folder, another format, cut off (with the
  // number of bytes missing), malformed header, duplicate name, unsupported dtype, offsets that overlap or leave gaps.
  // A file that shrinks while it is open ends the process (mapped_file.h).
  explicit SafetensorsFile(const std::string& path);
  // The same from memory; `where` stands for the path in messages.
  static SafetensorsFile from_bytes(std::string bytes, const std::string& where);

  const std::string& path() const { return path_; }
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  SafetensorsFile() = default;
  void parse(std::span<const std::byte> file);

  std::string path_;
  std::shared_ptr<const void> storage_;  // keeps the mapping or the buffer alive
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// A tensor to be written; shape and bytes must agree (std::logic_error otherwise).
struct TensorSource {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

// The file's bytes. Deterministic: tensors by descending element size, then by name, so that each starts at a multiple
// of its element size; the header is padded with spaces to a multiple of 8.
std::string safetensors_bytes(const std::map<std::string, TensorSource>& tensors,
                              const std::map<std::string, std::string>& metadata);

// Writes them atomically. Throws Error(kNotMeasured) when the file cannot be written.
void write_safetensors(const std::string& path, const std::map<std::string, TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata);

// The sentence that tells how to turn a torch.save file into safetensors.
std::string conversion_hint(const std::string& file_name);

}  // namespace lenbench
