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
#include "cli/training_logs.h"
#include "report/fact_axis.h"
#include "report/figures.h"
#include "report/vega.h"

namespace lenbench::cli {
namespace {

constexpr const char* kTraining = "training";

class Plot : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("WHAT", what_, ("One or several of " + join(figure_names(), ", ")).c_str());
    flags.positionals("RECORDS", files_,
                      "Record files written by 'lenbench run -o'; for training: logs, checkpoints, bundled names");
    flags.value("-o,--output", output_, "FILE", "FILE.vl.json, .svg, .png, .pdf or .html (default: JSON on stdout)");
    flags.value(
        "--statistic", statistic_, "NAME",
        ("dispersion and heads: " + join(statistic_names(), ", ") + "; representations: distance, cosine").c_str());
    flags.value(
        "--x", x_, "FACT",
        "Horizontal axis: length, effective (tokens fed), or a fact of the samples: distance, pairs, depth, ...");
    flags.flag("--by-outcome", by_outcome_, "dispersion and relevant: right and wrong answers as lines of their own");
    flags.value("--aggregate", aggregate_, "NAME", "Over seeds: mean, median or max");
    flags.list("--rows-by", rows_by_, "FIELD", ("Separate lines by " + join(row_field_names(), ", ")).c_str());
  }

  int run(const Parsed& parsed) override {
    const std::vector<std::string> wanted = split(what_, ',');
    for (const std::string& name : wanted) require_one_of(name, "WHAT", figure_names());
    require_used(parsed, wanted);
    std::vector<std::string> statistics = statistic_names();
    statistics.insert(statistics.end(), {"distance", "cosine"});
    require_one_of(statistic_, "--statistic", statistics);
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
    const std::string specification = vega_lite(
        wanted == std::vector<std::string>{kTraining} ? training_figures() : figures_of_records(wanted, request));
    if (json) {
      write_output(output_, specification);
    } else {
      create_parent_folders(output_);
      render_figure(specification, output_);
    }
    return 0;
  }

 private:
  std::vector<Figure> training_figures() const {
    Figure figure = training_figure(read_training_logs(files_));
    if (figure.lines.empty()) throw Error("plot training: these logs hold no step yet");
    return {std::move(figure)};
  }

  std::vector<Figure> figures_of_records(const std::vector<std::string>& wanted, FigureRequest& request) const {
    const std::vector<Record> records = read_record_files(files_);
    if (x_ != "length") {
      require_fact(records, x_);
      request.x = x_;
      const auto without = std::count_if(records.begin(), records.end(), [&](const Record& record) {
        return record.status == "ok" && !fact_of(record, x_);
      });
      if (without > 0) print_note(std::to_string(without) + " Records say nothing of '" + x_ + "' and are left out");
    }
    std::vector<Figure> figures;
    for (const std::string& name : wanted) {
      std::vector<Figure> more = figures_of(name, records, request);
      const bool empty = std::all_of(more.begin(), more.end(),
                                     [](const Figure& figure) { return figure.lines.empty() && figure.heats.empty(); });
      if (empty) throw Error("plot " + name + ": these Records hold nothing to draw: " + why_empty(name));
      for (Figure& figure : more) figures.push_back(std::move(figure));
    }
    return figures;
  }

  // A flag that no figure asked for reads would change nothing, and say nothing of it.
  void require_used(const Parsed& parsed, const std::vector<std::string>& wanted) const {
    const auto any_of = [&](std::initializer_list<const char*> readers) {
      return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
        return std::find(readers.begin(), readers.end(), name) != readers.end();
      });
    };
    const auto refuse = [&](const char* flag, const char* readers) {
      throw Error(std::string(flag) + " changes nothing in plot " + what_ + "; it is for " + readers);
    };
    if (any_of({kTraining})) {
      if (wanted.size() > 1) throw Error("plot training reads training logs and not Records; draw it alone");
      for (const char* flag : {"--statistic", "--x", "--by-outcome", "--aggregate", "--rows-by"}) {
        if (parsed.has(flag)) throw Error(std::string(flag) + " changes nothing in plot training");
      }
    }
    if (parsed.has("--statistic")) {
      const bool distance = statistic_ == "distance" || statistic_ == "cosine";
      if (distance && any_of({"dispersion", "heads"})) {
        throw Error("--statistic " + statistic_ + " is of representations alone; draw dispersion and heads apart");
      }
      if (distance && !any_of({"representations"})) refuse("--statistic", "dispersion, heads and representations");
      if (!distance && !any_of({"dispersion", "heads"})) refuse("--statistic", "dispersion, heads and representations");
    }
    if (parsed.has("--by-outcome") && !any_of({"dispersion", "relevant"})) {
      refuse("--by-outcome", "dispersion and relevant");
    }
    if (parsed.has("--x") && !any_of({"accuracy", "perplexity", "dispersion", "relevant", "representations"})) {
      refuse("--x", "accuracy, perplexity, dispersion, relevant and representations");
    }
  }

  static std::vector<Figure> figures_of(const std::string& name, const std::vector<Record>& records,
                                        const FigureRequest& request) {
    if (name == "accuracy") return {accuracy_figure(records, request)};
    if (name == "perplexity") return {perplexity_figure(records, request)};
    if (name == "dispersion") return dispersion_figures(records, request);
    if (name == "heads") return head_figures(records, request);
    if (name == "relevant") return relevant_figures(records, request);
    if (name == "spread") return spread_figures(records, request);
    if (name == "representations") return representation_figures(records, request);
    if (name == "temperature") return temperature_figures(records, request);
    return depth_figures(records, sample_depths(records), request);
  }

  static std::string why_empty(const std::string& name) {
    if (name == "accuracy") return "no exact-match cell was measured";
    if (name == "perplexity") return "no perplexity was measured";
    if (name == "depth") return "depth is known for tasks like niah-ids, whose samples say where the answer stands";
    if (name == "relevant")
      return "no answer's source was measured: not all tasks name one; see 'lenbench run --probe'";
    return "the statistic was not measured, see 'lenbench run --probe'";
  }

  std::string what_, output_, statistic_ = "entropy", aggregate_ = "mean", x_ = "length";
  std::vector<std::string> files_, rows_by_;
  bool by_outcome_ = false;
};

}  // namespace

CommandEntry plot_command() {
  return {
      "plot", "Accuracy, perplexity or dispersion by length as a figure, from Records",
      "lenbench plot accuracy out.jsonl -o accuracy.svg\n"
      "lenbench plot accuracy,dispersion asentmax.jsonl softmax.jsonl -o curves.html\n"
      "lenbench plot heads out.jsonl --statistic support -o heads.png\n"
      "lenbench plot depth niah.jsonl > depth.vl.json\n"
      "lenbench plot accuracy niah.jsonl --x distance -o by-distance.svg\n"
      "lenbench plot relevant out.jsonl           # mass on the answer's token as pairs are added\n"
      "lenbench plot spread out.jsonl             # entropy against the log of the support, a point a head and length\n"
      "lenbench plot representations out.jsonl    # distance between the states of different inputs, by depth\n"
      "lenbench plot temperature out.jsonl        # query scale, alpha and support of every head\n"
      "lenbench plot training my_checkpoint/ recall-asentmax-nape    # loss and accuracy by step of training",
      [] { return std::unique_ptr<Command>(std::make_unique<Plot>()); }};
}

}  // namespace lenbench::cli
