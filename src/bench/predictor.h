// The seam between questions and models.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tasks/task.h"

namespace lenbench {

// Running sums of attention statistics of one head, over rows. Means are sums divided by the matching count.
struct HeadStats {
  std::int64_t rows = 0;             // rows with at least one visible key
  std::int64_t normalized_rows = 0;  // rows with at least two visible keys
  double entropy = 0;                // sum of H(p) in nats over `rows`
  double normalized_entropy = 0;     // sum of H(p)/ln(visible keys) over `normalized_rows`
  double support = 0;                // sum of the number of keys with p > 0 over `rows`
  double sink_mass = 0;              // sum of p on the first key over `rows`
  double top_mass = 0;               // sum of the largest p over `rows`
  std::int64_t source_rows = 0;      // rows whose answer stands at a known key (answer_sources)
  double source_mass = 0;            // sum of p on that key over `source_rows`
  std::int64_t scaled_rows = 0;      // rows whose query scale is known
  double scale = 0;                  // sum of what multiplies the query over `scaled_rows`
  void add(const HeadStats& other) {
    rows += other.rows;
    normalized_rows += other.normalized_rows;
    entropy += other.entropy;
    normalized_entropy += other.normalized_entropy;
    support += other.support;
    sink_mass += other.sink_mass;
    top_mass += other.top_mass;
    source_rows += other.source_rows;
    source_mass += other.source_mass;
    scaled_rows += other.scaled_rows;
    scale += other.scale;
  }
};

// Which rows a probe covers. Answer rows and others are different curves and never share a line (paper.md section 5).
// kPrefix: every row as for kAll, by position: because a row depends on its prefix alone, one long pass holds the rows
// of all shorter ones.
enum class ProbeRows { kNone, kAnswer, kAll, kPrefix };

// Rows of kPrefix are gathered by the bit width of their position: [0, 0], [1, 1], [2, 3], [4, 7], ...
inline std::size_t position_bucket(std::int64_t position) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(position)));
}
inline std::int64_t bucket_first(std::size_t bucket) { return bucket == 0 ? 0 : std::int64_t{1} << (bucket - 1); }
inline std::int64_t bucket_last(std::size_t bucket) { return bucket == 0 ? 0 : (std::int64_t{1} << bucket) - 1; }

struct Probe {
  ProbeRows rows = ProbeRows::kNone;
  std::int64_t num_layers = 0, num_heads = 0;
  std::vector<HeadStats> heads;  // [num_layers * num_heads], layer-major
  // kAnswer: the rows of answers that came out right (every token of the answer), and wrong; rows outside answers are
  // in neither. Empty for kAll.
  std::vector<HeadStats> heads_right, heads_wrong;
  std::vector<bool> head_has_position;              // [num_heads]; true: the head carries a positional bias or rotation
  std::vector<double> head_alpha;                   // [num_layers * num_heads]; 1: softmax; empty: unknown
  std::vector<std::vector<HeadStats>> by_position;  // kPrefix: [bucket][num_layers * num_heads]
  // kAnswer: the residual stream at the last judged row of each sample of this call, in order: [num_depths * width],
  // depth 0 the embeddings and depth k after block k; empty for a sample without judged rows.
  std::vector<std::vector<double>> states;
  std::int64_t num_depths = 0;

  // Adds what another call of the same model measured, states behind these. Throws std::logic_error for another model.
  void add(const Probe& call) {
    if (heads.empty() && by_position.empty()) {
      *this = call;
      return;
    }
    if (heads.size() != call.heads.size()) throw std::logic_error("probes of models with unlike heads do not add up");
    const auto add_heads = [](std::vector<HeadStats>& to, const std::vector<HeadStats>& from) {
      to.resize(std::max(to.size(), from.size()));
      for (std::size_t i = 0; i < from.size(); ++i) to[i].add(from[i]);
    };
    add_heads(heads, call.heads);
    add_heads(heads_right, call.heads_right);
    add_heads(heads_wrong, call.heads_wrong);
    by_position.resize(std::max(by_position.size(), call.by_position.size()));
    for (std::size_t i = 0; i < call.by_position.size(); ++i) add_heads(by_position[i], call.by_position[i]);
    states.insert(states.end(), call.states.begin(), call.states.end());
  }
};

// For each judged row of a sample, the key that holds its target: Sample::sources in the order of the tokens of
// answers; -1 for rows outside answers, for keys the row does not see, and everywhere when the task names no source or
// not one per token.
inline std::vector<std::int64_t> answer_sources(const Sample& sample) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < sample.scored.size(); ++i) {
    if (sample.scored[i].answer >= 0) rows.push_back(i);
  }
  std::vector<std::int64_t> sources(sample.scored.size(), -1);
  if (rows.size() != sample.sources.size()) return sources;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return sample.scored[a].answer < sample.scored[b].answer; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (sample.sources[i] <= sample.scored[rows[i]].position) sources[rows[i]] = sample.sources[i];
  }
  return sources;
}

// What a model said on one sample. Vectors are parallel to Sample::scored.
struct SamplePrediction {
  std::vector<std::int32_t> argmax;   // lowest id wins ties; -1: no token was produced (never right)
  std::vector<double> nll;            // nats; -log softmax(logits)[target]
  std::int64_t first_nonfinite = -1;  // position of the first judged row with a non-finite logit; -1: all finite
};

// The answers of a sample, ascending, each with whether every token of it is right; none is where the prediction is not
// `finite`.
inline std::vector<std::pair<std::int32_t, bool>> judged_answers(const Sample& sample,
                                                                 const SamplePrediction& prediction, bool finite) {
  std::vector<std::pair<std::int32_t, bool>> answers;
  answers.reserve(sample.scored.size());
  for (std::size_t row = 0; row < sample.scored.size(); ++row) {
    const ScoredToken& scored = sample.scored[row];
    if (scored.answer >= 0) answers.emplace_back(scored.answer, finite && prediction.argmax[row] == scored.target);
  }
  // A wrong row sorts before the right ones of its answer, so the first row of each answer decides.
  if (!std::is_sorted(answers.begin(), answers.end())) std::sort(answers.begin(), answers.end());
  answers.erase(
      std::unique(answers.begin(), answers.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
      answers.end());
  return answers;
}

struct PredictRequest {
  ProbeRows probe = ProbeRows::kNone;
};

// Facts that identify a model; part of every Record (see record/record.h Subject).
struct PredictorInfo {
  std::string name;               // as shown in tables
  std::string checkpoint_sha256;  // empty for doubles
  std::string transform, positions, dtype, device;
  std::string attention_path;  // "reference" or "streaming"
  std::int64_t num_parameters = 0;
  std::int64_t vocab_size = 0;           // 0: any
  TaskInput input = TaskInput::kTokens;  // tasks of another input are not asked; with a vocabulary of 0 any is
  std::int64_t train_length = 0;         // 0: unknown
  std::int64_t max_positions = 0;        // 0: unlimited
  // A row depends on the length of the whole text, not on its prefix alone: decoding would not give what one pass
  // gives, and one pass has no statistics of prefixes.
  bool rows_depend_on_length = false;
};

// What predict() throws when no other call can be answered either: it ends the run, where another Error is one Cell's.
class PredictorLost : public Error {
 public:
  // `elsewhere`: the cause is in another process, which may say more.
  PredictorLost(std::string message, bool elsewhere)
      : Error(std::move(message), ExitCode::kNotMeasured), elsewhere_(elsewhere) {}
  bool elsewhere() const noexcept { return elsewhere_; }

 private:
  bool elsewhere_;
};

// A model. No state between calls. A real model reads Sample::tokens and the positions and targets in `scored` (targets
// only to compute nll); doubles may read everything.
class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual const PredictorInfo& info() const = 0;
  // The addresses of the samples of the predict() call that follows. For doubles, which may know the question by its
  // address; a real model sees tokens only and does not override this.
  virtual void announce(const Task& /*task*/, std::span<const DrawKey> /*keys*/) {}
  // One prediction per sample, in order. Samples may differ in length (rows are padded on the right inside; padding
  // changes nothing). When `probe` is not null it receives the statistics of this call added to what it holds. Throws
  // Error(kNotMeasured) with "out of memory" for allocations that fail.
  virtual std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                                Probe* probe) = 0;
  // Predicted peak bytes above the loaded model for `rows` samples of `tokens` tokens with `scored` judged rows each;
  // 0: unknown.
  virtual std::int64_t predicted_bytes(std::int64_t /*rows*/, std::int64_t /*tokens*/, std::int64_t /*scored*/) const {
    return 0;
  }
  // The largest high-water mark of the other processes that share in the answers, in bytes; 0: there are none.
  virtual std::int64_t peak_bytes_elsewhere() const { return 0; }
};

}  // namespace lenbench
