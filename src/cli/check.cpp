// `lenbench check`: fails on lost accuracy, never on noise.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "bench/doubles.h"
#include "checkpoint/torch_file.h"
#include "cli/check_session.h"
#include "cli/command.h"
#include "cli/exec_flags.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/gate_files.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/setting.h"
#include "cli/terminal.h"
#include "verdict/render.h"

namespace lenbench::cli {
namespace {

// A regular file that is no weights file holds Records.
bool is_record_file(const std::string& text) {
  std::error_code ignored;
  return !is_double(text) && !is_exec(text) && std::filesystem::is_regular_file(text, ignored) &&
         !text.ends_with(".safetensors") && torch_file_kind(text) == TorchFile::kNone;
}

class Check : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("RECORDS|CKPT", target_, "Record files; or a checkpoint, bundled name or double to measure now");
    flags.value("--baseline", baseline_, "FILE", "Baseline ('lenbench baseline write'), or a Record file", true);
    flags.value("--policy", policy_, "FILE", "Policy; default NAME.policy.json beside the baseline, else its own");
    flags.value("--alpha", alpha_, "P", "Chance that a check without a loss fails, over all cells (default 0.05)");
    flags.value("--smallest-effect", smallest_, "D", "Drops of accuracy up to D never fail (default 0.002)");
    flags.list("--min", floors_, "CELL=A", "Floor, e.g. mqmtar@65536=0.95; replaces the policy's for that cell");
    flags.list("--max-ppl", ceilings_, "CELL=V", "Ceiling of perplexity, e.g. text@4096=3.4");
    flags.list("--max-ppl-ratio", ratios_, "A/B=R", "Ceiling of its growth: 8x/1x=1.05 in training lengths, or tokens");
    flags.flag("--fail-undecided", fail_undecided_, "Exit 1 when a verdict needs more samples");
    flags.flag("--fail-new", fail_new_, "Exit 1 when a cell is not in the baseline");
    flags.flag("--allow-missing", allow_missing_, "Exit 0 when a cell of the baseline was not measured");
    flags.value("--subject", subject_, "NAME", "Of Record files with several models, the one to check");
    flags.value("--junit", junit_, "FILE", "Write JUnit XML");
    flags.value("--markdown", markdown_, "FILE", "Write a summary; append when FILE is $GITHUB_STEP_SUMMARY");
    flags.flag("--json", json_, "Print JSON in place of the table");
    flags.value("--today", today_, "DATE",
                "The day acknowledgements are held against, 2026-12-31 (default: today, UTC)");
    flags.value("--budget", budget_, "TIME", "CKPT: stop measuring after 90s, 10m, 1.5h; quickest verdicts first");
    flags.flag("--all-samples", all_samples_, "CKPT: measure every sample, also where the verdict is certain");
    flags.value("-o,--output", output_, "FILE", "CKPT: write what was measured as Records");
    flags.flag("--overwrite", overwrite_, "Move an existing -o FILE aside to FILE.old-N");
    flags.list("--text", documents_, "FILE", "CKPT: documents of the baseline's perplexity cells");
    flags.value("--device", device_, "NAME", "CKPT: cpu, cuda or cuda:N");
    flags.value("--dtype", dtype_, "NAME", "CKPT: float32, float64 or bfloat16; on CUDA also tf32");
    flags.value("--threads", threads_, "N", "CKPT: CPU threads; 0: all");
    flags.value("--batch", batch_, "N", "CKPT: samples a forward pass; 0: from the memory budget");
    flags.value("--transform", transform_, "NAME", "CKPT: change the attention at inference, as `run` does");
    flags.value("--rope-scaling", rope_scaling_, "NAME:k=v", "CKPT: change RoPE at inference, as `run` does");
    exec_.define(flags);
  }

  bool takes_extra() const override { return true; }

  int run(const Parsed& parsed) override {
    require_values(parsed, {{"--transform", transform_}, {"--rope-scaling", rope_scaling_}});
    const bool from_records = is_record_file(target_);
    if (!from_records && !parsed.extra.empty()) {
      throw Error("'check' does not expect '" + parsed.extra.front() +
                  "' after a checkpoint; see 'lenbench check --help'");
    }
    if (from_records) refuse_model_flags(parsed);
    require_free_output(junit_, "--junit", {target_, baseline_, policy_, output_});
    require_free_output(markdown_, "--markdown", {target_, baseline_, policy_, output_, junit_});
    require_other_file(output_, "-o", {target_, baseline_, policy_});
    const Baseline baseline = read_baseline(baseline_);
    CheckHeading heading{.now = target_,
                         .baseline = baseline_,
                         .baseline_sha256 = baseline.sha256,
                         .baseline_commit = baseline.source_commit,
                         .policy_source = ""};
    const Policy policy = read_policy(baseline, heading.policy_source);

    JudgeOptions options;
    std::vector<GateCell> now;
    if (from_records) {
      std::vector<std::string> files = {target_};
      files.insert(files.end(), parsed.extra.begin(), parsed.extra.end());
      now = read_cells(files, subject_);
    } else {
      GateMeasurement result = measure_against(baseline.cells, policy, read_session(parsed));
      if (result.interrupted) {
        print_note("interrupted: no verdict");
        return kInterruptedExit;
      }
      print_note(fmt::format("{} of {} samples measured", result.samples_measured, result.samples_in_baseline));
      now = std::move(result.cells);
      options = std::move(result.options);
    }
    options.today = today_.empty() ? utc_now().substr(0, 10) : today_;
    if (!is_date(options.today)) throw Error("--today is '" + today_ + "', which is no day; write 2026-12-31");
    // After all that can be refused, so that an error stands alone.
    print_note(fmt::format("baseline '{}': SHA-256 {}{}; policy: {}", baseline_, baseline.sha256.substr(0, 12),
                           baseline.source_commit.empty() ? "" : ", commit " + baseline.source_commit,
                           heading.policy_source));
    if (!baseline.source_commit.empty() && baseline.source_commit == source_commit()) {
      print_note("baseline equals candidate commit: it cannot show a loss; take the baseline from the base branch");
    }
    const CheckResult result = judge(baseline.cells, now, policy, options);
    for (const std::string& note : result.notes) print_note(note);
    print_out(json_ ? check_json(result, heading, policy) : check_table(result));
    write_reports(result, heading, policy);
    return static_cast<int>(result.exit_code());
  }

 private:
  void refuse_model_flags(const Parsed& parsed) const {
    for (const char* flag :
         {"--budget", "--all-samples", "--output", "--overwrite", "--text", "--device", "--dtype", "--threads",
          "--batch", "--transform", "--rope-scaling", "--exec-timeout", "--exec-start-timeout"}) {
      if (parsed.has(flag)) throw Error(std::string(flag) + " is for a checkpoint; '" + target_ + "' is a Record file");
    }
  }

  Policy read_policy(const Baseline& baseline, std::string& source) const {
    Policy policy = find_policy(baseline_, baseline, policy_, &source);
    if (!alpha_.empty()) policy.alpha = parse_real(alpha_, "--alpha");
    if (!smallest_.empty()) policy.smallest_effect = parse_real(smallest_, "--smallest-effect");
    for (const auto& [cell, value] : parse_limits(floors_, "--min")) policy.min_accuracy[cell] = value;
    for (const auto& [cell, value] : parse_limits(ceilings_, "--max-ppl")) policy.max_perplexity[cell] = value;
    for (const auto& [ratio, value] : parse_limits(ratios_, "--max-ppl-ratio")) {
      policy.max_perplexity_ratio[ratio] = value;
    }
    policy.fail_undecided = policy.fail_undecided || fail_undecided_;
    policy.fail_new = policy.fail_new || fail_new_;
    policy.allow_missing = policy.allow_missing || allow_missing_;
    check_policy(policy, "the policy with the flags of this call");
    return policy;
  }

  CheckSession read_session(const Parsed& parsed) const {
    if (!subject_.empty()) throw Error("--subject is for Record files");
    CheckSession session;
    session.choice = choose_model(
        target_, exec_.read(parsed, target_, {"--device", "--dtype", "--threads", "--transform", "--rope-scaling"}));
    session.open.device = parse_device(device_);
    session.open.dtype = parse_dtype(dtype_, device_);
    session.open.threads = parse_threads(threads_);
    session.open.transform = transform_;
    session.open.rope_scaling = rope_scaling_;
    session.batch = parse_at_least(batch_, "--batch", 0);
    session.budget_seconds = budget_.empty() ? 0 : parse_seconds(budget_, "--budget");
    session.stop_early = !all_samples_;
    session.documents = documents_;
    session.output = output_;
    if (overwrite_ && output_.empty()) throw Error("--overwrite needs -o FILE");
    session.overwrite = overwrite_;
    return session;
  }

  void write_reports(const CheckResult& result, const CheckHeading& heading, const Policy& policy) const {
    if (!junit_.empty()) {
      write_output(junit_, check_junit(result, heading));
    }
    if (markdown_.empty()) return;
    const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
    std::error_code ignored;
    const bool append = summary != nullptr && markdown_ == summary && std::filesystem::exists(markdown_, ignored);
    write_output(markdown_, (append ? read_file(markdown_) : "") + check_markdown(result, heading, policy));
  }

  std::string target_, baseline_, policy_, alpha_, smallest_, subject_, junit_, markdown_, today_, budget_, output_;
  std::string device_ = "cpu", dtype_ = "float32", threads_ = "0", batch_ = "0", transform_, rope_scaling_;
  std::vector<std::string> floors_, ceilings_, ratios_, documents_;
  bool fail_undecided_ = false, fail_new_ = false, allow_missing_ = false, json_ = false, all_samples_ = false;
  bool overwrite_ = false;
  ExecFlags exec_;
};

}  // namespace

CommandEntry check_command() {
  return {"check", "Compare with a baseline; exit 1 when accuracy is certainly lost or a cell is missing",
          "lenbench check out.jsonl --baseline ci.json\n"
          "lenbench check my_checkpoint/ --baseline ci.json --budget 10m --junit check.xml\n"
          "lenbench check out.jsonl --baseline ci.json --min recall@4096=0.95 --markdown \"$GITHUB_STEP_SUMMARY\"\n"
          "Exit codes: 0 no loss, 1 a cell is worse or missing, 2 input cannot be used, 3 no baseline, no cell in\n"
          "common, not comparable or failed. A pipe hides them: set -o pipefail before 'lenbench check ... | tee log'.",
          [] { return std::unique_ptr<Command>(std::make_unique<Check>()); }, "checkpoints"};
}

}  // namespace lenbench::cli
