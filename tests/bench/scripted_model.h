// An oracle that counts its calls, needs memory, takes time on a clock of its own, and reports attention statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/predictor.h"

namespace lenbench {

class ScriptedModel : public Predictor {
 public:
  ScriptedModel() {
    info_.name = "scripted";
    info_.attention_path = "reference";
  }

  PredictorInfo info_;
  std::int64_t capacity_bytes = 0;  // 0: unlimited
  std::int64_t bytes_per_token = 1024;
  bool predicts_bytes = true;
  bool throws_bad_alloc = false;
  double seconds_per_token = 0;
  std::function<void()> before_call;

  std::vector<std::size_t> batches;  // sizes of calls that succeeded
  double clock = 0;

  const PredictorInfo& info() const override { return info_; }

  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                        Probe* probe) override {
    if (before_call) before_call();
    std::size_t longest = 0;
    for (const Sample& sample : samples) longest = std::max(longest, sample.tokens.size());
    const std::int64_t tokens = static_cast<std::int64_t>(samples.size() * longest);
    if (probe != nullptr) add_rows(*probe, request, static_cast<std::int64_t>(samples.size()));
    clock += seconds_per_token * static_cast<double>(tokens);
    if (capacity_bytes > 0 && tokens * bytes_per_token > capacity_bytes) {
      if (throws_bad_alloc) throw std::bad_alloc();
      throw Error("out of memory: " + std::to_string(tokens * bytes_per_token) + " bytes", ExitCode::kNotMeasured);
    }
    batches.push_back(samples.size());
    std::vector<SamplePrediction> predictions;
    for (const Sample& sample : samples) {
      SamplePrediction prediction;
      for (const ScoredToken& scored : sample.scored) prediction.argmax.push_back(scored.target);
      prediction.nll.assign(sample.scored.size(), 0.0);
      predictions.push_back(prediction);
    }
    return predictions;
  }

  std::int64_t predicted_bytes(std::int64_t rows, std::int64_t tokens, std::int64_t) const override {
    return predicts_bytes ? rows * tokens * bytes_per_token : 0;
  }

 private:
  // One layer of two heads, one row a sample, before it is known whether the call fits.
  static void add_rows(Probe& probe, const PredictRequest& request, std::int64_t rows) {
    probe.rows = request.probe;
    probe.num_layers = 1;
    probe.num_heads = 2;
    probe.head_has_position = {true, false};
    probe.heads.resize(2);
    const auto r = static_cast<double>(rows);
    probe.heads[0].add({rows, rows, 0.5 * r, 0.25 * r, 3 * r, 0.1 * r, 0.9 * r});
    probe.heads[1].add({rows, rows, 1.0 * r, 0.75 * r, 9 * r, 0.2 * r, 0.5 * r});
  }
};

}  // namespace lenbench
