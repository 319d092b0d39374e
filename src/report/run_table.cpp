// Lines of one subject, accuracy and dispersion side by side.
#include "report/run_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/names.h"
#include "report/grid.h"
#include "report/grid_text.h"
#include "report/length_note.h"

namespace lenbench {

namespace {

constexpr const char* kNothing = "-";

std::string percent(const std::optional<Proportion>& p, bool with_interval) {
  if (!p) return kNothing;
  const std::string value = number_text(p->value, "", true);
  if (!with_interval) return value;
  return fmt::format("{} [{}, {}]", value, number_text(p->low, "", true), number_text(p->high, "", true));
}

std::string number(const std::optional<double>& value, const std::string& metric) {
  return value ? number_text(*value, metric, false) : kNothing;
}

std::string entropies(const Measurement& m) {
  if (m.heads.empty()) return kNothing;
  return number(head_mean(m, {Metric::kEntropy, HeadGroup::kPositionless}), "entropy") + " / " +
         number(head_mean(m, {Metric::kEntropy, HeadGroup::kPositional}), "entropy");
}

std::string effective(const Measurement& m) {
  if (m.effective_tokens_max == 0) return kNothing;
  if (m.effective_tokens_min == m.effective_tokens_max) return std::to_string(m.effective_tokens_max);
  return fmt::format("{}-{}", m.effective_tokens_min, m.effective_tokens_max);
}

std::string perplexity(const Measurement& m) {
  if (!m.perplexity) return kNothing;
  const std::string value = number(m.perplexity, "perplexity");
  if (!m.perplexity_low || !m.perplexity_high) return value;
  return fmt::format("{} [{}, {}]", value, number(m.perplexity_low, "perplexity"),
                     number(m.perplexity_high, "perplexity"));
}

bool same_table(const Record& a, const Record& b) {
  Record left, right;
  left.question = a.question;
  right.question = b.question;
  left.question.length = right.question.length = 0;
  left.question.data_seed = right.question.data_seed = 0;
  left.subject = a.subject;
  right.subject = b.subject;
  return left.resume_key() == right.resume_key();
}

std::string note_of(const Record& record) {
  if (record.status != "ok") return record.status + ": " + record.reason;
  if (record.measurement.samples < record.samples_requested) {
    return fmt::format("{} of {} samples: there are no more", record.measurement.samples, record.samples_requested);
  }
  return "";
}

// Samples that fail although their answers are right: separators or the end token are wrong. Answers that failed
// independently would leave answer^(answers a sample) of the samples whole.
constexpr double kFramingGap = 0.2;

std::string framing_note(const Measurement& m) {
  if (!m.exact || !m.answer || m.exact->n == 0) return "";
  const double answers = static_cast<double>(m.answer->n) / static_cast<double>(m.exact->n);
  if (std::pow(m.answer->value, answers) - m.exact->value <= kFramingGap) return "";
  return fmt::format(
      "{:.1f} % of answers are right and {:.1f} % of samples: what fails stands between answers or behind them, such "
      "as "
      "the end token",
      100 * m.answer->value, 100 * m.exact->value);
}

std::vector<std::string> line_of(const Record& record, bool is_perplexity, Notes& notes) {
  const Measurement& m = record.measurement;
  const bool ok = record.status == "ok";
  const std::string samples = std::to_string(m.samples) + notes.mark(note_of(record));
  const std::string label = std::to_string(record.question.length) + notes.mark(length_note(record));
  std::vector<std::string> line = {label, effective(m), samples};
  if (is_perplexity) {
    line.push_back(ok ? std::to_string(m.nll_tokens) : kNothing);
    line.push_back(ok ? perplexity(m) : kNothing);
    line.push_back(ok ? number(m.bits_per_byte, "bits-per-byte") : kNothing);
  } else {
    line.push_back(ok ? percent(m.exact, !m.answer) + notes.mark(framing_note(m)) : kNothing);
    line.push_back(ok ? percent(m.answer, true) : kNothing);
  }
  line.push_back(ok ? entropies(m) : kNothing);
  line.push_back(ok ? number(head_mean(m, {Metric::kSupport, HeadGroup::kAll}), "support") : kNothing);
  line.push_back(record.status == "skipped" ? kNothing : fmt::format("{:.2f}", m.seconds));
  return line;
}

std::string caption_of(const Record& first, bool is_perplexity, bool several_seeds) {
  std::vector<std::string> parts;
  if (first.subject.train_length > 0) parts.push_back(fmt::format("trained at {}", first.subject.train_length));
  parts.push_back(first.question.split + " split");
  if (!several_seeds) parts.push_back(fmt::format("data seed {}", first.question.data_seed));
  parts.push_back(is_perplexity ? "perplexity with its 95 % Student t interval over windows"
                                : "accuracies in percent; 95 % Wilson intervals, those of answers widened because "
                                  "answers share a sample");
  if (first.measurement.chance) {
    parts.push_back(fmt::format("chance {} an answer", number_text(*first.measurement.chance, "", true)));
  }
  if (!first.measurement.probe_rows.empty()) {
    parts.push_back("entropy H/ln n of " + first.measurement.probe_rows +
                    " rows, heads without / with positions; support over all heads");
  }
  return join(parts, "; ") + ".";
}

std::string table_of(std::vector<const Record*> records) {
  std::stable_sort(records.begin(), records.end(), [](const Record* a, const Record* b) {
    return std::pair(a->question.length, a->question.data_seed) < std::pair(b->question.length, b->question.data_seed);
  });
  const auto measured =
      std::find_if(records.begin(), records.end(), [](const Record* record) { return record->status == "ok"; });
  const Record& first = measured == records.end() ? *records.front() : **measured;
  const bool is_perplexity = first.question.metric == "perplexity";
  const bool several_seeds = std::any_of(records.begin(), records.end(), [&](const Record* record) {
    return record->question.data_seed != first.question.data_seed;
  });
  std::vector<std::string> header =
      is_perplexity ? std::vector<std::string>{"length", "effective", "windows", "tokens", "perplexity", "bits/byte"}
                    : std::vector<std::string>{"length", "effective", "n", "exact", "answer"};
  header.insert(header.end(), {"entropy", "support", "seconds"});
  if (several_seeds) header.push_back("data seed");
  Notes notes;
  std::vector<std::vector<std::string>> lines;
  for (const Record* record : records) {
    lines.push_back(line_of(*record, is_perplexity, notes));
    if (several_seeds) lines.back().push_back(std::to_string(record->question.data_seed));
  }
  std::string text = "### " + markdown_escape(first.subject.name + " on " + first.question.task) + "\n\n" +
                     markdown_escape(caption_of(first, is_perplexity, several_seeds)) + "\n\n" +
                     markdown_table(header, lines);
  if (!notes.list().empty()) text += "\n" + markdown_notes(notes.list());
  return text;
}

}  // namespace

std::string run_table(const std::vector<Record>& records) {
  std::vector<std::vector<const Record*>> tables;
  for (const Record& record : records) {
    auto table = std::find_if(tables.begin(), tables.end(),
                              [&](const auto& members) { return same_table(*members.front(), record); });
    if (table == tables.end()) table = tables.insert(tables.end(), std::vector<const Record*>{});
    table->push_back(&record);
  }
  std::vector<std::string> parts;
  for (std::vector<const Record*>& table : tables) parts.push_back(table_of(std::move(table)));
  return join(parts, "\n");
}

}  // namespace lenbench
