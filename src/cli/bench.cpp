// `lenbench bench`: what attention costs here, beside ATen's own, and what a whole model costs.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "cli/backend_loader.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/model_choice.h"
#include "cli/record_input.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "report/grid_text.h"

namespace lenbench::cli {
namespace {

using nlohmann::ordered_json;

std::string duration(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.1f} us", seconds * 1e6)
         : seconds < 1  ? fmt::format("{:.2f} ms", seconds * 1e3)
                        : fmt::format("{:.2f} s", seconds);
}

std::string known(double value, const char* format) {
  return value < 0 ? "-" : fmt::format(fmt::runtime(format), value);
}

ordered_json spread_json(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

ordered_json known_json(double value) { return value < 0 ? ordered_json() : ordered_json(value); }

std::string kernel_table(const std::vector<KernelTiming>& timings) {
  std::vector<std::vector<std::string>> rows;
  for (const KernelTiming& timing : timings) {
    rows.push_back({timing.input, timing.kernel, duration(timing.seconds.median),
                    fmt::format("{:.2f} [{:.2f}, {:.2f}]", timing.speed.median, timing.speed.low, timing.speed.high),
                    known(timing.mean_support, "{:.1f}"), known(timing.scored_share * 100, "{:.1f}"),
                    known(timing.screened_share * 100, "{:.1f}"), known(timing.pushes_per_row, "{:.1f}"),
                    known(timing.sum_error, "{:.1e}")});
  }
  return markdown_table(
      {"input", "kernel", "median", "speed [low, high]", "support", "scored %", "screened %", "pushes", "sum error"},
      rows);
}

// What --certify found, a line for each input.
std::string certificates(const std::vector<KernelTiming>& timings) {
  std::string text;
  for (const KernelTiming& timing : timings) {
    if (timing.certified_pairs < 0) continue;
    text += timing.certified_pairs == 0
                ? fmt::format("{}, {}: nothing was left out\n", timing.input, timing.kernel)
                : fmt::format("{}, {}: {} pairs left out were scored; least distance below the threshold {:.3g}{}\n",
                              timing.input, timing.kernel, timing.certified_pairs, timing.least_margin,
                              timing.least_margin < 0 ? ": WRONG" : "");
  }
  return text.empty() ? text : "\n" + text;
}

constexpr const char* kForwardLegend =
    "support: keys with weight above 0 a row; scored %: keys whose score was computed, of all visible; screened %:\n"
    "keys whose score was bounded with bytes first; pushes: keys a row kept as candidates of its support; sum error:\n"
    "largest distance of a row's weights from the sum 1\n"
    "output only: without entropy, support and largest weight of each row, which the others of lenbench give\n";

class Bench : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positionals("CKPT", models_, "Checkpoint whose trained heads are timed too");
    flags.value("--length", length_, "N", "Tokens of a row");
    flags.value("--head-dim", head_dim_, "D", "Head size of the random inputs");
    flags.list("--std", stds_, "S,...", "Standard deviation of random scores; 0: all equal (default 1,4,0)");
    flags.value("--alpha", alpha_, "A", "Alpha of entmax on the random inputs, in (1, 2]");
    flags.value("--task", task_, "NAME", "What the trained heads look at, with parameters as in --tasks of run");
    flags.flag("--end-to-end", end_to_end_, "Time whole passes of CKPT over one sample instead");
    flags.value("--attention-path", path_, "NAME", "With --end-to-end: auto, reference or streaming");
    flags.flag("--beside-sdpa", beside_sdpa_,
               "With --end-to-end: also with ATen's softmax attention in place of its own");
    flags.flag("--backward", backward_, "Time forward and backward on random inputs, as in training");
    flags.value("--heads", heads_, "N", "With --backward: heads at once, of all sequences of a batch");
    flags.flag("--certify", certify_, "Score every pair that entmax left out; exit 1 where one was within reach");
    flags.value("--repeats", repeats_, "N", "Rounds; medians and extremes are shown");
    flags.value("--device", device_, "NAME", "cpu, cuda or cuda:N");
    flags.value("--threads", threads_, "N", "CPU threads");
    flags.flag("--json", json_, "Print JSON in place of the table");
  }

  int run(const Parsed& parsed) override {
    if (parsed.has("--attention-path") && !end_to_end_)
      throw Error("--attention-path changes nothing without --end-to-end");
    if (beside_sdpa_ && !end_to_end_) throw Error("--beside-sdpa changes nothing without --end-to-end");
    if (parsed.has("--heads") && !backward_) throw Error("--heads changes nothing without --backward");
    if (backward_ && certify_) throw Error("--certify is about the forward pass; leave out --backward");
    if (backward_ && !models_.empty()) throw Error("--backward is timed on random inputs; leave out " + models_[0]);
    for (const char* flag : {"--head-dim", "--std", "--alpha", "--certify", "--backward"}) {
      if (parsed.has(flag) && end_to_end_) throw Error(std::string(flag) + " changes nothing with --end-to-end");
    }
    if (parsed.has("--task") && models_.empty()) throw Error("--task changes nothing without a checkpoint");
    KernelBenchOptions options;
    options.length = parse_at_least(length_, "--length", 1);
    options.head_dim = parse_at_least(head_dim_, "--head-dim", 1);
    if (options.length >= std::int64_t{1} << 24) throw Error("--length is " + length_ + "; it must be below 16777216");
    if (options.head_dim > 1024) throw Error("--head-dim is " + head_dim_ + "; it must be at most 1024");
    options.backward = backward_;
    options.heads = parse_at_least(heads_, "--heads", 1);
    if (backward_ && options.heads > ((std::int64_t{1} << 24) - 1) / options.length) {
      throw Error("--length " + length_ + " with --heads " + heads_ + " has 16777216 rows or more; ask for fewer");
    }
    options.device = parse_device(device_);
    options.alpha = parse_real(alpha_, "--alpha");
    if (!(options.alpha > 1 && options.alpha <= 2))
      throw Error("--alpha is " + alpha_ + "; it must be above 1, at most 2");
    if (certify_ && options.device != "cpu") {
      throw Error("--certify scores what the CPU's kernels left out; leave out --device " + device_);
    }
    options.certify = certify_;
    options.repeats = parse_at_least(repeats_, "--repeats", 1);
    options.threads = static_cast<int>(std::min<std::int64_t>(parse_at_least(threads_, "--threads", 1), 4096));
    if (!stds_.empty()) options.stds.clear();
    for (const std::string& piece : comma_parts(stds_)) {
      options.stds.push_back(parse_real(piece, "--std"));
      if (options.stds.back() < 0) throw Error("--std has " + piece + "; it must be at least 0");
    }
    if (models_.size() > 1) throw Error("'bench' takes one checkpoint, not '" + models_[1] + "' as well");
    if (end_to_end_ && models_.empty()) throw Error("--end-to-end needs a checkpoint");
    if (!models_.empty()) {
      options.checkpoint_path = choose_checkpoint(models_[0], "attention");
      const TaskSpec spec = parse_task_spec(task_);
      options.sample = make_task(spec, resources_for(spec.name, {}))->draw({options.length, 0, 0, Split::kTest});
    }
    return end_to_end_ ? time_whole(options) : time_heads(options);
  }

 private:
  int time_heads(const KernelBenchOptions& options) {
    ProgressLine line;
    const std::vector<KernelTiming> timings =
        load_backend()->time_kernels(options, [&](const std::string& input) { line.show("timing " + input); });
    line.clear();
    if (!json_) {
      print_out(fmt::format(
          "causal, {}, {} tokens, head size {} (random inputs), {} thread{} of {}, {} rounds\n"
          "median: {}\n"
          "speed: time of sdpa float32 (causal softmax, no bias) in the same round over this one's; "
          "medians and extremes\n"
          "{}\n",
          options.backward ? fmt::format("{} heads at once, forward and backward", options.heads) : "one head, forward",
          options.length, options.head_dim, options.threads, options.threads == 1 ? "" : "s",
          timings.front().instructions, options.repeats,
          timings.front().clock == "cpu" ? "CPU time, so that other work on the machine does not count" : "time",
          options.backward ? "" : kForwardLegend));
      print_out(kernel_table(timings) + certificates(timings));
      return within_reach(timings);
    }
    ordered_json all = {{"length", options.length},        {"head_dim", options.head_dim},
                        {"threads", options.threads},      {"instructions", timings.front().instructions},
                        {"clock", timings.front().clock},  {"repeats", options.repeats},
                        {"backward", options.backward},    {"heads", options.backward ? options.heads : 1},
                        {"timings", ordered_json::array()}};
    for (const KernelTiming& timing : timings) {
      all["timings"].push_back({{"input", timing.input},
                                {"kernel", timing.kernel},
                                {"seconds", spread_json(timing.seconds)},
                                {"speed", spread_json(timing.speed)},
                                {"mean_support", known_json(timing.mean_support)},
                                {"scored_share", known_json(timing.scored_share)},
                                {"screened_share", known_json(timing.screened_share)},
                                {"pushes_per_row", known_json(timing.pushes_per_row)},
                                {"sum_error", known_json(timing.sum_error)}});
      if (timing.certified_pairs < 0) continue;
      all["timings"].back()["certified_pairs"] = timing.certified_pairs;
      all["timings"].back()["least_margin"] =
          timing.certified_pairs == 0 ? ordered_json() : ordered_json(timing.least_margin);
    }
    print_out(dump_json(all) + "\n");
    return within_reach(timings);
  }

  // Exit code: 1 where a pair was left out that must not be.
  static int within_reach(const std::vector<KernelTiming>& timings) {
    return std::any_of(timings.begin(), timings.end(),
                       [](const KernelTiming& timing) { return timing.least_margin < 0; });
  }

  int time_whole(const KernelBenchOptions& options) {
    require_one_of(path_, "--attention-path", {"auto", "reference", "streaming"});
    OpenOptions open;
    open.attention_path = path_;
    open.device = options.device;
    open.threads = options.threads;
    const EndToEndTiming timing =
        load_backend()->time_model(options.checkpoint_path, options.sample, open, options.repeats, beside_sdpa_);
    if (json_) {
      ordered_json all = {{"length", options.length},
                          {"tokens", timing.tokens},
                          {"threads", options.threads},
                          {"repeats", options.repeats},
                          {"seconds", spread_json(timing.seconds)},
                          {"attention_share", timing.attention_share}};
      if (timing.sdpa_seconds) {
        all["sdpa_seconds"] = spread_json(*timing.sdpa_seconds);
        all["sdpa_ratio"] = spread_json(*timing.sdpa_ratio);
      }
      print_out(dump_json(all) + "\n");
    } else {
      print_out(fmt::format("{} tokens: {} a sample [{}, {}], {:.0f} % of it in attention\n", timing.tokens,
                            duration(timing.seconds.median), duration(timing.seconds.low),
                            duration(timing.seconds.high), 100 * timing.attention_share));
      if (timing.sdpa_seconds) {
        print_out(fmt::format(
            "with ATen's softmax attention in its place: {} a sample [{}, {}], {:.2f} times as long [{:.2f}, {:.2f}]\n",
            duration(timing.sdpa_seconds->median), duration(timing.sdpa_seconds->low),
            duration(timing.sdpa_seconds->high), timing.sdpa_ratio->median, timing.sdpa_ratio->low,
            timing.sdpa_ratio->high));
      }
    }
    return 0;
  }

  std::vector<std::string> models_, stds_;
  std::string length_ = "4096", head_dim_ = "32", alpha_ = "1.5", task_ = "recall", path_ = "auto", repeats_ = "5";
  std::string threads_ = "1", device_ = "cpu", heads_ = "64";
  bool end_to_end_ = false, json_ = false, certify_ = false, beside_sdpa_ = false, backward_ = false;
};

}  // namespace

CommandEntry bench_command() {
  return {"bench", "Time attention kernels beside ATen's, on random and trained heads, or a whole model",
          "lenbench bench --length 16384 --head-dim 64\n"
          "lenbench bench recall-asentmax-nape --length 16384 --std 4\n"
          "lenbench bench recall-asentmax-nape --length 4096 --certify\n"
          "lenbench bench --length 64 --head-dim 16 --backward --heads 256\n"
          "lenbench bench recall-asentmax-nape --end-to-end --length 65536 --threads 2",
          [] { return std::unique_ptr<Command>(std::make_unique<Bench>()); }, "checkpoints"};
}

}  // namespace lenbench::cli
