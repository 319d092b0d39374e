// From samples and predictions to the numbers of a Record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/predictor.h"
#include "record/record.h"
#include "stats/sums.h"
#include "tasks/task.h"

namespace lenbench {

// The names of ProbeRows as on the command line and in Records: "answer", "all", "prefix", "none".
std::vector<std::string> probe_rows_names();
std::string probe_rows_name(ProbeRows rows);
// Throws std::invalid_argument on a name that is none of these.
ProbeRows parse_probe_rows(std::string_view name);

// None for NaN and infinity, which no Record holds.
std::optional<double> finite(double value);

// What a Cell's samples add up to.
struct CellResult {
  Measurement measurement;  // without seconds, peak_bytes and what a probe gives
  std::string outcomes;
  std::vector<double> sample_nats;
  std::vector<std::int64_t> sample_tokens;
  std::vector<std::int64_t> sample_answers;
  std::string answer_outcomes;
  std::string failure;  // one line when the Cell cannot be `ok`: non-finite logits, or nothing to score
};

// Judges samples as they come; keeps counts, not samples. Every ratio is over samples or tokens of the whole Cell, so
// batch boundaries change nothing.
//
// Exact match: a sample is right when every scored token is, an answer when all its tokens are; tokens with answer -1
// count for exact match and token accuracy only. Intervals are Wilson 95 %; those of answers and tokens use the
// effective count n / design effect, because answers of one sample are not independent.
// Perplexity: exp of (sum of nats / scored tokens), with a ratio-estimator interval over samples. Bits per byte when
// the tokens are bytes (task `text`) or the samples say how many bytes of text they judge (fact `judged_bytes`).
// Buckets by judged position: [0,0], [1,1], [2,3], [4,7], ... A sample with a non-finite logit has outcome 'x', is
// never right even where argmax equals the target, stays in every denominator, and fails the Cell; for perplexity it
// adds neither nats nor tokens, and the perplexity is left undefined.
class CellMeter {
 public:
  // Samples count from `first_sample`, which failures name.
  explicit CellMeter(const Task& task, std::int64_t first_sample = 0);
  // Of the question of a Record.
  explicit CellMeter(const Question& question);
  // `samples` in index order, following those added before. Throws std::logic_error when the two do not match in size.
  void add(std::span<const Sample> samples, std::span<const SamplePrediction> predictions);
  // What a part of the Cell measured, following those added before.
  void add(const Record& part);
  CellResult result() const;
  // What a part says beyond result(): the sums in `part`, and how many samples have each fact.
  void describe(Part& part, std::map<std::string, FactRange>& facts) const;

 private:
  struct Counts {
    std::vector<std::int64_t> right, n;  // per sample
  };
  void add_facts(const Sample& sample);
  void add_exact(const Sample& sample, const SamplePrediction& prediction, bool finite);
  void add_nats(const Sample& sample, const SamplePrediction& prediction, bool finite);

  TaskMetric metric_;
  bool byte_tokens_;
  double chance_ = 0;
  std::int64_t first_sample_ = 0;
  std::int64_t samples_ = 0, tokens_min_ = 0, tokens_max_ = 0, nonfinite_ = 0, exact_right_ = 0;
  struct FactSums {
    CompensatedSum sum;
    double min = 0, max = 0;
    std::int64_t samples = 0;
  };
  std::map<std::string, FactSums> facts_;
  std::int64_t nonfinite_sample_ = -1, nonfinite_position_ = -1;  // the first
  std::string outcomes_;
  Counts answers_, tokens_;
  std::vector<bool> answer_bits_;     // of all samples' answers, in order
  bool outcomes_say_answers_ = true;  // every sample is one answer and nothing else
  CompensatedSum nats_;
  std::int64_t nll_tokens_ = 0, nll_bytes_ = 0;
  std::vector<double> sample_nats_;
  std::vector<std::int64_t> sample_tokens_;
  struct Bucket {
    CompensatedSum nats;
    std::int64_t tokens = 0;
  };
  std::vector<Bucket> buckets_;
};

// Moves what was measured into `record`: everything but status, reason, and what a probe gives.
void take_result(CellResult result, Record& record);

// Means per head of sums of `probe` (its heads, heads_right or heads_wrong), layer-major; heads without rows are left
// out. `for_part`: with the rows behind each mean.
std::vector<HeadMeans> head_means(const Probe& probe, const std::vector<HeadStats>& heads, bool for_part = false);

// Everything a probe gives but distances of representations.
void take_probe(const Probe& probe, Measurement& measurement, bool for_part = false);

}  // namespace lenbench
