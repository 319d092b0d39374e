// Values of flags as users write them, read strictly: CLI11 only collects the texts.
#include "cli/flags.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/lengths.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"

namespace lenbench::cli {

std::int64_t parse_at_least(std::string_view text, std::string_view flag, std::int64_t minimum) {
  const std::int64_t value = parse_int(text, flag);
  if (value < minimum) {
    throw Error(std::string(flag) + " is " + std::string(text) + "; it must be at least " + std::to_string(minimum));
  }
  return value;
}

void require_one_of(std::string_view text, std::string_view flag, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), text) != known.end()) return;
  throw Error(std::string(flag) + " is '" + std::string(text) + "'" + did_you_mean(text, known) + "; it can be " +
              join(known, ", "));
}

void require_values(const Parsed& parsed, const std::vector<std::pair<const char*, const std::string&>>& flags) {
  for (const auto& [flag, value] : flags) {
    if (parsed.has(flag) && value.empty()) throw Error(std::string(flag) + " is empty; leave it out or give a value");
  }
}

int parse_threads(std::string_view text) {
  const std::int64_t threads = parse_at_least(text, "--threads", 0);
  if (threads > 4096) throw Error("--threads is " + std::string(text) + "; it must be at most 4096");
  return static_cast<int>(threads);
}

int parse_jobs(std::string_view text) {
  const std::int64_t jobs = parse_at_least(text, "--jobs", 1);
  if (jobs > 1024) throw Error("--jobs is " + std::string(text) + "; it must be at most 1024");
  return static_cast<int>(jobs);
}

std::string parse_device(const std::string& text) {
  if (text.starts_with("cuda:")) {
    parse_at_least(text.substr(5), "--device cuda:N", 0);
  } else {
    require_one_of(text, "--device", {"cpu", "cuda"});
  }
  return text;
}

std::string parse_dtype(const std::string& text, const std::string& device) {
  require_one_of(text, "--dtype", {"float32", "float64", "bfloat16", "tf32"});
  if (text == "tf32" && device == "cpu") throw Error("--dtype tf32 is for CUDA devices; use float32, or --device cuda");
  return text;
}

Split parse_split(std::string_view text) {
  require_one_of(text, "--split", {"train", "validation", "test"});
  if (text == "train") return Split::kTrain;
  return text == "validation" ? Split::kValidation : Split::kTest;
}

std::vector<std::string> parse_task_list(const std::vector<std::string>& texts) {
  std::vector<std::string> tasks;
  for (const std::string& text : texts) {
    bool first = true;
    for (const std::string& piece : split(text, ',')) {
      if (piece.empty()) throw Error("--tasks is '" + text + "', which has an empty name; write a,b");
      const bool parameter = piece.find('=') != std::string::npos && piece.find('=') < piece.find(':');
      if (parameter && first) {
        throw Error("--tasks is '" + text + "', which starts with a parameter; write TASK:" + piece);
      }
      if (parameter) {
        tasks.back() += (tasks.back().find(':') == std::string::npos ? ":" : ",") + piece;
      } else {
        tasks.push_back(piece);
      }
      first = false;
    }
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (std::find(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(i), tasks[i]) !=
        tasks.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw Error("--tasks names '" + tasks[i] + "' twice; name each task once");
    }
  }
  return tasks;
}

std::vector<std::int64_t> parse_length_list(const std::vector<std::string>& texts) {
  return parse_lengths(join(texts, ","));
}

std::int64_t parse_bytes(std::string_view text, std::string_view flag) {
  struct Unit {
    const char* name;
    double bytes;
  };
  static constexpr Unit kUnits[] = {
      {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12},
      {"B", 1.0}};
  const Unit* unit = nullptr;
  for (const Unit& candidate : kUnits) {
    if (text.ends_with(candidate.name)) {
      unit = &candidate;
      break;
    }
  }
  std::string_view number = text;
  if (unit != nullptr) number.remove_suffix(std::string_view(unit->name).size());
  double bytes = 0;
  try {
    bytes = std::floor(parse_real(number, flag) * (unit == nullptr ? 1.0 : unit->bytes));
  } catch (const Error&) {
    bytes = 0;
  }
  if (!(bytes >= 1 && bytes < 9e18)) {
    throw Error(std::string(flag) + " is '" + std::string(text) +
                "'; write bytes like 2GiB, 800MB or 1073741824 (at least 1, at most 8 EiB)");
  }
  return static_cast<std::int64_t>(bytes);
}

double parse_seconds(std::string_view text, std::string_view flag) {
  const double unit = text.ends_with("h") ? 3600 : text.ends_with("m") ? 60 : text.ends_with("s") ? 1 : 0;
  double seconds = 0;
  try {
    seconds = unit > 0 ? unit * parse_real(text.substr(0, text.size() - 1), flag) : 0;
  } catch (const Error&) {
    seconds = 0;
  }
  if (!(seconds > 0))
    throw Error(std::string(flag) + " is '" + std::string(text) + "'; write a time like 90s, 10m or 1.5h");
  return seconds;
}

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    throw Error("--shard is '" + printable(std::string(text)) +
                "': write I/N, as in 2/8 for the second of eight parts");
  }
  Shard shard;
  shard.count = parse_at_least(text.substr(slash + 1), "--shard I/N: N", 1);
  shard.index = parse_at_least(text.substr(0, slash), "--shard I/N: I", 1);
  if (shard.index > shard.count) {
    throw Error("--shard is '" + std::string(text) + "': parts are numbered from 1 to " + std::to_string(shard.count));
  }
  return shard;
}

std::map<std::int64_t, std::int64_t> samples_per_length(const std::vector<std::int64_t>& lengths,
                                                        const std::string& samples,
                                                        const std::vector<std::string>& at) {
  const std::vector<std::string> counts = split(samples, ',');
  if (counts.size() != 1 && counts.size() != lengths.size()) {
    throw Error("--samples has " + std::to_string(counts.size()) + " counts for " + std::to_string(lengths.size()) +
                " lengths; give one count, or one per length");
  }
  std::map<std::int64_t, std::int64_t> result;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    result[lengths[i]] = parse_at_least(counts[counts.size() == 1 ? 0 : i], "--samples", 1);
  }
  std::map<std::int64_t, bool> named;
  for (const std::string& text : at) {
    for (const std::string& piece : split(text, ',')) {
      const std::size_t equals = piece.find('=');
      if (equals == std::string::npos) {
        throw Error("--samples-at is '" + piece + "'; write LENGTH=COUNT, e.g. 65536=8");
      }
      const std::int64_t length = parse_at_least(std::string_view(piece).substr(0, equals), "--samples-at", 1);
      if (!result.contains(length)) {
        throw Error("--samples-at names length " + std::to_string(length) + ", which --lengths does not ask for");
      }
      if (!named.emplace(length, true).second) {
        throw Error("--samples-at names length " + std::to_string(length) + " twice");
      }
      result[length] = parse_at_least(std::string_view(piece).substr(equals + 1), "--samples-at", 1);
    }
  }
  return result;
}

}  // namespace lenbench::cli
