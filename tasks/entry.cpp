// Typed parameters, draw bounds and the keys of random streams.
#include "tasks/entry.h"

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace lenbench {
namespace {

constexpr std::uint64_t kMaxIndex = std::uint64_t{1} << 55;
constexpr std::uint64_t kSharedBit = std::uint64_t{1} << 63;

void append_u64(std::string& bytes, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>((value >> shift) & 0xff));
}

}  // namespace

TaskInfo describe(const TaskEntry& entry, const TaskParameters& resolved) {
  TaskInfo info;
  info.name = entry.name;
  info.version = entry.version;
  info.comparability = entry.comparability;
  info.summary = entry.summary;
  info.published = entry.published;
  info.parameters = resolved;
  for (const ParameterSpec& spec : entry.parameters) {
    if (spec.implicit_default && resolved.at(spec.name) == spec.fallback) info.parameters.erase(spec.name);
  }
  return info;
}

const std::vector<Document>& checked_documents(const TaskEntry& entry, const TaskResources& resources) {
  if (resources.documents.empty()) {
    throw Error(entry.name + ": no document was given; name one or more UTF-8 text files");
  }
  for (const Document& document : resources.documents) {
    const std::string what = entry.name + ": document '" + printable(document.name) + "'";
    if (document.bytes.empty()) throw Error(what + " is empty");
    if (!is_valid_utf8(document.bytes)) throw Error(what + " is not valid UTF-8; convert it first");
  }
  return resources.documents;
}

const std::string& word_of(const TaskParameters& resolved, const std::string& name) { return resolved.at(name); }

std::int64_t integer_of(const TaskParameters& resolved, const std::string& name) {
  return parse_int(word_of(resolved, name), name);
}

bool flag_of(const TaskParameters& resolved, const std::string& name) { return word_of(resolved, name) == "true"; }

std::vector<std::string> flag_words() { return {"false", "true"}; }

void check_draw(const Task& task, const DrawKey& key, std::int64_t longest) {
  const std::string& name = task.info().name;
  if (key.length < task.min_length()) {
    throw Error(name + ": length " + std::to_string(key.length) +
                " is too short; with these parameters the shortest is " + std::to_string(task.min_length()));
  }
  if (key.length > longest) {
    throw Error(name + ": length " + std::to_string(key.length) + " is too long; the longest is " +
                std::to_string(longest));
  }
  if (key.index >= kMaxIndex) {
    throw Error(name + ": sample index " + std::to_string(key.index) + " is too large; it must be below " +
                std::to_string(kMaxIndex));
  }
}

void DistanceFacts::add(std::int64_t tokens) {
  low_ = count_ == 0 ? tokens : std::min(low_, tokens);
  high_ = count_ == 0 ? tokens : std::max(high_, tokens);
  sum_ += static_cast<double>(tokens);
  ++count_;
}

void DistanceFacts::put(Sample& sample) const {
  if (count_ == 0) return;
  sample.facts["distance"] = sum_ / static_cast<double>(count_);
  sample.facts["distance_min"] = static_cast<double>(low_);
  sample.facts["distance_max"] = static_cast<double>(high_);
}

std::vector<ParameterSpec> distance_parameters(const std::string& from) {
  return {{"min-distance", "0", "least distance in tokens " + from, {}, 0, kMaxLength, true},
          {"max-distance", "any", "that distance is below this", {"any"}, 1, kMaxLength, true}};
}

std::int64_t DistanceRange::first(std::int64_t end, std::int64_t step) const {
  return std::max<std::int64_t>(0, (end - below) / step + (end >= below ? 1 : 0));
}

DistanceRange distance_range(const TaskEntry& entry, const TaskParameters& resolved, std::int64_t step) {
  DistanceRange range;
  range.least = integer_of(resolved, "min-distance");
  const std::string& below = word_of(resolved, "max-distance");
  if (below != "any") range.below = integer_of(resolved, "max-distance");
  if (range.below - range.least < step) {
    throw Error(entry.name + ": min-distance=" + std::to_string(range.least) +
                " leaves nothing below max-distance=" + below + "; use a smaller min-distance" +
                (step > 1 ? ": the two must be at least " + std::to_string(step) + " apart" : ""));
  }
  return range;
}

SpecialTokens specials_from(std::int32_t first) {
  SpecialTokens specials;
  specials.pad = first;
  specials.bos = first + 1;
  specials.eos = first + 2;
  specials.mask = first + 3;
  specials.sep = first + 4;
  return specials;
}

SampleStreams::SampleStreams(const TaskInfo& info) {
  std::string bytes = info.name;
  bytes.push_back('\0');
  append_u64(bytes, static_cast<std::uint64_t>(info.version));
  for (const auto& [name, value] : info.parameters) {
    bytes += name;
    bytes.push_back('=');
    bytes += value;
    bytes.push_back('\0');
  }
  base_ = stable_hash(bytes);
}

std::uint64_t SampleStreams::shared_key(const DrawKey& key) const {
  std::string bytes;
  append_u64(bytes, base_);
  append_u64(bytes, key.seed);
  append_u64(bytes, static_cast<std::uint64_t>(key.split));
  append_u64(bytes, static_cast<std::uint64_t>(key.length));
  return stable_hash(bytes);
}

Rng SampleStreams::stream(const DrawKey& key, std::uint8_t field) const {
  return Rng(shared_key(key), (key.index << 8) | field);
}

std::uint64_t SampleStreams::shared_stream(std::uint8_t field) { return kSharedBit | field; }

}  // namespace lenbench
