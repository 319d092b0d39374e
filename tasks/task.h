// What a task is: questions that are pure functions of their address, and how each is solved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tasks/rng.h"

namespace lenbench {

// Exactly-parsed parameters, resolved: every parameter of the task is present, with its default when the user gave
// none (in TaskInfo without those marked ParameterSpec::implicit_default that have it).
using TaskParameters = std::map<std::string, std::string>;

// How a sample is judged.
enum class TaskMetric {
  kExactMatch,  // argmax at scored rows against targets
  kPerplexity,  // nats per token of the targets
};

// What the ids of a sample stand for, and so which models can read them.
enum class TaskInput {
  kTokens,  // symbols: for language models
  kItems,   // a set of numbers and classes and a query (max_retrieval.h): for models of sets
};

// One judged row. The model has read tokens[0..position] and must produce `target`.
struct ScoredToken {
  std::int64_t position = 0;  // index into Sample::tokens of the row whose output is judged
  std::int32_t target = 0;
  std::int32_t answer = -1;  // which answer the token belongs to, 0-based; -1: none (separators, end of sequence)
  bool fed_back = false;     // tokens[position + 1] is this target (teacher forcing)
  bool operator==(const ScoredToken&) const = default;
};

// One question with its answer. Tokens are in [0, vocab_size); nothing outside `scored` is judged.
//
// Facts that say what a length means; a task may have more, and `items` where its length does not count tokens:
//   pads      tokens of the prompt that carry nothing: blanks, filler, haystack; every task
//   pairs     things in the prompt that could be asked for: pairs of key and value, needles, runs, writes; where there
//             are any
//   density   pairs per token of the context (the prompt without BOS, SEP and queries); with `pairs`
//   distance, distance_min, distance_max
//             tokens from the query's key to the key in the context, or, without keys, from the judged row to the token
//             it needs: mean, least and largest over the answers; where an answer stands in the prompt
struct Sample {
  std::vector<std::int32_t> tokens;     // everything fed to the model, specials included; the last target is never fed
  std::vector<ScoredToken> scored;      // ascending by position
  std::int64_t prompt_tokens = 0;       // tokens before the first answer row's target: scored[0].position + 1
  std::vector<std::int64_t> sources;    // positions in `tokens` that hold the answers, by answer then by token; none
                                        // where an answer is computed, not found (parity, local-count)
  std::map<std::string, double> facts;  // see below
  bool operator==(const Sample&) const = default;
};

// Ids appended by the task for framing; -1 where a task has none.
struct SpecialTokens {
  std::int32_t pad = -1, bos = -1, eos = -1, mask = -1, sep = -1;
};

struct WorkedExample {
  std::string note;                  // why the answer is the answer, in one sentence
  std::vector<std::int32_t> tokens;  // as fed, specials included
  std::vector<std::int32_t> targets;
  std::vector<std::int64_t> positions;  // rows that are judged, parallel to `targets`
};

struct TaskInfo {
  std::string name;
  int version = 1;
  std::string comparability;  // "exact: ...", "distributional: ..." or "inspired: ...", naming the original
  std::string summary;        // the rule in one sentence
  std::string published;      // what the original used and what is known about it; empty for lenbench's own tasks
  std::int64_t vocab_size = 0;
  SpecialTokens specials;
  TaskParameters parameters;
  std::string data_sha256;  // of the file that the samples were read from; empty: they are drawn
  TaskMetric metric = TaskMetric::kExactMatch;
  TaskInput input = TaskInput::kTokens;
  std::vector<WorkedExample> examples;     // two, for the default parameters; tested
  std::vector<WorkedExample> truth_table;  // the whole rule on the smallest inputs, where that is short; tested
};

// Everything that decides a sample, besides the task itself.
struct DrawKey {
  std::int64_t length = 0;  // nominal, in tokens; what it counts is the task's to define
  std::uint64_t index = 0;
  std::uint64_t seed = 0;
  Split split = Split::kTest;
};

// A generator of questions. Immutable; safe to call from several threads at once.
class Task {
 public:
  virtual ~Task() = default;
  virtual const TaskInfo& info() const = 0;

  // The sample at `key`. Pure. Throws Error when key.length < min_length() or a bound of the task is exceeded.
  virtual Sample draw(const DrawKey& key) const = 0;

  // Targets for the judged rows, computed from the tokens alone; for the row at positions[i] only
  // tokens[0..positions[i]] are read. The proof that a sample is answerable. -1 for a row the tokens hold no answer to.
  // Perplexity tasks return the next tokens, which no prefix decides.
  virtual std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                          std::span<const std::int64_t> positions) const = 0;

  // Largest number of tokens fed for any sample of this nominal length. Requires length >= min_length().
  virtual std::int64_t total_tokens(std::int64_t length) const = 0;
  virtual std::int64_t min_length() const = 0;
  // Number of distinct samples at a length; 0: unlimited. (Documents run out; generators do not.) Throws Error when
  // there are documents, and none is long enough for a single sample.
  virtual std::uint64_t available(std::int64_t /*length*/) const { return 0; }

  // One line on what a reader of results at this length should know, e.g. documents too short for it; empty: nothing.
  virtual std::string note(std::int64_t /*length*/) const { return ""; }

  // Probability that one answer is right for a guesser who knows the answer alphabet and nothing of the prompt.
  virtual double chance() const = 0;
};

// A task by name with parameters, as users write it: `recall`, `recall:keys=1024,density=4`, optionally `:v1`.
struct TaskSpec {
  std::string name;
  TaskParameters given;  // only what was written
  int version = 0;       // 0: the current one
};

// `TASK[:k=v,...][:vN]:LENGTH:INDEX[:SEED[:train|validation|test]]`, the name of one sample; see catalog.h.
struct SampleAddress {
  TaskSpec task;
  DrawKey key;
};

}  // namespace lenbench
