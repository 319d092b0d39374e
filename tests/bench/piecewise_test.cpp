// Tests of bench/piecewise.h: piece by piece must give what the Runner gives at once.
#include "bench/piecewise.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bench/doubles.h"
#include "tests/bench/run_helpers.h"

namespace lenbench {
namespace {

Cell cell_of(std::int64_t samples) { return plan_of({40}, samples).cells.front(); }

TEST(Piecewise, EqualsTheRunnerWhateverThePieces) {
  const std::unique_ptr<Predictor> model = make_double("blind");
  const RunPlan plan = plan_of({40}, 50);
  const std::vector<Record> whole = run_plan(*model, plan).records;
  ASSERT_EQ(whole.size(), 1u);
  for (const std::int64_t piece : {1, 7, 16, 50, 1000}) {
    PiecewiseCell cell(*model, plan.cells[0], run_options());
    while (!cell.finished()) cell.advance(piece);
    const Record record = cell.record();
    EXPECT_EQ(record.outcomes, whole[0].outcomes);
    EXPECT_EQ(record.resume_key(), whole[0].resume_key());
    EXPECT_EQ(record.status, "ok");
    ASSERT_TRUE(record.measurement.exact && whole[0].measurement.exact);
    EXPECT_EQ(*record.measurement.exact, *whole[0].measurement.exact);
  }
}

TEST(Piecewise, AStoppedCellIsARecordOfItsSamples) {
  const std::unique_ptr<Predictor> model = make_double("oracle");
  PiecewiseCell cell(*model, cell_of(50), run_options());
  cell.advance(12);
  EXPECT_FALSE(cell.finished());
  EXPECT_EQ(cell.done(), 12);
  const Record record = cell.record();
  EXPECT_EQ(record.samples_requested, 12);
  EXPECT_EQ(record.outcomes, std::string(12, '1'));
}

TEST(Piecewise, NonFiniteLogitsEndTheCell) {
  const std::unique_ptr<Predictor> model = make_double("nan@3");
  PiecewiseCell cell(*model, cell_of(50), run_options());
  cell.advance(10);
  EXPECT_TRUE(cell.failed());
  EXPECT_TRUE(cell.finished());
  EXPECT_EQ(cell.record().status, "failed");
  EXPECT_NE(cell.record().reason.find("non-finite"), std::string::npos);
}

TEST(Piecewise, OutOfMemoryEndsTheCell) {
  const std::unique_ptr<Predictor> model = make_double("oom@32");
  PiecewiseCell cell(*model, cell_of(50), run_options());
  cell.advance(50);
  EXPECT_TRUE(cell.failed());
  EXPECT_EQ(cell.done(), 0);
  EXPECT_NE(cell.record().reason.find("out of memory"), std::string::npos);
  EXPECT_NE(cell.record().reason.find("batch 1"), std::string::npos);
}

// Answers at most four samples a call.
class SmallModel : public Predictor {
 public:
  const PredictorInfo& info() const override { return oracle_->info(); }
  void announce(const Task& task, std::span<const DrawKey> keys) override { oracle_->announce(task, keys); }
  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                        Probe* probe) override {
    if (samples.size() > 4) throw Error("out of memory", ExitCode::kNotMeasured);
    return oracle_->predict(samples, request, probe);
  }

 private:
  std::unique_ptr<Predictor> oracle_ = make_double("oracle");
};

TEST(Piecewise, SmallerBatchesWhenMemoryIsShort) {
  SmallModel model;
  PiecewiseCell cell(model, cell_of(50), run_options());
  cell.advance(50);
  EXPECT_FALSE(cell.failed()) << cell.record().reason;
  EXPECT_EQ(cell.record().outcomes, std::string(50, '1'));
  EXPECT_LE(cell.record().setting.batch, 4);
}

}  // namespace
}  // namespace lenbench
