// `lenbench gen`: samples as JSON lines, or figures about them.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/build_info.h"
#include "base/error.h"
#include "base/numbers.h"
#include "cli/command.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/hash_stream.h"
#include "cli/interrupt.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "tasks/sample_file.h"

namespace lenbench::cli {
namespace {

class Gen : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("TASK", task_, "Task, e.g. recall or recall:density=4");
    flags.value("--length", length_, "L", "Nominal length in tokens", true);
    flags.value("-n,--n", n_, "N", "Number of samples, from index 0");
    flags.value("--seed", seed_, "S", "Data seed");
    flags.value("--split", split_, "NAME", "train, validation or test");
    flags.value("--format", format_, "NAME",
                "jsonl: a header line, then one sample of ids a line; text: prompts and answers of byte tasks");
    flags.flag("--stats", stats_, "Print figures about the samples in place of them");
    flags.list("--text", files_, "FILE", "Document for 'text' and 'niah-bytes' (repeat for more)");
  }

  int run(const Parsed&) override {
    require_one_of(format_, "--format", {"jsonl", "text"});
    const TaskSpec spec = parse_task_spec(task_);
    const std::unique_ptr<Task> task = make_task(spec, resources_for(spec.name, files_));
    key_.length = parse_at_least(length_, "--length", 1);
    key_.seed = parse_uint(seed_, "--seed");
    key_.split = parse_split(split_);
    const std::int64_t count = parse_at_least(n_, "--n", 1);
    stop_ = watch_interrupts();
    key_.index = static_cast<std::uint64_t>(count) - 1;
    if (task->available(key_.length) != 0) draw_checked(*task, key_);
    if (stats_) return print_stats(*task, count);
    return format_ == "text" ? print_text(*task, count) : print_samples(*task, count);
  }

 private:
  Sample sample(const Task& task, std::int64_t index) {
    key_.index = static_cast<std::uint64_t>(index);
    return draw_checked(task, key_);
  }

  // The header names the hash of the lines that follow, so every sample is drawn twice; nothing is held in memory.
  int print_samples(const Task& task, std::int64_t count) {
    Sha256Stream hash;
    for (std::int64_t i = 0; i < count; ++i) {
      if (*stop_) return kInterruptedExit;
      hash.add(sample_line(task, key_, sample(task, i)) + "\n");
    }
    print_out(sample_file_header(task, key_, count, version(), hash.hex()) + "\n");
    for (std::int64_t i = 0; i < count; ++i) {
      if (*stop_) return kInterruptedExit;
      print_out(sample_line(task, key_, sample(task, i)) + "\n");
    }
    return 0;
  }

  int print_text(const Task& task, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (*stop_) return kInterruptedExit;
      print_out(sample_text_line(task, key_, sample(task, i)) + "\n");
    }
    return 0;
  }

  int print_stats(const Task& task, std::int64_t count) {
    struct Range {
      double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
      std::int64_t n = 0;
      void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
        sum += value;
        ++n;
      }
    };
    Range prompt, fed, scored;
    std::map<std::string, Range> facts;
    for (std::int64_t i = 0; i < count; ++i) {
      if (*stop_) return kInterruptedExit;
      const Sample drawn = sample(task, i);
      prompt.add(static_cast<double>(drawn.prompt_tokens));
      fed.add(static_cast<double>(drawn.tokens.size()));
      scored.add(static_cast<double>(drawn.scored.size()));
      for (const auto& [name, value] : drawn.facts) facts[name].add(value);
    }
    std::string text = fmt::format("{} at {}: {} samples\n", format_spec(task), key_.length, count);
    text += fmt::format("fill: {}/{} = {:.3f} (longest prompt over nominal length)\n", format_real(prompt.high),
                        key_.length, prompt.high / static_cast<double>(key_.length));
    const auto line = [&](const std::string& name, const Range& range) {
      text += fmt::format("{}: {}..{}, mean {:.3f}\n", name, format_real(range.low), format_real(range.high),
                          range.sum / static_cast<double>(range.n));
    };
    line("prompt tokens", prompt);
    line("tokens fed", fed);
    line("rows scored", scored);
    for (const auto& [name, range] : facts) line(name, range);
    text += fmt::format("chance: {:.6f}\n", task.chance());
    print_out(text);
    return 0;
  }

  std::string task_, length_, n_ = "10", seed_ = "0", split_ = "test", format_ = "jsonl";
  std::vector<std::string> files_;
  bool stats_ = false;
  DrawKey key_;
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace

CommandEntry gen_command() {
  return {"gen", "Write a task's samples, or figures about them",
          "lenbench gen recall --length 256 --n 8 --seed 1 --format jsonl\nlenbench gen mqmtar --length 65536 --n 5 "
          "--stats",
          [] { return std::unique_ptr<Command>(std::make_unique<Gen>()); }, "tasks"};
}

}  // namespace lenbench::cli
