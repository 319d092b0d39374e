// The text form of task specifications and sample addresses.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "tasks/catalog.h"

namespace lenbench {
namespace {

constexpr const char* kAddressForm = "TASK[:k=v,...][:vN]:LENGTH:INDEX[:SEED[:train|validation|test]]";
constexpr const char* kSpecForm = "TASK[:k=v,...][:vN]";

[[noreturn]] void fail(const std::string& text, const std::string& problem, const char* form) {
  throw Error(printable("'" + text + "': " + problem) + "; the form is " + form);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool is_version(std::string_view part) {
  return part.size() > 1 && part[0] == 'v' &&
         std::all_of(part.begin() + 1, part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

TaskParameters parse_parameters(const std::string& text, const std::string& part, const char* form) {
  TaskParameters given;
  for (const std::string& item : split(part, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) fail(text, "parameter '" + item + "' has no '='", form);
    const std::string name = item.substr(0, equals);
    if (!is_name(name)) fail(text, "'" + name + "' is no parameter name", form);
    if (!given.emplace(name, item.substr(equals + 1)).second) {
      fail(text, "parameter '" + name + "' is given twice", form);
    }
  }
  return given;
}

// Reads the specification at the front of `parts`; returns how many parts it took.
std::size_t parse_front(const std::string& text, const std::vector<std::string>& parts, const char* form,
                        TaskSpec& spec) {
  if (!is_name(parts[0])) fail(text, "'" + parts[0] + "' is no task name", form);
  spec.name = parts[0];
  std::size_t next = 1;
  if (next < parts.size() && parts[next].find('=') != std::string::npos) {
    spec.given = parse_parameters(text, parts[next], form);
    ++next;
  }
  if (next < parts.size() && is_version(parts[next])) {
    const std::int64_t version = parse_int(std::string_view(parts[next]).substr(1), "version of '" + text + "'");
    if (version < 1 || version > std::numeric_limits<int>::max()) {
      fail(text, "version " + parts[next] + " does not exist", form);
    }
    spec.version = static_cast<int>(version);
    ++next;
  }
  return next;
}

}  // namespace

std::string split_name(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kValidation:
      return "validation";
    case Split::kTest:
      break;
  }
  return "test";
}

Split parse_split(const std::string& text) {
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    if (split_name(split) == text) return split;
  }
  throw Error("unknown split '" + printable(text) + "'" + did_you_mean(text, {"train", "validation", "test"}) +
              "; use train, validation or test");
}

TaskSpec parse_task_spec(std::string_view view) {
  const std::string text(view);
  const std::vector<std::string> parts = split(text, ':');
  TaskSpec spec;
  const std::size_t used = parse_front(text, parts, kSpecForm, spec);
  if (used != parts.size()) fail(text, "'" + parts[used] + "' is neither parameters nor a version", kSpecForm);
  return spec;
}

SampleAddress parse_address(std::string_view view) {
  const std::string text(view);
  const std::vector<std::string> parts = split(text, ':');
  SampleAddress address;
  std::size_t next = parse_front(text, parts, kAddressForm, address.task);
  const std::size_t left = parts.size() - next;
  if (left < 2) fail(text, left == 0 ? "the length is missing" : "the index is missing", kAddressForm);
  if (left > 4) fail(text, "'" + parts[next + 4] + "' is one part too many", kAddressForm);
  address.key.length = parse_int(parts[next++], "length of '" + text + "'");
  if (address.key.length < 1) fail(text, "the length is below 1", kAddressForm);
  address.key.index = parse_uint(parts[next++], "index of '" + text + "'");
  if (left >= 3) address.key.seed = parse_uint(parts[next++], "seed of '" + text + "'");
  if (left == 4) address.key.split = parse_split(parts[next]);
  return address;
}

std::string format_address(const Task& task, const DrawKey& key) {
  std::string text = format_spec(task) + ":" + std::to_string(key.length) + ":" + std::to_string(key.index);
  if (key.seed != 0 || key.split != Split::kTest) text += ":" + std::to_string(key.seed);
  if (key.split != Split::kTest) text += ":" + split_name(key.split);
  return text;
}

}  // namespace lenbench
