// Cells, samples, tokens a second and the time left.
#include "cli/run_progress.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace lenbench::cli {
namespace {

constexpr double kLogSeconds = 60, kJsonSeconds = 1;

std::string percent(const Proportion& proportion) {
  return fmt::format("{:5.1f} [{:.1f}, {:.1f}]", 100 * proportion.value, 100 * proportion.low, 100 * proportion.high);
}

// One line on a finished Cell, its columns below those of the Cell before.
std::string cell_line(const Record& record) {
  std::string text = fmt::format("{:<12} {:>7}: ", record.question.task, record.question.length);
  if (record.status != "ok") return text + record.status + ": " + record.reason;
  const Measurement& measured = record.measurement;
  std::string value;
  if (measured.answer) {
    value = "answer " + percent(*measured.answer);
  } else if (measured.exact) {
    value = "exact " + percent(*measured.exact);
  } else if (measured.perplexity) {
    value = fmt::format("perplexity {:.3f}", *measured.perplexity);
  }
  return text + fmt::format("{:<27}{:>5} samples {:>8.1f} s", value, measured.samples, measured.seconds);
}

std::string rate_text(double tokens_per_second) {
  if (tokens_per_second >= 1e6) return fmt::format("{:.1f} M tokens/s", tokens_per_second / 1e6);
  if (tokens_per_second >= 1e4) return fmt::format("{:.0f} k tokens/s", tokens_per_second / 1e3);
  return fmt::format("{:.0f} tokens/s", tokens_per_second);
}

std::string progress_text(const RunProgress& now, double tokens_per_second) {
  std::string text =
      fmt::format("{}/{} cells, {}/{} samples", now.cells_done, now.num_cells, now.samples_done, now.num_samples);
  if (now.cell != nullptr) text += fmt::format(", {} {}", now.cell->task->info().name, now.cell->length);
  if (tokens_per_second > 0) text += ", " + rate_text(tokens_per_second);
  const std::string left = format_duration(now.seconds_left);
  if (!left.empty()) text += ", " + left + " left";
  return text;
}

nlohmann::ordered_json progress_json(const RunProgress& now, double tokens_per_second) {
  nlohmann::ordered_json json = {{"event", "progress"},
                                 {"cells_done", now.cells_done},
                                 {"num_cells", now.num_cells},
                                 {"samples_done", now.samples_done},
                                 {"num_samples", now.num_samples},
                                 {"tokens_per_second", tokens_per_second},
                                 {"seconds_elapsed", now.seconds_elapsed}};
  json["seconds_left"] = now.seconds_left < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(now.seconds_left);
  json["task"] = now.cell == nullptr ? "" : now.cell->task->info().name;
  json["length"] = now.cell == nullptr ? 0 : now.cell->length;
  return json;
}

nlohmann::ordered_json cell_json(const Record& record) {
  const Measurement& measured = record.measurement;
  nlohmann::ordered_json json = {{"event", "cell"},
                                 {"task", record.question.task},
                                 {"length", record.question.length},
                                 {"data_seed", record.question.data_seed},
                                 {"status", record.status},
                                 {"reason", record.reason},
                                 {"samples", measured.samples},
                                 {"seconds", measured.seconds}};
  if (measured.exact) json["exact"] = measured.exact->value;
  if (measured.answer) json["answer"] = measured.answer->value;
  if (measured.perplexity) json["perplexity"] = *measured.perplexity;
  return json;
}

}  // namespace

ProgressStyle choose_progress(bool quiet, bool json) {
  if (quiet && json) throw Error("--quiet and --json-progress exclude each other");
  if (quiet) silence_notes();
  return quiet ? ProgressStyle::kQuiet : json ? ProgressStyle::kJson : ProgressStyle::kPlain;
}

double RunProgressPrinter::tokens_per_second(const RunProgress& now) {
  if (now.cell != nullptr && now.samples_done > samples_seen_) {
    tokens_ += static_cast<double>(now.samples_done - samples_seen_) *
               static_cast<double>(now.cell->task->total_tokens(now.cell->length));
    samples_seen_ = now.samples_done;
  }
  return now.seconds_elapsed > 0 ? tokens_ / now.seconds_elapsed : 0;
}

void RunProgressPrinter::progress(const RunProgress& now) {
  const double rate = tokens_per_second(now);
  if (style_ == ProgressStyle::kQuiet) return;
  if (style_ == ProgressStyle::kPlain && stderr_is_terminal()) {
    line_.show(progress_text(now, rate));
    return;
  }
  const bool json = style_ == ProgressStyle::kJson, last = now.cell == nullptr;
  const double wait = json ? kJsonSeconds : kLogSeconds;
  if (now.seconds_elapsed - last_line_seconds_ < wait && !(json && last)) return;
  last_line_seconds_ = now.seconds_elapsed;
  line_.keep(json ? dump_json(progress_json(now, rate)) : progress_text(now, rate));
}

void RunProgressPrinter::cell(const Record& record) {
  if (style_ == ProgressStyle::kQuiet) return;
  line_.keep(style_ == ProgressStyle::kJson ? dump_json(cell_json(record)) : cell_line(record));
}

}  // namespace lenbench::cli
