// Finds the files that make up a checkpoint.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/index.h"

namespace lenbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    names.push_back(it->path().filename().string());
  }
  if (failed) throw Error(printable(folder.string()) + ": cannot be listed (" + failed.message() + ")");
  std::sort(names.begin(), names.end());
  return names;
}

[[noreturn]] void throw_no_weights(const fs::path& folder) {
  const std::string shown = printable(folder.string());
  for (const std::string& name : names_in(folder)) {
    const bool pickled = name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth") ||
                         name.ends_with(".ckpt") || name.ends_with(".bin.index.json");
    if (pickled) {
      std::string file = name;
      if (file.ends_with(".index.json")) file.resize(file.size() - std::string_view(".index.json").size());
      throw Error(shown + ": no supported weights; found " + printable(name) + "; " + conversion_hint(file));
    }
  }
  throw Error(shown + ": no weights; expected " + kSingleName + " or " + kIndexName);
}

std::vector<std::string> shard_paths(const fs::path& folder, const std::string& index_path) {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : read_weight_map(index_path)) shards.insert(shard);
  std::vector<std::string> missing, paths;
  for (const std::string& shard : shards) {
    if (!is_there(folder / shard)) missing.push_back(printable(shard));
    paths.push_back((folder / shard).string());
  }
  if (missing.empty()) return paths;
  const std::string single =
      is_there(folder / kSingleName)
          ? std::string("; ") + kSingleName + " is there: delete the index, or name that file to ignore it"
          : "";
  const std::size_t shown = std::min<std::size_t>(missing.size(), 3);
  throw Error(
      printable(index_path) + ": " + std::to_string(missing.size()) + " of " + std::to_string(shards.size()) +
      " shards missing: " + join({missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ") +
      (missing.size() > shown ? ", ..." : "") + single);
}

}  // namespace

std::string read_regular_file(const std::string& path) {
  // A pipe would hold the call until somebody writes; read_file knows the rest.
  if (is_there(path) && !is_folder(path) && !fs::is_regular_file(path)) {
    throw Error(printable(path) + ": is not a regular file");
  }
  return read_file(path);
}

std::map<std::string, std::string> read_weight_map(const std::string& index_path) {
  const std::string where = printable(index_path);
  const nlohmann::ordered_json json = parse_json(read_regular_file(index_path), where);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    throw Error(where + ": must hold an object with 'weight_map'");
  }
  std::map<std::string, std::string> weight_map;
  for (const auto& item : json["weight_map"].items()) {
    const std::string tensor = "tensor '" + printable(item.key()) + "'";
    if (!item.value().is_string()) throw Error(where + ": " + tensor + " must name a file");
    const auto& shard = item.value().get_ref<const std::string&>();
    if (shard.empty() || shard == "." || shard == ".." ||
        shard.find_first_of(std::string_view("/\\\0", 3)) != shard.npos) {
      throw Error(where + ": " + tensor + " names '" + printable(shard) + "', which is not a file of the same folder");
    }
    weight_map[item.key()] = shard;
  }
  if (weight_map.empty()) throw Error(where + ": weight_map is empty");
  return weight_map;
}

CheckpointFiles find_checkpoint_files(const std::string& path, bool ignore_index) {
  const std::string shown = printable(path);
  if (path.empty()) throw Error("checkpoint: the path is empty");
  const fs::path given(path);
  if (!is_there(given))
    throw Error(shown + ": no such checkpoint; give a folder with config.json, or a safetensors file");
  CheckpointFiles files;
  const bool folder_given = is_folder(given);
  files.folder = folder_given ? path : given.parent_path().empty() ? "." : given.parent_path().string();
  const fs::path folder(files.folder);
  files.config_path = (folder / "config.json").string();
  if (!is_there(files.config_path)) {
    throw Error(shown + (folder_given ? ": no config.json" : ": no config.json beside it") +
                "; a checkpoint is a folder with config.json and " + kSingleName);
  }
  if (!folder_given) {
    files.weight_paths = {path};
    return files;
  }
  const bool has_single = is_there(folder / kSingleName), has_index = is_there(folder / kIndexName);
  if (has_index && !(has_single && ignore_index)) {
    files.index_path = (folder / kIndexName).string();
    files.weight_paths = shard_paths(folder, files.index_path);
    if (has_single &&
        !std::count(files.weight_paths.begin(), files.weight_paths.end(), (folder / kSingleName).string())) {
      throw Error(printable(files.index_path) + ": lists " + std::to_string(files.weight_paths.size()) +
                  " shards, and a single " + kSingleName +
                  " is there as well; delete the one that is stale, or name the file to use");
    }
  } else if (has_single) {
    files.weight_paths = {(folder / kSingleName).string()};
    files.index_ignored = has_index;
  } else {
    throw_no_weights(folder);
  }
  return files;
}

}  // namespace lenbench
