// The loop over batches of one Cell.
#include "bench/piecewise.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/process_memory.h"
#include "base/text.h"

namespace lenbench {

namespace {

bool is_out_of_memory(const Error& error) {
  return error.code() == ExitCode::kNotMeasured && std::string(error.what()).find("out of memory") != std::string::npos;
}

}  // namespace

PiecewiseCell::PiecewiseCell(Predictor& predictor, Cell cell, const RunOptions& options)
    : predictor_(&predictor), cell_(std::move(cell)), options_(options) {
  if (!options_.wall_clock) throw std::logic_error("RunOptions::wall_clock is required");
  if (!options_.seconds) options_.seconds = steady_seconds;
  record_ = make_record(cell_, predictor.info());
  record_.setting = options_.setting;
  record_.setting.attention_path = predictor.info().attention_path;
  record_.setting.started_at = options_.wall_clock();
  meter_ = std::make_unique<CellMeter>(*cell_.task);
}

void PiecewiseCell::fail(const std::string& reason) {
  record_.status = "failed";
  record_.reason = printable(reason);
}

void PiecewiseCell::advance(std::int64_t count) {
  if (count < 1) throw std::logic_error("PiecewiseCell::advance: count is below 1");
  const double start = options_.seconds();
  const std::int64_t end = std::min(cell_.samples, done_ + count);
  try {
    while (!failed() && done_ < end) advance_batch(end - done_);
  } catch (const std::bad_alloc&) {
    fail("out of memory: while drawing or judging samples of " + std::to_string(cell_.total_tokens) + " tokens");
  } catch (const std::exception& error) {
    fail(error.what());
  }
  seconds_ += options_.seconds() - start;
}

void PiecewiseCell::advance_batch(std::int64_t count) {
  std::vector<DrawKey> keys;
  std::vector<Sample> samples;
  const auto draw = [&](std::int64_t size) {
    for (auto i = static_cast<std::int64_t>(samples.size()); i < size; ++i) {
      keys.push_back({cell_.length, static_cast<std::uint64_t>(done_ + i), cell_.data_seed, cell_.split});
      samples.push_back(cell_.task->draw(keys.back()));
    }
  };
  if (batch_ == 0) {
    draw(1);
    const auto scored = static_cast<std::int64_t>(samples.front().scored.size());
    batch_ = options_.batch > 0 ? options_.batch
                                : choose_batch(*predictor_, cell_.total_tokens, scored, options_.memory_bytes);
  }
  draw(std::min(batch_, count));
  std::string detail;
  try {
    predictor_->announce(*cell_.task, keys);
    const std::vector<SamplePrediction> predictions = predictor_->predict(samples, PredictRequest{}, nullptr);
    meter_->add(samples, predictions);
    done_ += static_cast<std::int64_t>(samples.size());
    const CellResult result = meter_->result();
    if (result.measurement.nonfinite_samples > 0) fail(result.failure);
    return;
  } catch (const std::bad_alloc&) {
    detail = "out of memory";
  } catch (const Error& error) {
    if (!is_out_of_memory(error)) throw;
    detail = error.what();
  }
  if (samples.size() == 1) {
    throw Error(detail + " (batch 1, " + std::to_string(cell_.total_tokens) + " tokens a sample)");
  }
  batch_ = static_cast<std::int64_t>(samples.size()) / 2;
}

Record PiecewiseCell::record() const {
  Record record = record_;
  if (done_ > 0) {
    CellResult result = meter_->result();
    if (record.status == "ok" && !result.failure.empty()) {
      record.status = "failed";
      record.reason = printable(result.failure);
    }
    take_result(std::move(result), record);
  }
  if (done_ < cell_.samples) record.samples_requested = done_;
  record.setting.batch = batch_;
  record.measurement.seconds = seconds_;
  record.measurement.peak_bytes = peak_resident_bytes();
  return record;
}

}  // namespace lenbench
