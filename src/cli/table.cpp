// `lenbench table`: Records as a table, with published numbers beside them on request.
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/output_file.h"
#include "cli/paths.h"
#include "cli/record_input.h"
#include "cli/terminal.h"
#include "report/degradation.h"
#include "report/format.h"
#include "report/grid.h"
#include "report/published.h"

namespace lenbench::cli {
namespace {

class Table : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positionals("RECORDS", files_, "Record files written by 'lenbench run -o'");
    flags.list("--metric", metrics_, "NAME",
               "answer, exact, token, perplexity, bits-per-byte, entropy, support, sink, top, source, ...");
    flags.value("--aggregate", aggregate_, "NAME", "Over seeds: mean, median, max or best-seed");
    flags.value("--format", format_, "NAME", "markdown, csv, json, latex or html");
    flags.value("--paper", paper_, "ID", "Add published rows; see 'lenbench list papers'");
    flags.list("--rows-by", rows_by_, "FIELD", ("Separate rows by " + join(row_field_names(), ", ")).c_str());
    flags.value("--columns", columns_, "FIELD", "What the columns stand for: one of the fields of --rows-by");
    flags.value("--interval", interval_, "NAME", "wilson (Student t for perplexity), bootstrap or none");
    flags.flag("--fit", fit_, "Fit how accuracy falls with length: L85, L50, area, holes");
    flags.flag("--no-best", no_best_, "Mark no best values");
    flags.flag("--no-chance", no_chance_, "Leave the chance row out");
    flags.value("-o,--output", output_, "FILE", "Write to FILE in place of standard output");
  }

  int run(const Parsed&) override {
    require_one_of(format_, "--format", format_names());
    require_free_output(output_, "-o", files_);
    if (fit_ && (!paper_.empty() || columns_ != "length" || interval_ != "wilson" || files_.empty())) {
      throw Error(
          "--fit works on Record files by length with Wilson intervals; leave out --paper, --columns, --interval");
    }
    if (files_.empty() && paper_.empty()) throw Error("table: name Record files, or a published table with --paper ID");
    GridRequest request;
    request.aggregate = parse_aggregate(aggregate_);
    request.rows_by = comma_parts(rows_by_);
    for (const std::string& field : request.rows_by) {
      require_one_of(field, "--rows-by", row_field_names());
    }
    require_one_of(columns_, "--columns", row_field_names());
    request.columns = columns_;
    require_one_of(interval_, "--interval", interval_names());
    request.interval = parse_interval(interval_);
    request.mark_best = !no_best_;
    request.chance_row = !no_chance_;
    // Published tables count whole samples.
    if (!paper_.empty() && metrics_.empty()) request.metric = parse_metric("exact");
    request.default_parameters = default_parameters;

    const std::vector<std::string> metrics = comma_parts(metrics_);
    std::vector<GridBuilder> builders;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, metrics.size()); ++i) {
      if (!metrics.empty()) request.metric = parse_metric(metrics[i]);
      builders.emplace_back(request);
    }
    if (!files_.empty()) {
      stream_record_files(files_, [&](const Record& record) {
        for (GridBuilder& builder : builders) builder.add(record);
      });
    }
    std::vector<Grid> grids;
    for (const GridBuilder& builder : builders) {
      for (Grid& grid : builder.build()) grids.push_back(std::move(grid));
    }
    if (fit_) fit(grids);
    if (!paper_.empty()) add_paper(grids);
    const std::string text = render(format_, grids);
    write_output(output_, text);
    return 0;
  }

 private:
  static void fit(std::vector<Grid>& grids) {
    std::erase_if(grids, [](const Grid& grid) { return !grid.percent; });
    if (grids.empty()) throw Error("--fit needs an accuracy: answer, exact or token");
    for (Grid& grid : grids) grid = degradation_grid(grid);
  }

  // To the tables of the same task; when there is none, the refusal says which task it is.
  void add_paper(std::vector<Grid>& grids) const {
    const std::vector<PublishedTable> tables =
        read_published((data_folder() / "published" / "paper_tables.json").string());
    const PublishedTable& table = find_published(tables, paper_);
    if (grids.empty()) {
      grids.push_back(published_grid(table));
      return;
    }
    bool added = false;
    std::string refusal;
    for (Grid& grid : grids) {
      try {
        add_published(grid, table);
        added = true;
      } catch (const Error& error) {
        refusal = error.what();
      }
    }
    if (!added) throw Error(refusal);
  }

  std::vector<std::string> files_, metrics_, rows_by_;
  std::string aggregate_ = "mean", format_ = "markdown", paper_, output_;
  std::string columns_ = "length", interval_ = "wilson";
  bool no_chance_ = false, no_best_ = false, fit_ = false;
};

}  // namespace

CommandEntry table_command() {
  return {"table", "Accuracy, perplexity or dispersion by length, from Records",
          "lenbench table out.jsonl\n"
          "lenbench table asentmax.jsonl softmax.jsonl --metric answer,entropy --format csv -o table.csv\n"
          "lenbench table out.jsonl --paper mqmtar\n"
          "lenbench table out.jsonl --fit\n"
          "lenbench table out.jsonl --columns transform --rows-by positions --format html -o table.html",
          [] { return std::unique_ptr<Command>(std::make_unique<Table>()); }};
}

}  // namespace lenbench::cli
