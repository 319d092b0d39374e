// One side of a comparison: a measured cell, from a Record or from a baseline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/record.h"

namespace lenbench {

struct GateCell {
  Question question;
  Subject subject;
  std::string status = "ok";  // as in Record
  std::string reason;
  std::string outcomes;      // one of "01x" per sample, in index order; empty for perplexity
  std::vector<double> nats;  // perplexity: per sample, in index order
  std::vector<double> tokens;
  double seconds_per_sample = 0;  // 0: unknown
  std::string lenbench_version, commit;

  bool is_perplexity() const { return question.metric == "perplexity"; }
  std::int64_t samples() const { return static_cast<std::int64_t>(is_perplexity() ? nats.size() : outcomes.size()); }
};

GateCell gate_cell(const Record& record);

struct CellSummary {
  double value = 0, low = 0, high = 0;  // accuracy with its Wilson interval, or perplexity with Student's, 95 %
};
// Requires at least one sample.
CellSummary summarize(const GateCell& cell);

// Equal for two cells that asked the same: Record::question_key().
std::string question_key(const Question& question);

// "recall@4096": what --min, acknowledgements and --cells call a cell.
std::string short_name(const Question& question);

// Names for people, one a question: the short name, with the parameters that tell it from others of the same short name
// ("recall:density=4@64") and a data seed that is not 0 ("recall@64 seed 3").
std::vector<std::string> display_names(const std::vector<Question>& questions);

// Throws Error when a question occurs twice in `cells`; `where` names their file.
void require_distinct_questions(const std::vector<GateCell>& cells, const std::string& where);

}  // namespace lenbench
