// The table behind every report: rows of subjects, columns of lengths. The only place that averages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace lenbench {

enum class Metric {
  kAnswer,
  kExact,
  kToken,
  kPerplexity,
  kBitsPerByte,
  kPerplexityRatio,
  // of attention rows
  kEntropy,
  kNats,
  kSupport,
  kSink,
  kTop,
  kSource,
  kScale,
  kAlpha,
  // of pairs of samples
  kRepresentation,
  kRepresentationCosine
};
// Which heads an attention metric covers: those with a positional bias or rotation, those without, or all.
enum class HeadGroup { kAll, kPositionless, kPositional };
// Which rows an attention metric covers: all that were probed, or those of answers that were right or wrong.
enum class RowOutcome { kAny, kRight, kWrong };
enum class Aggregate { kMean, kMedian, kMax, kBestSeed };
// Where intervals come from: the Record's own (Wilson, Student t), resampling of samples, or nowhere.
enum class IntervalChoice { kRecorded, kBootstrap, kNone };

// Names as on the command line: "answer", "exact", "token", "perplexity", "bits-per-byte", "perplexity-ratio" (to that
// at the training length); of "entropy" (normalized),
// "nats" (entropy in nats), "support", "sink" (mass on the first key), "top" (the largest), "source" (mass on the
// tokens that hold the answer), "scale" (what multiplies the query) and "alpha" also those with "-positionless" or
// "-positional", and then with "-right" or "-wrong"; "representation" and "representation-cosine" (distances between
// the states of different inputs).
struct MetricChoice {
  Metric metric = Metric::kAnswer;
  HeadGroup heads = HeadGroup::kAll;
  RowOutcome outcome = RowOutcome::kAny;
  // Attention metrics of one layer or head only; -1: all. The depth of representations; -1: the last.
  std::int64_t layer = -1, head = -1;
  bool operator==(const MetricChoice&) const = default;
};
std::vector<std::string> metric_names();
std::vector<std::string> aggregate_names();  // "mean", "median", "max", "best-seed"
std::vector<std::string> interval_names();   // "wilson", "bootstrap", "none"
// Throw Error on an unknown name ("did you mean").
MetricChoice parse_metric(std::string_view name);
Aggregate parse_aggregate(std::string_view name);
IntervalChoice parse_interval(std::string_view name);
std::string metric_name(const MetricChoice& choice);
std::string aggregate_name(Aggregate aggregate);
// True for proportions of [0, 1], which tables print in percent.
bool is_proportion(Metric metric);

struct GridCell {
  std::optional<double> value, low, high;  // proportions as 0..1; low and high together or not at all
  std::optional<double> x = {};  // mean of GridRequest::x over the repeats; none when not asked for, or unknown
  std::int64_t n = 0;            // samples behind the value, over all repeats
  std::int64_t repeats = 0;      // Records behind the value
  std::vector<std::uint64_t> data_seeds;  // of those Records, ascending, distinct
  std::int64_t checkpoints = 0;           // distinct checkpoints behind the value
  bool best = false;                      // Grid::best_rule
  std::string reason;  // why there is no value, or which repeats are missing in it; empty when complete
};

// kFloor: measured, but of a subject that answers without reading its prompt. kChance: computed.
enum class RowKind { kMeasured, kFloor, kChance, kPublished };

struct GridRow {
  std::string name;
  RowKind kind = RowKind::kMeasured;
  std::string source;             // kPublished: the id of the source; else empty
  std::string remark;             // one line about the whole row; may be empty
  std::int64_t train_length = 0;  // 0: unknown
  std::string transform;          // attention transform of measured rows; empty for doubles
  std::vector<GridCell> cells;    // parallel to Grid::columns
};

struct GridColumn {
  std::string label;
  std::int64_t length = 0;  // nominal; 0: a named value
  std::string remark = {};  // one line: tokens that differ from the label; else empty
  bool whole = false;       // values are shown without decimals
};

struct Grid {
  std::string task;        // name
  std::string parameters;  // "density=4,keys=1024", only those that differ from the default; may be empty
  int task_version = 1;
  std::string split;
  std::string comparability;
  std::string metric;  // a metric name, or that of a published table
  bool percent = false;
  std::string aggregate;      // a name of aggregate_names()
  std::string interval_kind;  // one sentence; empty when no cell has an interval
  std::string best_rule;      // one sentence on how `best` was decided; empty when no cell is
  std::string probe_rows;     // attention metrics: "answer", "all" or "prefix"
  std::string documents;      // first digits of documents_sha256, where Grids that are otherwise alike differ in it
  std::vector<GridColumn> columns;
  std::vector<GridRow> rows;
};

// Fields that rows and columns can be told apart by: "model", "transform", "positions", "dtype", "device",
// "train-length", "length", "checkpoint", "data-seed".
std::vector<std::string> row_field_names();

struct GridRequest {
  std::optional<MetricChoice> metric;  // none: answer where samples hold several answers, else exact; or perplexity
  Aggregate aggregate = Aggregate::kMean;
  IntervalChoice interval = IntervalChoice::kRecorded;
  // The field that columns stand for. When it is neither length nor model, rows are not told apart by model unless
  // rows_by lists it, because a model's name usually repeats the field.
  std::string columns = "length";
  // Names of row_field_names() to show in every row name. Fields not listed are shown, and separate rows, where
  // subjects of one name differ in them, except "checkpoint" and "data-seed": those of one name are repeats unless
  // listed.
  std::vector<std::string> rows_by;
  // What GridCell::x holds: "effective" (tokens fed, the middle of their range) or a fact of the samples; empty:
  // nothing.
  std::string x;
  bool chance_row = true;
  bool mark_best = true;
  // Default parameters of a task, to leave out of Grid::parameters; none: all parameters are shown.
  std::function<std::map<std::string, std::string>(const std::string& task)> default_parameters;
};

// Builds Grids from Records that come one by one, and keeps of each no more than one cell of a table needs (about 200
// bytes, a bit per sample, and when the best is marked a number per sample for perplexity and two bytes for answers).
//
// One Grid for each task, parameters, version, split, documents and probed rows, in order of appearance. Attention
// metrics of prefix rows have the keys that the rows see at most as their lengths (prefix_rows.h). Within a row
// and column, Records that differ in data seed or checkpoint are repeats and are aggregated, each counting equally. The
// interval of a mean combines the distances to the ends in quadrature (one Record: its own interval); a median or
// maximum of several has none. The best seed of a row is the repeat with the best mean over the row's cells, alone.
// Never averages over tasks, lengths or models. Repeats present elsewhere in the row but not here are named in the
// cell's reason.
//
// GridCell::best: the best measured value of a column (of a row, where columns are not lengths) and those not told
// apart from it at 5 %, where at least one is; see best.h.
class GridBuilder {
 public:
  // Throws Error on an unknown field, and for a ratio to the training length where columns are not lengths.
  explicit GridBuilder(GridRequest request);
  ~GridBuilder();
  GridBuilder(GridBuilder&&) noexcept;
  GridBuilder& operator=(GridBuilder&&) noexcept;

  // Throws Error when a proportion contradicts its counts or interval, and when an interval cannot be resampled.
  void add(const Record& record);
  // Throws Error when two different Records share a resume key, when one question of one subject was measured twice
  // with different sample counts, or when models of different names share a cell.
  std::vector<Grid> build() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::vector<Grid> build_grids(const std::vector<Record>& records, const GridRequest& request = {});

// Mean over the heads of a group of a Record's attention statistics; none when there are no such heads, or (entropy) no
// row saw two keys.
std::optional<double> head_mean(const Measurement& measurement, const MetricChoice& choice);

}  // namespace lenbench
