// The loop over batches.
#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"
#include "base/process_memory.h"
#include "base/text.h"
#include "bench/metrics.h"
#include "bench/representations.h"

namespace lenbench {

namespace {

// Thrown within a Cell when a batch does not fit; carries what the model said.
struct OutOfMemory {
  std::string detail;
};

constexpr std::string_view kOutOfMemory = "out of memory";

struct Batch {
  std::vector<DrawKey> keys;
  std::vector<Sample> samples;
};

Batch draw_batch(const Cell& cell, std::int64_t first, std::int64_t count) {
  Batch batch;
  for (std::int64_t i = first; i < first + count; ++i) {
    batch.keys.push_back({cell.length, static_cast<std::uint64_t>(i), cell.data_seed, cell.split});
    batch.samples.push_back(cell.task->draw(batch.keys.back()));
  }
  return batch;
}

std::vector<SamplePrediction> predict_or_oom(Predictor& predictor, const Cell& cell, const Batch& batch, ProbeRows rows,
                                             Probe* probe) {
  try {
    predictor.announce(*cell.task, batch.keys);
    return predictor.predict(batch.samples, PredictRequest{rows}, probe);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory{std::string(kOutOfMemory)};
  } catch (const PredictorLost&) {
    throw;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.code() != ExitCode::kNotMeasured || message.find(kOutOfMemory) == std::string::npos) throw;
    throw OutOfMemory{message};
  }
}

}  // namespace

Measured measure_cell(Predictor& predictor, const RunOptions& options, const MeasureRequest& request,
                      const std::function<void(std::int64_t)>& samples_done) {
  const Cell& cell = *request.cell;
  const ProbeRows rows = request.rows;
  const std::int64_t first = request.part == nullptr ? 0 : request.part->first;
  const std::int64_t count = request.part == nullptr ? cell.samples : request.part->samples;
  Measured outcome;
  Record& record = outcome.record;
  record = make_record(cell, predictor.info());
  if (request.part != nullptr) record.part = *request.part;
  record.setting = options.setting;
  record.setting.attention_path = predictor.info().attention_path;
  record.setting.started_at = options.wall_clock();
  const double start = options.seconds();
  const auto fail = [&](const std::string& reason) {
    record.status = "failed";
    record.reason = printable(reason);
  };

  std::int64_t batch = 1;
  try {
    const std::int64_t tokens = cell.total_tokens;
    batch = request.batch > 0 ? request.batch : options.batch;
    if (batch == 0 || options.memory_bytes > 0) {
      const auto scored = static_cast<std::int64_t>(draw_batch(cell, 0, 1).samples.front().scored.size());
      if (batch == 0) batch = choose_batch(predictor, tokens, scored, options.memory_bytes);
      const std::int64_t smallest = predictor.predicted_bytes(1, tokens, scored);
      if (options.memory_bytes > 0 && smallest > options.memory_bytes) {
        throw Error(fmt::format("out of memory: one sample of {} tokens needs about {}, the budget is {}", tokens,
                                format_bytes(smallest), format_bytes(options.memory_bytes)),
                    ExitCode::kNotMeasured);
      }
    }
    batch = std::min(batch, cell.samples);
    CellMeter meter(*cell.task, first);
    Probe probe;
    RepresentationMeter representations;
    for (std::int64_t done = 0; done < count;) {
      if (options.stop != nullptr && options.stop->load()) {
        outcome.finished = false;
        return outcome;
      }
      const Batch drawn = draw_batch(cell, first + done, std::min(batch, count - done));
      // A call that fails half-way must not leave rows behind, so each gets a Probe of its own.
      Probe call_probe;
      call_probe.rows = rows;
      std::vector<SamplePrediction> predictions;
      try {
        predictions = predict_or_oom(predictor, cell, drawn, rows, rows == ProbeRows::kNone ? nullptr : &call_probe);
      } catch (const OutOfMemory& oom) {
        const auto tried = static_cast<std::int64_t>(drawn.samples.size());
        if (tried == 1) {
          throw Error(fmt::format("{} (batch 1, {} tokens a sample)", oom.detail, tokens));
        }
        batch = tried / 2;
        continue;
      }
      meter.add(drawn.samples, predictions);
      representations.add(call_probe);
      call_probe.states.clear();
      probe.add(call_probe);
      done += static_cast<std::int64_t>(drawn.samples.size());
      samples_done(done);
    }
    CellResult result = meter.result();
    const std::string failure = result.failure;
    take_result(std::move(result), record);
    record.measurement.teacher_forced = predictor.info().rows_depend_on_length;
    take_probe(probe, record.measurement, record.part.has_value());
    record.measurement.representations = representations.result();
    if (record.part) {
      record.part->num_layers = probe.num_layers;
      record.part->num_heads = probe.num_heads;
      meter.describe(*record.part, record.measurement.facts);
      representations.describe(*record.part);
    }
    if (!failure.empty()) fail(failure);
  } catch (const std::bad_alloc&) {
    fail(fmt::format("out of memory: while drawing or judging samples of {} tokens", cell.total_tokens));
  } catch (const PredictorLost&) {
    throw;
  } catch (const std::exception& error) {
    fail(error.what());
  }
  record.setting.batch = batch;
  record.measurement.seconds = options.seconds() - start;
  record.measurement.peak_bytes = std::max(peak_resident_bytes(), predictor.peak_bytes_elsewhere());
  return outcome;
}

}  // namespace lenbench
