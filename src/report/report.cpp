// The sections of the page.
#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.h"
#include "report/degradation.h"
#include "report/fact_axis.h"
#include "report/format.h"
#include "report/html.h"
#include "report/manifest.h"
#include "report/svg.h"

namespace lenbench {

namespace {

constexpr const char* kStyle =
    R"css(nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; padding: 0; }
.skip { position: absolute; left: -100vw; } .skip:focus { position: static; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
details { margin: .4rem 0; border: 1px solid var(--line); border-radius: .3rem; padding: .3rem .7rem; } summary { cursor: pointer; padding: .2rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--tint); padding: .5rem; font-size: .8rem; max-height: 16rem; overflow-y: auto; }
.right::before { content: "\2713  "; } .wrong::before { content: "\2717  "; } .wrong { font-weight: bold; }
#tip { position: fixed; left: 0; right: 0; bottom: 0; padding: .4rem 1rem; background: var(--tint); border-top: 1px solid var(--line); font-size: .9rem; } #tip:empty { display: none; }
@media print { pre { max-height: none; } nav, #tip { display: none; } }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .4rem; } }
)css";

// What a mark says on hover, on screens without hovering and for the keyboard too: the arrow keys walk the marks.
constexpr const char* kScript = R"js(
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (mark) => { const title = mark.querySelector("title"); tip.textContent = title ? title.textContent : ""; };
  document.addEventListener("pointerover", (event) => { const mark = event.target.closest(".mark"); if (mark) show(mark); });
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".mark")) tip.textContent = ""; });
  for (const picture of document.querySelectorAll("figure svg[role=img]")) {
    picture.tabIndex = 0;
    const marks = [...picture.querySelectorAll(".mark")];
    let place = -1;
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || marks.length === 0) return;
      event.preventDefault();
      place = (place + step + marks.length) % marks.length;
      show(marks[place]);
    });
    picture.addEventListener("blur", () => { tip.textContent = ""; });
  }
  addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
})();
)js";

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63U];
  }
  return text;
}

std::string download(const char* name, const char* type, const std::string& bytes) {
  return fmt::format("<li><a download=\"{}\" href=\"data:{};base64,{}\">{}</a> ({} bytes)</li>\n", name, type,
                     base64(bytes), name, bytes.size());
}

std::string section(const char* id, const char* title, const std::string& body) {
  return fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n", id, title, body);
}

std::string listed(const std::set<std::string>& names) { return html_escape(join({names.begin(), names.end()}, ", ")); }

std::string overview(const std::vector<Record>& records, const std::string& producer) {
  std::set<std::string> models, tasks, commits;
  std::set<std::int64_t> lengths;
  std::int64_t measured = 0, samples = 0;
  double seconds = 0;
  for (const Record& record : records) {
    models.insert(record.subject.name);
    tasks.insert(record.question.task);
    lengths.insert(record.question.length);
    if (!record.setting.commit.empty()) commits.insert(record.setting.commit.substr(0, 12));
    measured += record.status == "ok" ? 1 : 0;
    samples += record.measurement.samples;
    seconds += record.measurement.seconds;
  }
  std::vector<std::string> length_texts;
  for (const std::int64_t length : lengths) length_texts.push_back(std::to_string(length));
  return fmt::format(
      "<dl>\n<dt>models</dt><dd>{}</dd>\n<dt>tasks</dt><dd>{}</dd>\n<dt>lengths</dt><dd>{}</dd>\n"
      "<dt>cells</dt><dd>{} measured of {}</dd>\n<dt>samples</dt><dd>{} in {:.0f} s</dd>\n"
      "<dt>measured by commit</dt><dd>{}</dd>\n<dt>page by</dt><dd>{}</dd>\n</dl>\n",
      listed(models), listed(tasks), join(length_texts, ", "), measured, records.size(), samples, seconds,
      listed(commits), html_escape(producer));
}

class Page {
 public:
  Page(const std::vector<Record>& records, const ReportRequest& request) : records_(records), request_(request) {
    default_grids_ = grids(std::nullopt);
    std::vector<Record> probed;
    std::copy_if(records.begin(), records.end(), std::back_inserter(probed),
                 [](const Record& record) { return !record.measurement.probe_rows.empty(); });
    if (probed.empty()) return;
    for (const char* metric : {"entropy-positionless", "entropy-positional", "support", "sink"}) {
      for (Grid& grid : build_grids(probed, grid_request(parse_metric(metric)))) attention_grids_.push_back(grid);
    }
    std::erase_if(attention_grids_, [](const Grid& grid) {
      return std::none_of(grid.rows.begin(), grid.rows.end(), [](const GridRow& row) {
        return std::any_of(row.cells.begin(), row.cells.end(), [](const GridCell& cell) { return cell.value; });
      });
    });
  }

  std::string text() {
    struct Part {
      const char *id, *title;
      std::string body;
    };
    std::vector<Part> parts = {
        {"summary", "Summary", summary()},
        {"accuracy", "Accuracy", curves(true, accuracy_figure(records_, request_.figures))},
        {"perplexity", "Perplexity", curves(false, perplexity_figure(records_, request_.figures))},
        {"dispersion", "Attention dispersion", dispersion()},
        {"samples", "Samples", samples()},
        {"manifest", "What was run", manifest_html(records_)},
        {"published", "Published references", published()},
        {"downloads", "Downloads", downloads()}};
    std::erase_if(parts, [](const Part& part) { return part.body.empty(); });
    std::string links, body;
    for (const Part& part : parts) {
      links += fmt::format("<li><a href=\"#{}\">{}</a></li>", part.id, part.title);
      body += section(part.id, part.title, part.body);
    }
    const std::string head = std::string("<style>\n") + svg_style() + kStyle + "</style>\n";
    return html_page(
        request_.title, head,
        fmt::format("<a class=\"skip\" href=\"#summary\">skip to the summary</a>\n<header><h1>{}</h1>\n<nav "
                    "aria-label=\"sections\"><ul>{}</ul></nav></header>\n<main>\n{}</main>\n<div id=\"tip\" "
                    "role=\"status\"></div>\n<script>{}</script>\n",
                    html_escape(request_.title), links, body, kScript));
  }

 private:
  GridRequest grid_request(std::optional<MetricChoice> metric) const {
    GridRequest grid;
    grid.metric = metric;
    grid.aggregate = request_.figures.aggregate;
    grid.rows_by = request_.figures.rows_by;
    grid.default_parameters = request_.figures.default_parameters;
    return grid;
  }
  std::vector<Grid> grids(std::optional<MetricChoice> metric) const {
    return build_grids(records_, grid_request(metric));
  }

  std::string table(const Grid& grid) { return html_table(grid, fmt::format("table-{}", ++tables_)); }
  std::string figure(const Figure& drawn) {
    if (drawn.lines.empty() && drawn.heats.empty()) return "";
    return html_figure(drawn, fmt::format("figure-{}", ++figures_));
  }

  std::string summary() {
    std::string body = overview(records_, request_.producer);
    for (const Grid& grid : default_grids_) {
      if (grid.percent) body += table(degradation_grid(grid));
    }
    return body;
  }

  // Tables of accuracies or of the rest, with published rows where there are some.
  std::string curves(bool percent, const Figure& drawn) {
    std::string body;
    for (const Grid& grid : default_grids_) {
      if (grid.percent == percent) body += table(grid);
    }
    if (!body.empty()) body = figure(drawn) + body;
    if (!percent) return body;
    if (!body.empty()) body += by_facts();
    for (const Grid& exact : grids(parse_metric("exact"))) {
      for (const PublishedTable& reference : request_.published) {
        const bool by_length = !reference.columns.empty() && reference.columns.front().length > 0;
        if (!by_length || !is_shown(reference, exact.task) || reference.metric != "exact_match_percent") continue;
        Grid beside = exact;
        add_published(beside, reference);
        body += table(beside);
      }
    }
    return body;
  }

  // Whether a published table stands in the page of Records of `task`.
  bool is_shown(const PublishedTable& reference, const std::string& task) const {
    return request_.published_in_name ? is_about(reference, task) : reference.task == task;
  }

  static std::string folded(const std::string& title, const std::string& body) {
    return body.empty() ? "" : "<details><summary>" + html_escape(title) + "</summary>\n" + body + "</details>\n";
  }

  // Accuracy against what the samples are rather than what they are labelled.
  std::string by_facts() {
    std::string body;
    const std::vector<std::string> facts = fact_names(records_);
    for (const auto& [fact, title] :
         {std::pair("effective", "Accuracy by effective length"), std::pair("distance", "Accuracy by distance"),
          std::pair("pairs", "Accuracy by pairs in the context")}) {
      if (std::find(facts.begin(), facts.end(), fact) == facts.end()) continue;
      FigureRequest request = request_.figures;
      request.x = fact;
      Figure drawn = accuracy_figure(records_, request);
      drawn.title = title;
      body += folded(title, figure(drawn));
    }
    return body;
  }

  // The claims about why accuracy falls.
  std::string claims() {
    std::string body;
    for (const auto& [title, figures] :
         {std::pair("Mass on the relevant keys", relevant_figures(records_, request_.figures)),
          std::pair("Entropy against the log of the support", spread_figures(records_, request_.figures)),
          std::pair("Distance between representations", representation_figures(records_, request_.figures)),
          std::pair("Query scale, alpha and support", temperature_figures(records_, request_.figures))}) {
      std::string pictures;
      for (const Figure& drawn : figures) pictures += figure(drawn);
      body += folded(title, pictures);
    }
    return body;
  }

  std::string dispersion() {
    std::string body;
    for (const Figure& drawn : dispersion_figures(records_, request_.figures)) body += figure(drawn);
    for (const Grid& grid : attention_grids_) body += table(grid);
    for (const Figure& drawn : head_figures(records_, request_.figures)) {
      body += folded("Every head: " + drawn.title, figure(drawn));
    }
    return body + claims();
  }

  std::string samples() const {
    if (request_.questions.empty()) return "";
    std::string body =
        "<p>A few samples of each cell, drawn again from their addresses: first some that a model got wrong, then some "
        "that all got right. Records keep which samples were right, not what the models answered.</p>\n";
    for (const QuestionView& question : request_.questions) {
      body += "<details><summary>" + html_escape(question.title) + "</summary>\n";
      if (!question.note.empty()) body += "<p>" + html_escape(question.note) + "</p>\n";
      for (const SampleView& sample : question.samples) {
        body += "<h3><code>" + html_escape(sample.address) + "</code></h3>\n<ul class=\"legend\">";
        for (const auto& [model, outcome] : sample.outcomes) {
          body += fmt::format("<li class=\"{}\">{}: {}</li>", outcome == "right" ? "right" : "wrong",
                              html_escape(model), html_escape(outcome));
        }
        body += "</ul>\n<p>prompt</p><pre>" + html_escape(sample.prompt) + "</pre>\n<p>target</p><pre>" +
                html_escape(sample.target) + "</pre>\n";
      }
      body += "</details>\n";
    }
    return body;
  }

  std::string published() {
    std::string body;
    for (const PublishedTable& reference : request_.published) {
      const bool asked = std::any_of(records_.begin(), records_.end(),
                                     [&](const Record& record) { return is_shown(reference, record.question.task); });
      if (asked) body += table(published_grid(reference));
    }
    return body.empty() ? "" : "<p>Numbers that others published; nothing here was measured by lenbench.</p>\n" + body;
  }

  std::string downloads() const {
    std::vector<Grid> all = default_grids_;
    all.insert(all.end(), attention_grids_.begin(), attention_grids_.end());
    return "<ul>\n" + download("lenbench-table.csv", "text/csv;charset=utf-8", render_csv(all)) +
           download("lenbench-table.json", "application/json", render_json(all)) + "</ul>\n";
  }

  const std::vector<Record>& records_;
  const ReportRequest& request_;
  std::vector<Grid> default_grids_, attention_grids_;
  int tables_ = 0, figures_ = 0;
};

}  // namespace

std::string html_report(const std::vector<Record>& records, const ReportRequest& request) {
  return Page(records, request).text();
}

}  // namespace lenbench
