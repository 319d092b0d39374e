// `lenbench audit`: is a drop the model's, or the arithmetic's?
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "bench/audit.h"
#include "bench/runner.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/model_choice.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "report/grid_text.h"

namespace lenbench::cli {
namespace {

using nlohmann::ordered_json;

struct Finding {
  std::int64_t length = 0;
  std::string compared;
  std::string skipped;  // why nothing was compared; empty: compared
  Agreement agreement;
};

std::string share(std::int64_t same, std::int64_t all) { return fmt::format("{} of {}", same, all); }

std::string audit_table(const std::vector<Finding>& findings) {
  std::vector<std::vector<std::string>> rows;
  Notes notes;
  for (const Finding& finding : findings) {
    const Agreement& found = finding.agreement;
    if (!finding.skipped.empty()) {
      rows.push_back(
          {std::to_string(finding.length), finding.compared + notes.mark(finding.skipped), "-", "-", "-", "-", "-"});
      continue;
    }
    rows.push_back({std::to_string(finding.length), finding.compared, share(found.same_outcome, found.samples),
                    share(found.same_argmax, found.rows), fmt::format("{:.1e}", found.largest_nats),
                    found.worst_sample < 0 ? "-" : fmt::format("{}:{}", found.worst_sample, found.worst_position),
                    std::to_string(found.nonfinite_rows)});
  }
  return markdown_table({"length", "compared with", "same outcome", "same tokens", "largest difference, nats",
                         "at sample:position", "non-finite"},
                        rows) +
         markdown_notes(notes.list());
}

class Audit : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("CKPT", model_, "Checkpoint folder or file, or a bundled name");
    flags.value("--task", task_, "NAME", "Task, with parameters as in --tasks of run");
    flags.list("--lengths", lengths_, "L", "64..4096 doubles, 64,96,128 lists (default 64..1024)");
    flags.value("--samples", samples_, "N", "Samples a length");
    flags.value("--seed", seed_, "S", "Data seed");
    flags.value("--reference-up-to", longest_, "L", "Longest length for the reference path, whose time grows fastest");
    flags.value("--device", device_, "NAME", "cpu, cuda or cuda:N");
    flags.value("--threads", threads_, "N", "CPU threads; 0: all");
    flags.flag("--json", json_, "Print JSON in place of the table");
  }

  int run(const Parsed&) override {
    choose_checkpoint(model_, "other ways to compute the same");
    const ModelChoice choice = choose_model(model_);
    const TaskSpec spec = parse_task_spec(task_);
    const std::unique_ptr<Task> task = make_task(spec, resources_for(spec.name, {}));
    const std::vector<std::int64_t> lengths = parse_length_list(lengths_.empty() ? Words{"64..1024"} : lengths_);
    const std::int64_t count = parse_at_least(samples_, "--samples", 2);
    const std::int64_t longest = parse_at_least(longest_, "--reference-up-to", 0);
    const DrawKey key{0, 0, static_cast<std::uint64_t>(parse_at_least(seed_, "--seed", 0)), Split::kTest};
    OpenOptions fast;
    fast.device = parse_device(device_);
    fast.threads = parse_threads(threads_);
    OpenOptions plain = fast, exact = fast;
    plain.attention_path = "reference";
    exact.attention_path = "reference";
    exact.dtype = "float64";
    OpenModel model = open_model(choice, fast), reference = open_model(choice, plain),
              doubled = open_model(choice, exact);

    ProgressLine line;
    std::vector<Finding> findings;
    for (const std::int64_t length : lengths) {
      line.show(fmt::format("length {}", length));
      DrawKey at = key;
      at.length = length;
      std::vector<Sample> samples;
      for (at.index = 0; at.index < static_cast<std::uint64_t>(count); ++at.index) {
        samples.push_back(draw_checked(*task, at));
      }
      const std::int64_t batch =
          choose_batch(*model.predictor, task->total_tokens(length), std::ssize(samples.front().scored), 0);
      const std::vector<SamplePrediction> said = predict_in_batches(*model.predictor, samples, batch);
      const auto add = [&](const std::string& name, const std::vector<SamplePrediction>& other) {
        findings.push_back({length, name, "", compare_predictions(samples, said, other)});
      };
      add("batch 1", predict_in_batches(*model.predictor, samples, 1));
      at.length = 2 * length;
      at.index = 0;
      add(fmt::format("padded to length {}", 2 * length),
          predict_beside(*model.predictor, samples, draw_checked(*task, at)));
      for (auto& [name, other] : {std::pair{"reference path", &reference}, {"reference path, float64", &doubled}}) {
        if (length > longest) {
          findings.push_back({length, name, fmt::format("longer than --reference-up-to {}", longest), {}});
        } else {
          add(name, predict_in_batches(*other->predictor, samples, batch));
        }
      }
    }
    line.clear();
    print_out(json_ ? json_text(findings) : heading(choice, *task, count) + audit_table(findings));
    return 0;
  }

 private:
  using Words = std::vector<std::string>;

  std::string heading(const ModelChoice& choice, const Task& task, std::int64_t samples) const {
    return fmt::format(
        "{} on {}, {} samples a length, data seed {}: float32 in the fast path and batches as `run` makes "
        "them, compared with other ways to compute the same\n\n",
        choice.text, task.info().name, samples, seed_);
  }

  static std::string json_text(const std::vector<Finding>& findings) {
    ordered_json all = ordered_json::array();
    for (const Finding& finding : findings) {
      ordered_json one = {{"length", finding.length}, {"compared", finding.compared}};
      if (!finding.skipped.empty()) {
        one["skipped"] = finding.skipped;
      } else {
        const Agreement& found = finding.agreement;
        one.update({{"samples", found.samples},
                    {"same_outcome", found.same_outcome},
                    {"rows", found.rows},
                    {"same_argmax", found.same_argmax},
                    {"nonfinite_rows", found.nonfinite_rows},
                    {"largest_nats", found.largest_nats},
                    {"worst_sample", found.worst_sample},
                    {"worst_position", found.worst_position}});
      }
      all.push_back(std::move(one));
    }
    return dump_json(all) + "\n";
  }

  std::string model_, task_ = "recall", samples_ = "8", seed_ = "0", longest_ = "2048", threads_ = "0", device_ = "cpu";
  std::vector<std::string> lengths_;
  bool json_ = false;
};

}  // namespace

CommandEntry audit_command() {
  return {"audit", "Compare a model's answers over batch sizes, padding, attention paths and float64",
          "lenbench audit recall-asentmax-nape\n"
          "lenbench audit recall-dense-ssmax-nape --task recall-dense --lengths 64..16384 --samples 4",
          [] { return std::unique_ptr<Command>(std::make_unique<Audit>()); }, "checkpoints"};
}

}  // namespace lenbench::cli
