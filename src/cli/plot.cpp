// `lenbench plot`: figures from Records.
#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/output_file.h"
#include "cli/record_input.h"
#include "cli/record_samples.h"
#include "cli/renderer.h"
#include "cli/terminal.h"
#include "report/figures.h"
#include "report/vega.h"

namespace lenbench::cli {
namespace {

class Plot : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("WHAT", what_, ("One or several of " + join(figure_names(), ", ")).c_str());
    flags.positionals("RECORDS", files_, "Record files written by 'lenbench run -o'");
    flags.value("-o,--output", output_, "FILE", "FILE.vl.json, .svg, .png, .pdf or .html (default: JSON on stdout)");
    flags.value("--statistic", statistic_, "NAME", ("dispersion and heads: " + join(statistic_names(), ", ")).c_str());
    flags.flag("--by-outcome", by_outcome_, "dispersion: right and wrong answers as lines of their own");
    flags.value("--aggregate", aggregate_, "NAME", "Over seeds: mean, median or max");
    flags.list("--rows-by", rows_by_, "FIELD", ("Separate lines by " + join(row_field_names(), ", ")).c_str());
  }

  int run(const Parsed&) override {
    const std::vector<std::string> wanted = split(what_, ',');
    for (const std::string& name : wanted) require_one_of(name, "WHAT", figure_names());
    require_one_of(statistic_, "--statistic", statistic_names());
    const bool json = output_.empty() || output_.ends_with(".json");
    if (!json && !needs_renderer(output_)) {
      throw Error("-o '" + output_ + "': a figure's file ends in .vl.json, .svg, .png, .pdf or .html");
    }
    require_free_output(output_, "-o", files_);
    FigureRequest request;
    request.aggregate = parse_aggregate(aggregate_);
    request.rows_by = comma_parts(rows_by_);
    for (const std::string& field : request.rows_by) require_one_of(field, "--rows-by", row_field_names());
    request.statistic = statistic_;
    request.by_outcome = by_outcome_;
    request.default_parameters = default_parameters;
    const std::vector<Record> records = read_record_files(files_);

    std::vector<Figure> figures;
    for (const std::string& name : wanted) {
      std::vector<Figure> more = figures_of(name, records, request);
      const bool empty = std::all_of(more.begin(), more.end(),
                                     [](const Figure& figure) { return figure.lines.empty() && figure.heats.empty(); });
      if (empty) throw Error("plot " + name + ": these Records hold nothing to draw: " + why_empty(name));
      for (Figure& figure : more) figures.push_back(std::move(figure));
    }
    const std::string specification = vega_lite(figures);
    if (json) {
      write_output(output_, specification);
    } else {
      create_parent_folders(output_);
      render_figure(specification, output_);
    }
    return 0;
  }

 private:
  static std::vector<Figure> figures_of(const std::string& name, const std::vector<Record>& records,
                                        const FigureRequest& request) {
    if (name == "accuracy") return {accuracy_figure(records, request)};
    if (name == "perplexity") return {perplexity_figure(records, request)};
    if (name == "dispersion") return dispersion_figures(records, request);
    if (name == "heads") return head_figures(records, request);
    return depth_figures(records, sample_depths(records), request);
  }

  static std::string why_empty(const std::string& name) {
    if (name == "accuracy") return "no exact-match cell was measured";
    if (name == "perplexity") return "no perplexity was measured";
    if (name == "depth") return "depth is known for tasks like niah-ids, whose samples say where the answer stands";
    return "the statistic was not measured, see 'lenbench run --probe'";
  }

  std::string what_, output_, statistic_ = "entropy", aggregate_ = "mean";
  std::vector<std::string> files_, rows_by_;
  bool by_outcome_ = false;
};

}  // namespace

CommandEntry plot_command() {
  return {"plot", "Accuracy, perplexity or dispersion by length as a figure, from Records",
          "lenbench plot accuracy out.jsonl -o accuracy.svg\n"
          "lenbench plot accuracy,dispersion asentmax.jsonl softmax.jsonl -o curves.html\n"
          "lenbench plot heads out.jsonl --statistic support -o heads.png\n"
          "lenbench plot depth niah.jsonl > depth.vl.json",
          [] { return std::unique_ptr<Command>(std::make_unique<Plot>()); }};
}

}  // namespace lenbench::cli
