// Reads and writes the lines; everything a program says is checked here.
#include "exec/protocol.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"

namespace lenbench {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownBytes = 80;
constexpr std::size_t kAnswerBytes = 1 << 16,
                      kRowBytes = 64;  // 64: a token of ten digits and nats of seventeen, spaced
// Rounding of a log-probability may leave a hair above probability 1.
constexpr double kSmallestNats = -1e-4;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(where + what, ExitCode::kNotMeasured);
}

std::string shown(std::string_view text) {
  return "'" + printable(text.substr(0, kShownBytes)) + (text.size() > kShownBytes ? "...'" : "'");
}

ordered_json parse_line(std::string_view line, const std::string& where) {
  ordered_json json;
  try {
    json = parse_json(line, "line");
  } catch (const Error& error) {
    fail(where, "wrote " + shown(line) + " where one JSON object is expected (" + error.what() + ")");
  }
  if (!json.is_object()) fail(where, "wrote " + shown(line) + " where one JSON object is expected");
  return json;
}

// The list of one sample, of the right length.
const ordered_json& rows_of(const ordered_json& answer, const char* key, std::size_t sample, std::size_t rows,
                            const std::string& where) {
  const ordered_json& list = answer.at(key).at(sample);
  const std::string name = std::string("\"") + key + "\" of sample " + std::to_string(sample);
  if (!list.is_array()) fail(where, "gave " + shown(list.dump()) + " as " + name + ", which is no list");
  if (list.size() != rows) {
    fail(where,
         "gave " + std::to_string(list.size()) + " values as " + name + " for " + std::to_string(rows) + " rows");
  }
  return list;
}

void require_lists(const ordered_json& answer, const char* key, std::size_t samples, const std::string& where) {
  const auto found = answer.find(key);
  if (found == answer.end()) fail(where, std::string("left out \"") + key + "\"");
  if (!found->is_array() || found->size() != samples) {
    fail(where, std::string("gave \"") + key + "\" that is no list of " + std::to_string(samples) +
                    " lists, one for each sample");
  }
}

// A token, or -1 for null.
std::int32_t read_token(const ordered_json& value, std::int64_t vocab_size, const std::string& where) {
  if (value.is_null()) return -1;
  const std::int64_t limit = vocab_size > 0 ? vocab_size : std::numeric_limits<std::int32_t>::max();
  if (!value.is_number_integer() || value < 0 || value >= limit) {
    fail(where,
         "gave token " + shown(value.dump()) + ", which is no whole number from 0 to " + std::to_string(limit - 1));
  }
  return value.get<std::int32_t>();
}

// Nats, or NaN for null.
double read_nats(const ordered_json& value, const std::string& where) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) fail(where, "gave nats " + shown(value.dump()) + ", which is no number");
  const double nats = value.get<double>();
  if (nats < kSmallestNats) {
    fail(where, "gave nats " + format_real(nats) + ": nats are -log p of the target, never below 0");
  }
  return nats;
}

void refuse_unknown(const ordered_json& answer, const std::string& where) {
  const std::vector<std::string> known = {"id", "argmax", "nats", "error", "out_of_memory"};
  for (const auto& item : answer.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      fail(where, "gave an unknown key " + shown(item.key()) + did_you_mean(item.key(), known));
    }
  }
}

std::string its_error(const ordered_json& answer) {
  const ordered_json& error = answer.at("error");
  std::string text = error.is_string() ? error.get<std::string>() : error.dump();
  if (text.empty()) text = "it gave no reason";
  const auto memory = answer.find("out_of_memory");
  // The Runner asks for fewer samples when it reads these words.
  return (memory != answer.end() && *memory == true ? "ran out of memory: " : "could not answer: ") + text;
}

}  // namespace

std::string hello_request() { return dump_json({{"type", "hello"}, {"lenbench_exec", kExecProtocol}}) + "\n"; }

ExecHello parse_hello(std::string_view line, const std::string& where) {
  const ordered_json json = parse_line(line, where);
  const auto version = json.find("lenbench_exec");
  if (version == json.end()) {
    fail(where, "wrote " + shown(line) +
                    " in place of a hello, an object with \"lenbench_exec\": " + std::to_string(kExecProtocol));
  }
  if (*version != kExecProtocol) {
    fail(where, "speaks protocol " + shown(version->dump()) + ", this lenbench " + std::to_string(kExecProtocol));
  }
  ExecHello hello;
  read_fields(json, hello, where + "says hello wrongly");
  for (const auto& [key, value] :
       {std::pair{"vocab_size", hello.vocab_size}, std::pair{"max_tokens", hello.max_tokens},
        std::pair{"max_batch", hello.max_batch}, std::pair{"train_length", hello.train_length},
        std::pair{"num_parameters", hello.num_parameters}}) {
    if (value < 0) fail(where, std::string("says hello with ") + key + " " + std::to_string(value) + ", below 0");
  }
  return hello;
}

std::string hello_json(const ExecHello& hello) { return dump_json(write_fields(hello)); }

std::string predict_request(std::int64_t id, std::span<const Sample> samples, bool nats) {
  // Written by hand: a tree of a million numbers costs a hundred times their text.
  std::string text = "{\"type\":\"predict\",\"id\":" + std::to_string(id) + ",\"nats\":" + (nats ? "true" : "false") +
                     ",\"samples\":[";
  const auto append = [&](const auto& list, const auto& number) {
    text += '[';
    for (const auto& item : list) {
      text += std::to_string(number(item));
      text += ',';
    }
    if (text.back() == ',') text.pop_back();
    text += ']';
  };
  for (const Sample& sample : samples) {
    text += text.back() == '[' ? "{\"tokens\":" : ",{\"tokens\":";
    append(sample.tokens, [](std::int32_t token) { return token; });
    text += ",\"rows\":";
    append(sample.scored, [](const ScoredToken& scored) { return scored.position; });
    if (nats) {
      text += ",\"targets\":";
      append(sample.scored, [](const ScoredToken& scored) { return scored.target; });
    }
    text += '}';
  }
  return text + "]}\n";
}

std::size_t max_answer_bytes(std::span<const Sample> samples) {
  std::size_t bytes = kAnswerBytes;
  for (const Sample& sample : samples) bytes += kRowBytes * (sample.scored.size() + 1);
  return bytes;
}

ExecAnswer parse_answer(std::string_view line, std::int64_t id, std::span<const Sample> samples, bool nats,
                        std::int64_t vocab_size, const std::string& where) {
  const ordered_json answer = parse_line(line, where);
  refuse_unknown(answer, where);
  const auto answered = answer.find("id");
  if (answered == answer.end() || *answered != id) {
    fail(where, "answered request " + (answered == answer.end() ? "without an id" : shown(answered->dump())) +
                    " where " + std::to_string(id) + " was asked");
  }
  if (answer.contains("error")) return {{}, its_error(answer)};
  const bool only_nats = nats && !answer.contains("argmax");
  if (!only_nats) require_lists(answer, "argmax", samples.size(), where);
  if (nats) require_lists(answer, "nats", samples.size(), where);
  ExecAnswer result;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const std::size_t rows = samples[s].scored.size();
    SamplePrediction prediction;
    if (only_nats) {
      prediction.argmax.assign(rows, -1);
    } else {
      for (const ordered_json& value : rows_of(answer, "argmax", s, rows, where)) {
        prediction.argmax.push_back(read_token(value, vocab_size, where));
      }
    }
    prediction.nll.assign(rows, 0.0);
    if (nats) {
      const ordered_json& list = rows_of(answer, "nats", s, rows, where);
      for (std::size_t row = 0; row < rows; ++row) prediction.nll[row] = read_nats(list[row], where);
    }
    for (std::size_t row = 0; row < rows && prediction.first_nonfinite < 0; ++row) {
      if ((prediction.argmax[row] < 0 && !only_nats) || std::isnan(prediction.nll[row])) {
        prediction.first_nonfinite = samples[s].scored[row].position;
      }
    }
    result.predictions.push_back(std::move(prediction));
  }
  return result;
}

}  // namespace lenbench
