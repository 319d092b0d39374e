// A sample as text: what `show` and `gen` print.
#include "cli/samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "base/text.h"
#include "cli/paths.h"

namespace lenbench::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kTokensALine = 16;
constexpr std::size_t kShownTokens = 512;
constexpr std::size_t kShownRows = 64;

std::string special_name(const SpecialTokens& specials, std::int32_t token) {
  if (token < 0) return "";
  if (token == specials.pad) return "pad";
  if (token == specials.bos) return "bos";
  if (token == specials.eos) return "eos";
  if (token == specials.mask) return "mask";
  if (token == specials.sep) return "sep";
  return "";
}

std::string token_text(const SpecialTokens& specials, std::int32_t token) {
  const std::string name = special_name(specials, token);
  return name.empty() ? std::to_string(token) : "<" + name + ">";
}

void append_tokens(std::string& text, const TaskInfo& info, const Sample& sample) {
  const std::size_t count = sample.tokens.size();
  const bool cut = count > kShownTokens;
  const std::size_t head = cut ? kShownTokens / 2 : count;
  const std::size_t tail = cut ? (count - kShownTokens / 2) / kTokensALine * kTokensALine : count;
  const auto lines = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; i += kTokensALine) {
      text += fmt::format("{:>8}:", i);
      for (std::size_t j = i; j < std::min(last, i + kTokensALine); ++j) {
        text += fmt::format(" {:>5}", token_text(info.specials, sample.tokens[j]));
      }
      text += "\n";
    }
  };
  lines(0, head);
  if (cut) {
    text += fmt::format("          ({} tokens left out; --json has them all)\n", tail - head);
    lines(tail, count);
  }
}

void append_explanation(std::string& text, const TaskInfo& info, const Sample& sample) {
  text += "sources (positions that hold the answers):";
  const std::size_t shown = std::min(kShownRows, sample.sources.size());
  for (std::size_t i = 0; i < shown; ++i) text += fmt::format(" {}", sample.sources[i]);
  if (shown < sample.sources.size()) text += fmt::format(" ({} more)", sample.sources.size() - shown);
  text += "\n";
  for (std::size_t i = 0; i < info.examples.size(); ++i) {
    text += fmt::format("example {}: {}\n{}", i + 1, info.examples[i].note, example_text(info, info.examples[i]));
  }
}

std::vector<std::string> bundled_documents() {
  std::vector<std::string> files;
  std::error_code failure;
  const fs::path folder = data_folder() / "corpora";
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (it->path().extension() == ".txt") files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    throw Error("no bundled document in '" + folder.string() + "'; name documents with --text FILE");
  }
  return files;
}

}  // namespace

std::string example_text(const TaskInfo& info, const WorkedExample& example) {
  std::string text = "  tokens:";
  for (const std::int32_t token : example.tokens) text += " " + token_text(info.specials, token);
  text += "\n  answers:";
  for (std::size_t j = 0; j < example.targets.size(); ++j) {
    text += fmt::format(" {} after position {}{}", token_text(info.specials, example.targets[j]), example.positions[j],
                        j + 1 < example.targets.size() ? "," : "");
  }
  return text + "\n";
}

std::string sample_text(const Task& task, const DrawKey& key, const Sample& sample, bool explain) {
  const TaskInfo& info = task.info();
  std::string text = fmt::format("{}\n{}\n", format_address(task, key), info.summary);
  text += fmt::format("comparability: {}\n", info.comparability);
  text += fmt::format("vocabulary {}, nominal length {}, {} prompt tokens, {} tokens fed, {} rows scored\n",
                      info.vocab_size, key.length, sample.prompt_tokens, sample.tokens.size(), sample.scored.size());
  for (const auto& [name, value] : sample.facts) text += fmt::format("{}: {}\n", name, format_real(value));
  append_tokens(text, info, sample);
  text += "scored:\n";
  const std::size_t shown = std::min(kShownRows, sample.scored.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ScoredToken& row = sample.scored[i];
    text += fmt::format("  after position {} (token {}): {}", row.position,
                        token_text(info.specials, sample.tokens[static_cast<std::size_t>(row.position)]),
                        token_text(info.specials, row.target));
    if (row.answer >= 0) text += fmt::format(", part of answer {}", row.answer);
    text += "\n";
  }
  if (shown < sample.scored.size()) text += fmt::format("  ({} more rows)\n", sample.scored.size() - shown);
  if (explain) append_explanation(text, info, sample);
  return text;
}

std::string tokens_text(const TaskInfo& info, std::span<const std::int32_t> tokens, std::size_t most) {
  std::string text;
  const std::size_t head = tokens.size() > most ? most / 2 : tokens.size();
  const std::size_t tail = tokens.size() > most ? tokens.size() - most / 2 : tokens.size();
  for (std::size_t i = 0; i < head; ++i) text += (i > 0 ? " " : "") + token_text(info.specials, tokens[i]);
  if (tail > head) text += fmt::format(" ... {} tokens left out ...", tail - head);
  for (std::size_t i = tail; i < tokens.size(); ++i) text += " " + token_text(info.specials, tokens[i]);
  return text;
}

TaskResources resources_for(const std::string& task, const std::vector<std::string>& files) {
  TaskResources resources;
  if (!task_needs_documents(task)) {
    if (!files.empty())
      throw Error("--text is only for the task 'text' and others on documents, not for '" + task + "'");
    return resources;
  }
  for (const std::string& file : files.empty() ? bundled_documents() : files) {
    Document document{fs::path(file).filename().string(), read_file(file)};
    if (document.bytes.empty()) throw Error("'" + file + "' is empty; a document needs at least one byte");
    if (!is_valid_utf8(document.bytes)) {
      throw Error("'" + file + "' is not valid UTF-8; convert it, e.g. with iconv -t UTF-8");
    }
    resources.documents.push_back(std::move(document));
  }
  return resources;
}

std::string documents_sha256(const TaskResources& resources) {
  if (resources.documents.empty()) return "";
  std::string bytes;
  for (const Document& document : resources.documents) {
    bytes += document.name + '\0' + std::to_string(document.bytes.size()) + '\0' + document.bytes;
  }
  return sha256_hex(bytes);
}

Sample draw_checked(const Task& task, const DrawKey& key) {
  if (key.length < task.min_length()) {
    throw Error("length " + std::to_string(key.length) + " is too short for '" + task.info().name +
                "': its shortest length is " + std::to_string(task.min_length()));
  }
  const std::uint64_t available = task.available(key.length);
  if (available != 0 && key.index >= available) {
    throw Error("'" + task.info().name + "' has " + std::to_string(available) + " samples at length " +
                std::to_string(key.length) + "; index " + std::to_string(key.index) + " is past the last one");
  }
  return task.draw(key);
}

}  // namespace lenbench::cli
