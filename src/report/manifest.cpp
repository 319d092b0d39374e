// Three tables in place of one that would repeat itself in every line.
#include "report/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"

namespace lenbench {

namespace {

using Line = std::vector<std::string>;

// The number of `line` among `lines`, from 1; added when it is new.
std::size_t number_of(const Line& line, std::vector<Line>& lines) {
  const auto found = std::find(lines.begin(), lines.end(), line);
  if (found != lines.end()) return static_cast<std::size_t>(found - lines.begin()) + 1;
  lines.push_back(line);
  return lines.size();
}

// `texts` columns from the left are text, the others numbers.
std::string table(const char* id, const char* caption, const Line& header, const std::vector<Line>& lines,
                  bool numbered, std::size_t texts) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{0}\">\n<table class=\"manifest\">\n"
      "<caption id=\"{0}\"><strong>{1}</strong></caption>\n<thead><tr>",
      id, caption);
  const auto kind = [&](std::size_t column) { return column < texts ? " class=\"text\"" : ""; };
  if (numbered) out += "<th scope=\"col\">#</th>";
  for (std::size_t i = 0; i < header.size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", kind(i), header[i]);
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < lines.size(); ++row) {
    out += "<tr>";
    if (numbered) out += fmt::format("<th scope=\"row\">{}</th>", row + 1);
    for (std::size_t i = 0; i < lines[row].size(); ++i) {
      out += fmt::format("<td{}>{}</td>", kind(i), html_escape(lines[row][i]));
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string task_text(const Question& question) {
  std::string text = question.task;
  for (const auto& [key, value] : question.parameters) text += " " + key + "=" + value;
  if (!question.documents_sha256.empty()) text += " documents=" + question.documents_sha256.substr(0, 8);
  return text;
}

std::string positive(std::int64_t value) { return value > 0 ? std::to_string(value) : ""; }

}  // namespace

std::string manifest_html(const std::vector<Record>& records) {
  std::vector<Line> subjects, settings, tasks, cells;
  for (const Record& r : records) {
    const std::size_t subject = number_of(
        {r.subject.name, r.subject.checkpoint_sha256.substr(0, 12), r.subject.transform, r.subject.positions,
         r.subject.dtype, r.subject.device, positive(r.subject.num_parameters), positive(r.subject.train_length)},
        subjects);
    const std::size_t setting =
        number_of({r.setting.lenbench_version, r.setting.commit.substr(0, 12), r.setting.torch_version,
                   r.setting.attention_path, r.setting.cpu, positive(r.setting.threads)},
                  settings);
    const std::size_t task = number_of({task_text(r.question), r.question.comparability}, tasks);
    cells.push_back({r.status == "ok" ? "ok" : r.status + ": " + r.reason, r.setting.started_at,
                     fmt::format("{} {}", subject, r.subject.name), fmt::format("{} {}", task, r.question.task),
                     std::to_string(r.question.length), std::to_string(r.question.data_seed),
                     std::to_string(r.measurement.samples), fmt::format("{:.2f}", r.measurement.seconds),
                     positive(r.setting.batch), std::to_string(setting)});
  }
  return table("manifest-models", "Models",
               {"model", "checkpoint", "transform", "positions", "dtype", "device", "parameters", "trained at"},
               subjects, true, 6) +
         table("manifest-tasks", "Tasks", {"task", "level of comparability"}, tasks, true, 2) +
         table("manifest-settings", "Circumstances",
               {"version", "commit", "LibTorch", "attention path", "CPU", "threads"}, settings, true, 5) +
         "<details><summary>Every cell</summary>\n" +
         table("manifest-cells", "Every cell, with the numbers of its model, task and circumstances",
               {"status", "started", "model", "task", "length", "data seed", "samples", "seconds", "batch",
                "circumstances"},
               cells, false, 4) +
         "</details>\n";
}

}  // namespace lenbench
