// `lenbench report`: everything that Records say, in one HTML page.
#include "report/report.h"
#include "base/build_info.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/output_file.h"
#include "cli/paths.h"
#include "cli/record_input.h"
#include "cli/record_samples.h"
#include "cli/terminal.h"

namespace lenbench::cli {
namespace {

constexpr std::size_t kLargeBytes = 3'000'000;  // slow to open on a phone

class Report : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positionals("RECORDS", files_, "Record files written by 'lenbench run -o'");
    flags.value("-o,--output", output_, "FILE", "The page, FILE.html", true);
    flags.value("--title", title_, "TEXT", "Heading of the page");
    flags.value("--aggregate", aggregate_, "NAME", "Over seeds: mean, median, max or best-seed");
    flags.list("--rows-by", rows_by_, "FIELD", ("Separate rows by " + join(row_field_names(), ", ")).c_str());
    flags.flag("--no-samples", no_samples_, "Leave the samples out");
    flags.flag("--no-published", no_published_, "Leave published numbers out");
    flags.flag("--published", published_, "Also published numbers whose task has but the name in common");
  }

  int run(const Parsed&) override {
    require_free_output(output_, "-o", files_);
    ReportRequest request;
    request.title = title_;
    request.producer = std::string("lenbench ") + version() + " (commit " + commit() + ")";
    request.figures.aggregate = parse_aggregate(aggregate_);
    request.figures.rows_by = comma_parts(rows_by_);
    for (const std::string& field : request.figures.rows_by) require_one_of(field, "--rows-by", row_field_names());
    request.figures.default_parameters = default_parameters;
    if (published_ && no_published_) throw Error("--published and --no-published exclude each other");
    request.published_in_name = published_;
    if (!no_published_) {
      request.published = read_published((data_folder() / "published" / "paper_tables.json").string());
    }
    const std::vector<Record> records = read_record_files(files_);
    if (!no_samples_) request.questions = question_views(records);
    const std::string page = html_report(records, request);
    write_output(output_, page);
    if (page.size() > kLargeBytes) {
      print_note("'" + output_ + "' has " + std::to_string(page.size() / 1'000'000) +
                 " MB; --no-samples, or fewer Records, make it lighter");
    }
    return 0;
  }

 private:
  std::string output_, title_ = "lenbench report", aggregate_ = "mean";
  std::vector<std::string> files_, rows_by_;
  bool no_samples_ = false, no_published_ = false, published_ = false;
};

}  // namespace

CommandEntry report_command() {
  return {"report", "One offline HTML page: tables, figures, samples and what was run, from Records",
          "lenbench report out.jsonl -o report.html\n"
          "lenbench report asentmax.jsonl softmax.jsonl --title 'ASEntmax against softmax' -o report.html",
          [] { return std::unique_ptr<Command>(std::make_unique<Report>()); }};
}

}  // namespace lenbench::cli
