// The doubles: one class for the answers, one rule for each name.
#include "bench/doubles.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace lenbench {

namespace {

// An alphabet is complete when so many rows for each of its tokens have shown no other.
constexpr std::int64_t kRowsEach = 1024;

double uniform_nats(const Task& task) { return std::log(static_cast<double>(task.info().vocab_size)); }

SamplePrediction all_right(const Sample& sample) {
  SamplePrediction prediction;
  for (const ScoredToken& scored : sample.scored) prediction.argmax.push_back(scored.target);
  prediction.nll.assign(sample.scored.size(), 0.0);
  return prediction;
}

// Wrong at every row, with the nats of equal logits.
SamplePrediction all_wrong(const Sample& sample, const Task& task) {
  SamplePrediction prediction;
  const auto vocab = static_cast<std::int32_t>(task.info().vocab_size);
  for (const ScoredToken& scored : sample.scored) {
    prediction.argmax.push_back(vocab > 1 ? (scored.target + 1) % vocab : -1);
  }
  prediction.nll.assign(sample.scored.size(), uniform_nats(task));
  return prediction;
}

SamplePrediction constant(const Sample& sample, std::int32_t token, double nats) {
  return {std::vector<std::int32_t>(sample.scored.size(), token), std::vector<double>(sample.scored.size(), nats), -1};
}

SamplePrediction nonfinite_from(const Sample& sample, std::int64_t position) {
  SamplePrediction prediction = all_right(sample);
  for (std::size_t i = 0; i < sample.scored.size(); ++i) {
    if (sample.scored[i].position < position) continue;
    if (prediction.first_nonfinite < 0) prediction.first_nonfinite = sample.scored[i].position;
    prediction.argmax[i] = 0;
    prediction.nll[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return prediction;
}

// Answers each announced sample on its own by `rule`.
class Double : public Predictor {
 public:
  using Rule = std::function<SamplePrediction(const Sample&, const Task&, const DrawKey&)>;

  Double(std::string_view name, Rule rule) : rule_(std::move(rule)) {
    info_.name = std::string(name);
    info_.device = "cpu";
  }

  const PredictorInfo& info() const override { return info_; }

  void announce(const Task& task, std::span<const DrawKey> keys) override {
    task_ = &task;
    keys_.assign(keys.begin(), keys.end());
  }

  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest&, Probe*) override {
    if (task_ == nullptr || keys_.size() != samples.size()) {
      throw std::logic_error(info_.name + ": predict() without announce() of the same samples");
    }
    std::vector<SamplePrediction> predictions;
    for (std::size_t i = 0; i < samples.size(); ++i) predictions.push_back(rule_(samples[i], *task_, keys_[i]));
    return predictions;
  }

 private:
  PredictorInfo info_;
  Rule rule_;
  const Task* task_ = nullptr;
  std::vector<DrawKey> keys_;
};

// The alphabet of the last task and length, because collecting it draws samples.
class LastAlphabet {
 public:
  const std::vector<std::int32_t>& of(const Task& task, std::int64_t length) {
    if (&task != task_ || length != length_) {
      alphabet_ = answer_alphabet(task, length);
      task_ = &task;
      length_ = length;
    }
    return alphabet_;
  }

 private:
  const Task* task_ = nullptr;
  std::int64_t length_ = -1;
  std::vector<std::int32_t> alphabet_;
};

// Guesses by address.
class BlindRule {
 public:
  SamplePrediction operator()(const Sample& sample, const Task& task, const DrawKey& key) {
    const std::vector<std::int32_t>& alphabet = alphabet_.of(task, key.length);
    const std::string stream =
        fmt::format("blind:{}:{}:{}:{}", task.info().name, key.length, key.seed, static_cast<std::uint32_t>(key.split));
    Rng rng(stable_hash(stream), key.index);
    SamplePrediction prediction = constant(sample, -1, uniform_nats(task));
    for (std::int32_t& guess : prediction.argmax) {
      if (!alphabet.empty()) guess = alphabet[static_cast<std::size_t>(rng.below(alphabet.size()))];
    }
    return prediction;
  }

 private:
  LastAlphabet alphabet_;
};

// Answers each row with a token of the answer alphabet that it has read: the last one, or the most frequent one.
class ShortcutRule {
 public:
  explicit ShortcutRule(bool most_frequent) : most_frequent_(most_frequent) {}

  SamplePrediction operator()(const Sample& sample, const Task& task, const DrawKey& key) {
    const std::vector<std::int32_t>& alphabet = alphabet_.of(task, key.length);
    std::vector<bool> can_answer(alphabet.empty() ? 0 : static_cast<std::size_t>(alphabet.back()) + 1);
    for (const std::int32_t token : alphabet) can_answer[static_cast<std::size_t>(token)] = true;
    std::vector<std::int64_t> counts(can_answer.size());
    SamplePrediction prediction = constant(sample, -1, uniform_nats(task));
    std::int32_t guess = -1;
    std::int64_t read = 0;
    for (std::size_t row = 0; row < sample.scored.size(); ++row) {
      for (; read <= sample.scored[row].position; ++read) {
        const std::int32_t token = sample.tokens[static_cast<std::size_t>(read)];
        const auto place = static_cast<std::size_t>(token);
        if (place >= can_answer.size() || !can_answer[place]) continue;
        ++counts[place];
        if (!most_frequent_ || guess < 0 || beats(counts, token, guess)) guess = token;
      }
      prediction.argmax[row] = guess;
    }
    return prediction;
  }

 private:
  static bool beats(const std::vector<std::int64_t>& counts, std::int32_t token, std::int32_t other) {
    const std::int64_t mine = counts[static_cast<std::size_t>(token)], theirs = counts[static_cast<std::size_t>(other)];
    return mine > theirs || (mine == theirs && token < other);
  }

  bool most_frequent_;
  LastAlphabet alphabet_;
};

struct Entry {
  const char* name;
  char separator;  // before the number; '\0': takes none
  const char* letter;
  bool number_required;
  const char *summary, *numbered_summary;  // without and with the number
  Double::Rule (*make)(std::int64_t number);
};

const Entry kEntries[] = {
    {"oracle", ':', "N", false, "every answer right", "right up to length N, wrong beyond",
     [](std::int64_t longest) -> Double::Rule {
       return [longest](const Sample& sample, const Task& task, const DrawKey& key) {
         return key.length <= longest ? all_right(sample) : all_wrong(sample, task);
       };
     }},
    {"blind", '\0', "", false, "guesses from the answer alphabet without reading the prompt", "",
     [](std::int64_t) -> Double::Rule { return BlindRule(); }},
    {"uniform", '\0', "", false, "equal logits: its perplexity is the vocabulary's size", "",
     [](std::int64_t) -> Double::Rule {
       return [](const Sample& sample, const Task& task, const DrawKey&) {
         return constant(sample, 0, uniform_nats(task));
       };
     }},
    {"echo", '\0', "", false, "produces nothing: every score must be 0", "",
     [](std::int64_t) -> Double::Rule {
       return [](const Sample& sample, const Task& task, const DrawKey&) {
         return constant(sample, -1, uniform_nats(task));
       };
     }},
    {"last-value", '\0', "", false, "answers with the last token of the answer alphabet that it has read", "",
     [](std::int64_t) -> Double::Rule { return ShortcutRule(false); }},
    {"most-frequent", '\0', "", false, "answers with the most frequent such token", "",
     [](std::int64_t) -> Double::Rule { return ShortcutRule(true); }},
    {"nan", '@', "P", true, "", "the oracle, with NaN logits from position P on",
     [](std::int64_t position) -> Double::Rule {
       return
           [position](const Sample& sample, const Task&, const DrawKey&) { return nonfinite_from(sample, position); };
     }},
    {"oom", '@', "L", true, "", "the oracle, out of memory from length L on",
     [](std::int64_t length) -> Double::Rule {
       return [length](const Sample& sample, const Task&, const DrawKey& key) {
         if (key.length >= length) {
           throw Error(fmt::format("out of memory: the double oom@{} holds no sample of length {}", length, key.length),
                       ExitCode::kNotMeasured);
         }
         return all_right(sample);
       };
     }},
    {"sleepy", ':', "MS", true, "", "the oracle, taking MS milliseconds a sample",
     [](std::int64_t milliseconds) -> Double::Rule {
       return [milliseconds](const Sample& sample, const Task&, const DrawKey&) {
         std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
         return all_right(sample);
       };
     }},
};

std::string_view head_of(std::string_view name) { return name.substr(0, name.find_first_of(":@")); }

}  // namespace

std::vector<std::string> double_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) {
    if (!entry.number_required) names.emplace_back(entry.name);
    if (entry.separator != '\0') names.push_back(fmt::format("{}{}{}", entry.name, entry.separator, entry.letter));
  }
  return names;
}

std::vector<std::string> double_summaries() {
  std::vector<std::string> summaries;
  for (const Entry& entry : kEntries) {
    if (!entry.number_required) summaries.emplace_back(entry.summary);
    if (entry.separator != '\0') summaries.emplace_back(entry.numbered_summary);
  }
  return summaries;
}

bool is_double(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (head_of(name) == entry.name) return true;
  }
  return false;
}

std::unique_ptr<Predictor> make_double(std::string_view name) {
  const std::string_view head = head_of(name);
  for (const Entry& entry : kEntries) {
    if (head != entry.name) continue;
    std::int64_t number = std::numeric_limits<std::int64_t>::max();
    if (head.size() < name.size()) {
      if (entry.separator != name[head.size()]) {
        const std::string form =
            entry.separator == '\0' ? entry.name : fmt::format("{}{}{}", entry.name, entry.separator, entry.letter);
        throw Error(fmt::format("model '{}': write '{}'", name, form));
      }
      number = parse_int(name.substr(head.size() + 1), fmt::format("model '{}': {}", name, entry.letter));
      if (number < 0) throw Error(fmt::format("model '{}': {} must not be negative", name, entry.letter));
    } else if (entry.number_required) {
      throw Error(fmt::format("model '{}': {} is missing, write '{}{}{}'", name, entry.letter, entry.name,
                              entry.separator, entry.letter));
    }
    return std::make_unique<Double>(name, entry.make(number));
  }
  std::vector<std::string> known;
  for (const Entry& entry : kEntries) known.emplace_back(entry.name);
  throw Error(fmt::format("model '{}' is no double{}; there are {}", name, did_you_mean(head, known),
                          join(double_names(), ", ")));
}

std::vector<std::int32_t> answer_alphabet(const Task& task, std::int64_t length, std::int64_t samples) {
  const auto vocab = static_cast<std::size_t>(task.info().vocab_size);
  std::vector<bool> of_answers(vocab), of_all(vocab);
  const std::uint64_t available = task.available(length);
  auto num = static_cast<std::uint64_t>(samples);
  if (available > 0 && available < num) num = available;
  std::int64_t known = 0, rows_without_news = 0;
  for (std::uint64_t index = 0; index < num && (known == 0 || rows_without_news < kRowsEach * known); ++index) {
    for (const ScoredToken& scored : task.draw({length, index, 0, Split::kTrain}).scored) {
      const auto target = static_cast<std::size_t>(scored.target);
      const bool news = !of_all[target] || (scored.answer >= 0 && !of_answers[target]);
      known += of_all[target] ? 0 : 1;
      rows_without_news = news ? 0 : rows_without_news + 1;
      of_all[target] = true;
      if (scored.answer >= 0) of_answers[target] = true;
    }
  }
  const bool framing_only = std::find(of_answers.begin(), of_answers.end(), true) == of_answers.end();
  const std::vector<bool>& held = framing_only ? of_all : of_answers;
  std::vector<std::int32_t> tokens;
  for (std::size_t token = 0; token < vocab; ++token) {
    if (held[token]) tokens.push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

}  // namespace lenbench
