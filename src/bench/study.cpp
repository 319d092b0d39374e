// Reading and checking of studies.
#include "bench/study.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "bench/backend.h"

namespace lenbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShortFor = "paper-1-";

void check_row(const StudyRow& row, const std::string& where) {
  if (row.seeds.empty()) throw Error(where + ": seeds is empty; name the recipe's own seed at least");
  if (std::set<std::uint64_t>(row.seeds.begin(), row.seeds.end()).size() != row.seeds.size()) {
    throw Error(where + ": seeds names one seed twice");
  }
}

void check_scale(const StudyScale& scale, const std::string& where) {
  if (scale.lengths.empty()) throw Error(where + ": lengths is empty");
  if (scale.lengths.size() != scale.samples.size()) {
    throw Error(where + ": " + std::to_string(scale.lengths.size()) + " lengths and " +
                std::to_string(scale.samples.size()) + " sample counts; give one count for each length");
  }
  for (std::size_t i = 0; i < scale.lengths.size(); ++i) {
    const std::int64_t before = i == 0 ? 0 : scale.lengths[i - 1];
    if (scale.lengths[i] <= before) throw Error(where + ": lengths must ascend from 1 on");
    if (scale.samples[i] < 1) throw Error(where + ": samples must be at least 1");
  }
  if (scale.rows.empty()) throw Error(where + ": rows is empty");
  std::set<std::string> methods;
  for (const StudyRow& row : scale.rows) {
    const std::string place = where + ", row '" + row.method + "'";
    check_row(row, place);
    if (!methods.insert(row.method).second) throw Error(place + ": the method occurs twice");
  }
}

}  // namespace

std::string checkpoint_of(const StudyRow& row, std::uint64_t seed) {
  const std::string& name = row.checkpoint.empty() ? row.recipe : row.checkpoint;
  return seed == row.seeds.front() ? name : seeded_name(name, seed);
}

std::string records_of(const StudyRow& row, std::uint64_t seed) {
  const std::string checkpoint = checkpoint_of(row, seed);
  return row.transform.empty() ? checkpoint : checkpoint + "+" + row.transform;
}

Study read_study(const std::string& path) {
  Study study;
  read_fields(parse_json(read_file(path), path), study, path);
  study.id = fs::path(path).stem().string();
  if (study.scales.empty()) throw Error(path + ": scales is empty");
  for (const auto& [name, scale] : study.scales) check_scale(scale, path + ": scale '" + name + "'");
  return study;
}

std::vector<Study> read_studies(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code failure;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (it->path().extension() == ".json") paths.push_back(it->path().string());
  }
  if (failure) throw Error("'" + folder + "' cannot be read: " + failure.message());
  std::sort(paths.begin(), paths.end());
  std::vector<Study> studies;
  for (const std::string& path : paths) studies.push_back(read_study(path));
  return studies;
}

const Study& find_study(const std::vector<Study>& studies, std::string_view id) {
  std::vector<std::string> ids, known;
  for (const Study& study : studies) {
    if (study.id == id || study.id == std::string(kShortFor) + std::string(id)) return study;
    ids.push_back(study.id);
    known.push_back(study.id);
    if (study.id.starts_with(kShortFor)) known.push_back(study.id.substr(kShortFor.size()));
  }
  throw Error("no table '" + std::string(id) + "'" + did_you_mean(id, known) + "; there are " + join(ids, ", "));
}

}  // namespace lenbench
