// Writes samples as JSON lines and reads them back with every check that the format allows.
#include "tasks/sample_file.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/names.h"
#include "tasks/catalog.h"

namespace lenbench {
namespace {

struct SpecialsFields {
  std::int32_t pad = -1, bos = -1, eos = -1, mask = -1, sep = -1;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("pad", self.pad);
    visit.defaulted("bos", self.bos);
    visit.defaulted("eos", self.eos);
    visit.defaulted("mask", self.mask);
    visit.defaulted("sep", self.sep);
  }
};

struct HeaderFields {
  std::string lenbench, task;
  int task_version = 1;
  std::map<std::string, std::string> parameters;
  std::string comparability = "exact: samples read from a file";
  std::string metric = "exact_match";
  std::string input = "tokens";
  std::int64_t vocab_size = 0;
  SpecialsFields specials;
  std::optional<double> chance;
  std::optional<std::int64_t> length;
  std::int64_t samples = 0;
  std::uint64_t seed = 0;
  std::string split = "test";
  std::string sha256;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("lenbench", self.lenbench);
    visit("task", self.task);
    visit.defaulted("task_version", self.task_version);
    visit.defaulted("parameters", self.parameters);
    visit.defaulted("comparability", self.comparability);
    visit.defaulted("metric", self.metric);
    visit.defaulted("input", self.input);
    visit("vocab_size", self.vocab_size);
    visit.defaulted("specials", self.specials);
    visit("chance", self.chance);
    visit("length", self.length);
    visit("samples", self.samples);
    visit.defaulted("seed", self.seed);
    visit.defaulted("split", self.split);
    visit.defaulted("sha256", self.sha256);
  }
};

struct ScoredFields {
  std::int64_t position = 0;
  std::int32_t target = 0, answer = -1;
  bool fed_back = false;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("position", self.position);
    visit("target", self.target);
    visit.defaulted("answer", self.answer);
    visit.defaulted("fed_back", self.fed_back);
  }
};

struct SampleFields {
  std::string address;
  std::int64_t length = 0;
  std::optional<std::int64_t> prompt_tokens;
  std::vector<std::int32_t> tokens;
  std::vector<ScoredFields> scored;
  std::vector<std::int64_t> sources;
  std::map<std::string, double> facts;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit.defaulted("address", self.address);
    visit("length", self.length);
    visit("prompt_tokens", self.prompt_tokens);
    visit("tokens", self.tokens);
    visit("scored", self.scored);
    visit.defaulted("sources", self.sources);
    visit.defaulted("facts", self.facts);
  }
};

struct TextFields {
  std::string address;
  std::int64_t length = 0;
  std::string prompt;
  std::vector<std::string> answers;
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("address", self.address);
    visit("length", self.length);
    visit("prompt", self.prompt);
    visit("answers", self.answers);
  }
};

constexpr std::int32_t kNumBytes = 256;

[[noreturn]] void fail(const std::string& where, const std::string& problem) { throw Error(where + ": " + problem); }

bool inside(std::int64_t value, std::int64_t size) { return 0 <= value && value < size; }

void check_vocabulary(const SampleFields& read, std::int64_t vocab, const std::string& where) {
  const auto outside = [&](const std::string& what, std::int32_t token) {
    fail(where, what + " is " + std::to_string(token) + "; the header's vocab_size is " + std::to_string(vocab));
  };
  for (std::size_t i = 0; i < read.tokens.size(); ++i) {
    if (!inside(read.tokens[i], vocab)) outside("tokens[" + std::to_string(i) + "]", read.tokens[i]);
  }
  for (const ScoredFields& row : read.scored) {
    if (!inside(row.target, vocab)) outside("the target at position " + std::to_string(row.position), row.target);
  }
}

// A tokenizer that adds a BOS of its own to a prompt that has one leaves two, which changes what a model says. An id
// that also ends texts may stand anywhere.
void check_bos(const SampleFields& read, const SpecialsFields& specials, const std::string& where) {
  const std::int32_t bos = specials.bos;
  if (bos < 0 || bos == specials.eos) return;
  for (std::size_t i = 1; i < read.tokens.size(); ++i) {
    if (read.tokens[i] != bos) continue;
    fail(where, "tokens[" + std::to_string(i) + "] is the header's bos " + std::to_string(bos) +
                    ", which may only stand at the front");
  }
}

void check_rows(const SampleFields& read, const std::string& where) {
  const auto size = static_cast<std::int64_t>(read.tokens.size());
  if (read.scored.empty()) fail(where, "no row is scored");
  std::int64_t before = -1;
  for (const ScoredFields& row : read.scored) {
    const std::string place = "the row at position " + std::to_string(row.position);
    if (!inside(row.position, size))
      fail(where, place + " is scored, and there are " + std::to_string(size) + " tokens");
    if (row.position <= before)
      fail(where, place + " follows the one at " + std::to_string(before) + "; sort the rows");
    before = row.position;
    if (row.answer < -1) fail(where, place + " has answer " + std::to_string(row.answer) + "; use -1 for none");
    if (!row.fed_back) continue;
    if (row.position + 1 >= size) fail(where, place + " is the last token, so its target is not fed back");
    const std::int32_t next = read.tokens[static_cast<std::size_t>(row.position) + 1];
    if (next != row.target) {
      fail(where, place + " has target " + std::to_string(row.target) + ", fed back, but the next token is " +
                      std::to_string(next));
    }
  }
}

Sample checked_sample(const SampleFields& read, const HeaderFields& header, const std::string& where) {
  if (read.length < 1) fail(where, "length is " + std::to_string(read.length) + "; it must be at least 1");
  check_vocabulary(read, header.vocab_size, where);
  check_bos(read, header.specials, where);
  check_rows(read, where);
  Sample sample;
  sample.tokens = read.tokens;
  for (const ScoredFields& row : read.scored) {
    sample.scored.push_back({row.position, row.target, row.answer, row.fed_back});
  }
  sample.prompt_tokens = sample.scored.front().position + 1;
  if (read.prompt_tokens && *read.prompt_tokens != sample.prompt_tokens) {
    fail(where, "prompt_tokens is " + std::to_string(*read.prompt_tokens) +
                    ", but the first row scored is that of token " + std::to_string(sample.prompt_tokens));
  }
  for (const std::int64_t source : read.sources) {
    if (!inside(source, static_cast<std::int64_t>(sample.tokens.size()))) {
      fail(where, "source " + std::to_string(source) + " is outside the tokens");
    }
  }
  sample.sources = read.sources;
  sample.facts = read.facts;
  return sample;
}

TaskInfo info_of(const HeaderFields& header, const std::string& where) {
  TaskInfo info;
  if (header.task.empty()) fail(where, "task has no name");
  info.name = header.task;
  if (header.task_version < 1) fail(where, "task_version is " + std::to_string(header.task_version));
  info.version = header.task_version;
  info.parameters = header.parameters;
  info.comparability = header.comparability;
  info.summary = "samples read from a file";
  if (header.metric != "exact_match" && header.metric != "perplexity") {
    fail(where, "metric is '" + header.metric + "'; use exact_match or perplexity");
  }
  info.metric = header.metric == "perplexity" ? TaskMetric::kPerplexity : TaskMetric::kExactMatch;
  if (header.input != "tokens" && header.input != "items") {
    fail(where, "input is '" + header.input + "'; use tokens or items");
  }
  info.input = header.input == "items" ? TaskInput::kItems : TaskInput::kTokens;
  if (header.vocab_size < 1) fail(where, "vocab_size is " + std::to_string(header.vocab_size));
  if (header.chance && !(*header.chance >= 0 && *header.chance <= 1)) fail(where, "chance is no probability");
  info.vocab_size = header.vocab_size;
  const SpecialsFields& s = header.specials;
  for (const std::int32_t id : {s.pad, s.bos, s.eos, s.mask, s.sep}) {
    if (id < -1 || id >= header.vocab_size)
      fail(where, "special token " + std::to_string(id) + " is outside the vocabulary");
  }
  info.specials = {s.pad, s.bos, s.eos, s.mask, s.sep};
  return info;
}

using SamplesByLength = std::map<std::int64_t, std::vector<Sample>>;

class FileTask : public Task {
 public:
  FileTask(TaskInfo info, std::string where, std::optional<double> chance, SamplesByLength samples)
      : info_(std::move(info)), where_(std::move(where)), samples_(std::move(samples)) {
    std::set<std::int32_t> alphabet;
    for (const auto& [length, group] : samples_) {
      for (const Sample& sample : group) {
        for (const ScoredToken& row : sample.scored) {
          if (row.answer >= 0) alphabet.insert(row.target);
        }
      }
    }
    chance_ = chance ? *chance : alphabet.empty() ? 0 : 1.0 / static_cast<double>(alphabet.size());
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override { return samples_.begin()->first; }
  std::int64_t total_tokens(std::int64_t length) const override {
    std::size_t longest = 0;
    for (const Sample& sample : group(length)) longest = std::max(longest, sample.tokens.size());
    return static_cast<std::int64_t>(longest);
  }
  std::uint64_t available(std::int64_t length) const override { return group(length).size(); }
  double chance() const override { return chance_; }

  Sample draw(const DrawKey& key) const override {
    const std::vector<Sample>& samples = group(key.length);
    if (key.index >= samples.size()) {
      fail(where_, "sample " + std::to_string(key.index) + " of length " + std::to_string(key.length) +
                       " does not exist; there are " + std::to_string(samples.size()));
    }
    return samples[key.index];
  }

  std::vector<std::int32_t> solve(std::span<const std::int32_t>,
                                  std::span<const std::int64_t> positions) const override {
    return std::vector<std::int32_t>(positions.size(), -1);
  }

 private:
  const std::vector<Sample>& group(std::int64_t length) const {
    const auto found = samples_.find(length);
    if (found != samples_.end()) return found->second;
    std::vector<std::string> lengths;
    for (const auto& [known, samples] : samples_) lengths.push_back(std::to_string(known));
    fail(where_, "no sample of length " + std::to_string(length) + "; there are " + join(lengths, ", "));
  }

  TaskInfo info_;
  std::string where_;
  SamplesByLength samples_;
  double chance_ = 0;
};

}  // namespace

std::string sample_line(const Task& task, const DrawKey& key, const Sample& sample) {
  SampleFields line;
  line.address = format_address(task, key);
  line.length = key.length;
  line.prompt_tokens = sample.prompt_tokens;
  line.tokens = sample.tokens;
  for (const ScoredToken& row : sample.scored)
    line.scored.push_back({row.position, row.target, row.answer, row.fed_back});
  line.sources = sample.sources;
  line.facts = sample.facts;
  return dump_json(write_fields(line));
}

std::string sample_text_line(const Task& task, const DrawKey& key, const Sample& sample) {
  if (task.info().specials.pad != kNumBytes) {
    throw Error("the tokens of '" + task.info().name +
                "' are no bytes, so its samples have no text; write ids instead");
  }
  const auto append = [](std::string& text, std::int32_t token) {
    if (token < kNumBytes) text.push_back(static_cast<char>(static_cast<unsigned char>(token)));
  };
  TextFields line;
  line.address = format_address(task, key);
  line.length = key.length;
  for (std::int64_t t = 0; t < sample.prompt_tokens; ++t)
    append(line.prompt, sample.tokens[static_cast<std::size_t>(t)]);
  std::map<std::int32_t, std::string> answers;
  for (const ScoredToken& row : sample.scored) append(answers[row.answer], row.target);
  if (answers.size() > 1) answers.erase(-1);
  for (const auto& [answer, text] : answers) line.answers.push_back(text);
  return dump_json(write_fields(line));
}

std::string sample_file_header(const Task& task, const DrawKey& key, std::int64_t samples, const std::string& version,
                               const std::string& sha256) {
  const TaskInfo& info = task.info();
  HeaderFields header;
  header.lenbench = version;
  header.task = info.name;
  header.task_version = info.version;
  header.parameters = info.parameters;
  header.comparability = info.comparability;
  header.metric = info.metric == TaskMetric::kPerplexity ? "perplexity" : "exact_match";
  header.input = info.input == TaskInput::kItems ? "items" : "tokens";
  header.vocab_size = info.vocab_size;
  header.specials = {info.specials.pad, info.specials.bos, info.specials.eos, info.specials.mask, info.specials.sep};
  header.chance = task.chance();
  header.length = key.length;
  header.samples = samples;
  header.seed = key.seed;
  header.split = split_name(key.split);
  header.sha256 = sha256;
  return dump_json(write_fields(header));
}

SampleFile read_sample_file(const std::string& bytes, const std::string& where) {
  const std::size_t first_end = bytes.find('\n');
  if (first_end == std::string::npos) fail(where, "no complete line: a header and at least one sample are needed");
  const std::string header_place = where + ":1";
  HeaderFields header;
  read_fields(parse_json(std::string_view(bytes).substr(0, first_end), header_place), header, header_place);
  TaskInfo info = info_of(header, header_place);
  info.data_sha256 = sha256_hex(bytes);

  const std::string_view lines = std::string_view(bytes).substr(first_end + 1);
  if (lines.empty()) fail(where, "no sample follows the header");
  if (lines.back() != '\n') fail(where, "the last line is cut off: it has no line feed");
  SamplesByLength samples;
  std::set<std::string> addresses;
  std::int64_t count = 0;
  for (std::size_t at = 0; at < lines.size(); ++count) {
    const std::size_t end = lines.find('\n', at);
    const std::string place = where + ":" + std::to_string(count + 2);
    SampleFields read;
    read_fields(parse_json(lines.substr(at, end - at), place), read, place);
    at = end + 1;
    if (!read.address.empty() && !addresses.insert(read.address).second) {
      fail(place, "address '" + read.address + "' occurs twice");
    }
    if (header.length && read.length != *header.length) {
      fail(place, "length is " + std::to_string(read.length) + ", the header says " + std::to_string(*header.length));
    }
    samples[read.length].push_back(checked_sample(read, header, place));
  }
  if (count != header.samples) {
    fail(where, std::to_string(count) + " samples, the header says " + std::to_string(header.samples));
  }
  if (!header.sha256.empty() && sha256_hex(lines) != header.sha256) {
    fail(where, "the samples do not have the sha256 of the header: the file was changed");
  }

  SampleFile file;
  for (const auto& [length, group] : samples) file.lengths.push_back(length);
  file.seed = header.seed;
  file.split = parse_split(header.split);
  file.task = std::make_shared<FileTask>(std::move(info), where, header.chance, std::move(samples));
  return file;
}

}  // namespace lenbench
