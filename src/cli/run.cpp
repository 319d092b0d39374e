// `lenbench run`: a model, questions at growing lengths, one Record for each Cell.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/text.h"
#include "bench/metrics.h"
#include "cli/command.h"
#include "cli/exec_flags.h"
#include "cli/flag_set.h"
#include "cli/flags.h"
#include "cli/model_choice.h"
#include "cli/run_session.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "tasks/sample_file.h"

namespace lenbench::cli {
namespace {

class Run : public Command {
 public:
  void define(FlagSet& flags) override {
    flags.positional("CKPT", model_, "Checkpoint folder or file, bundled name, double (oracle:512), or 'exec:COMMAND'");
    flags.list("--tasks", tasks_, "a,b,...", "Tasks, with parameters as recall:density=4 (default recall)");
    flags.list("--lengths", lengths_, "L",
               "64..65536 doubles, 64,96,128 lists, around:64..4096 adds L-1 and L+1, 'train' is the training length "
               "(default 64..4096)");
    flags.value("--samples", samples_, "N", "Samples a length: one count, or one per length (N,N,...)");
    flags.list("--samples-at", samples_at_, "L=N", "Other counts at single lengths, e.g. 16384=32,65536=8");
    flags.value("-o,--output", output_, "FILE", "Append a Record for each cell; the same plan resumes");
    flags.value("--jobs", jobs_, "N", "Processes on this machine that share the work; --threads is for all of them");
    flags.flag("--split-sequence", split_sequence_,
               "The ranks of --jobs or a launcher divide the rows of every sample, so that each needs less memory");
    flags.value("--shard", shard_, "I/N",
                "Measure the I-th of N parts of the run, with no network; 'lenbench merge' joins them");
    flags.flag("--overwrite", overwrite_, "Move an existing FILE aside to FILE.old-N and start anew");
    flags.value("--seed", seed_, "S", "Data seed, or several: 0,1,2");
    flags.value("--split", split_, "NAME", "train, validation or test");
    flags.list("--text", files_, "FILE", "Documents for 'text' and 'niah-bytes': UTF-8 files");
    flags.value("--data", data_, "FILE",
                "Ask the samples of a file that `gen` or another tool wrote, in place of --tasks");
    flags.value("--probe", probe_, "ROWS",
                "Attention statistics over rows: answer, all, prefix or none (checkpoints: answer)");
    flags.value("--device", device_, "NAME", "cpu, cuda or cuda:N");
    flags.value("--dtype", dtype_, "NAME", "float32, float64 or bfloat16; on CUDA also tf32");
    flags.value("--threads", threads_, "N", "CPU threads; 0: all");
    flags.value("--attention-path", attention_path_, "NAME", "auto, reference or streaming");
    flags.value("--transform", transform_, "NAME",
                "Change the attention at inference: adaptive-temperature, ssmax:s=0.43 or entmax:alpha=1.5");
    flags.value("--alpha", alpha_, "A", "Short for --transform entmax:alpha=A, and goes with ssmax");
    flags.value("--rope-scaling", rope_scaling_, "NAME:k=v",
                "Change RoPE at inference: linear, dynamic, llama3 or yarn, as in yarn:factor=4; or none");
    flags.value("--batch", batch_, "N", "Samples a forward pass; 0: from the memory budget");
    flags.value("--memory", memory_, "BYTES", "Memory budget above the model, e.g. 2GiB");
    flags.value("--max-positions", max_positions_, "N", "Most tokens a sample may feed; longer cells are skipped");
    exec_.define(flags);
    flags.flag("--allow-nonfinite", allow_nonfinite_, "Exit 0 even if logits were not finite");
    flags.flag("--dry-run", dry_run_, "Print the cells and stop; the model is not loaded");
    flags.flag("--quiet", quiet_, "No progress and no notes on standard error");
    flags.flag("--json-progress", json_progress_, "Progress as JSON lines on standard error");
    flags.flag("--json", json_, "Print the Records as JSON lines in place of the table");
  }

  // More than one value after --text: a list must not swallow CKPT, so the rest arrives as positional arguments.
  bool takes_extra() const override { return true; }

  int run(const Parsed& parsed) override {
    const std::vector<std::string>& extra = parsed.extra;
    if (!extra.empty() && files_.empty()) {
      throw Error("'run' does not expect '" + extra.front() + "' after the checkpoint; see 'lenbench run --help'");
    }
    files_.insert(files_.end(), extra.begin(), extra.end());
    if (split_sequence_) {
      if (!data_.empty()) require_regular(data_, "--data");
      for (const std::string& file : files_) require_regular(file, "--text");
    }
    require_values(parsed, {{"--transform", transform_}, {"--alpha", alpha_}, {"--rope-scaling", rope_scaling_}});
    SessionRequest request = read_request(parsed);
    request.choice = choice(parsed);
    if (probe_.empty() && !request.choice.is_checkpoint()) request.run.probe = ProbeRows::kNone;
    if (split_sequence_) require_splittable(request);
    if (dry_run_) {
      if (json_) throw Error("--dry-run prints no Records: leave --json out");
      print_out(dry_run_text(request, describe_unloaded(request.choice, request.open)));
      return 0;
    }
    return run_session(request);
  }

 private:
  // Found once, when it is first asked for: finding it hashes a checkpoint, and its training length starts a program.
  const ModelChoice& choice(const Parsed& parsed) {
    if (!choice_) {
      choice_ = choose_model(model_, exec_.read(parsed, model_,
                                                {"--probe", "--device", "--dtype", "--threads", "--attention-path",
                                                 "--transform", "--alpha", "--rope-scaling", "--memory"}));
    }
    return *choice_;
  }

  // A pipe gives its bytes to one of the ranks only.
  static void require_regular(const std::string& path, const char* flag) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored) || std::filesystem::is_regular_file(path, ignored)) return;
    throw Error(
        fmt::format("{} '{}' is no regular file, and every rank of --split-sequence reads it: write it to a file", flag,
                    printable(path)));
  }

  SessionRequest read_request(const Parsed& parsed) {
    SessionRequest request;
    PlanRequest& plan = request.plan;
    if (parsed.has("--data")) {
      add_data(parsed, plan);
    } else {
      std::vector<std::string> tasks = parse_task_list(tasks_);
      if (tasks.empty()) tasks = {files_.empty() ? "recall" : "text"};
      plan.lengths = parse_length_list({"64..4096"});
      add_tasks(tasks, plan);
    }
    if (!lengths_.empty()) plan.lengths = parse_length_list(with_train_length(parsed, lengths_));
    plan.samples_at = samples_per_length(plan.lengths, samples_, samples_at_);
    if (!parsed.has("--data")) {
      plan.data_seeds = read_seeds();
      plan.split = parse_split(split_);
    }
    plan.max_positions = max_positions_.empty() ? 0 : parse_at_least(max_positions_, "--max-positions", 1);
    if (!probe_.empty()) require_one_of(probe_, "--probe", probe_rows_names());
    request.run.probe = probe_.empty() ? ProbeRows::kAnswer : parse_probe_rows(probe_);
    request.run.batch = parse_at_least(batch_, "--batch", 0);
    request.run.memory_bytes = memory_.empty() ? 0 : parse_bytes(memory_, "--memory");
    request.open.device = parse_device(device_);
    require_one_of(attention_path_, "--attention-path", {"auto", "reference", "streaming"});
    request.open.dtype = parse_dtype(dtype_, device_);
    request.open.attention_path = attention_path_;
    request.open.transform = transform_;
    request.open.alpha = alpha_;
    request.open.rope_scaling = rope_scaling_;
    request.open.threads = parse_threads(threads_);
    request.has_output = parsed.has("--output");
    request.output = output_;
    request.jobs = parse_jobs(jobs_);
    request.split_sequence = split_sequence_;
    if (parsed.has("--shard")) {
      request.shard = parse_shard(shard_);
      if (!request.has_output) throw Error("--shard needs -o FILE: its Records are parts, for 'lenbench merge'");
    }
    if (overwrite_ && !request.has_output) throw Error("--overwrite needs -o FILE");
    request.overwrite = overwrite_;
    request.progress = choose_progress(quiet_, json_progress_);
    request.json = json_;
    request.allow_nonfinite = allow_nonfinite_;
    return request;
  }

  std::vector<std::uint64_t> read_seeds() const {
    std::vector<std::uint64_t> seeds;
    for (const std::string& text : split(seed_, ',')) {
      const std::uint64_t seed = parse_uint(text, "--seed");
      if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
        throw Error("--seed names " + text + " twice; name each seed once");
      }
      seeds.push_back(seed);
    }
    return seeds;
  }

  // A file has its own task, lengths, seed and split.
  void add_data(const Parsed& parsed, PlanRequest& plan) const {
    for (const char* flag : {"--tasks", "--text", "--seed", "--split"}) {
      if (parsed.has(flag)) throw Error(std::string(flag) + " has no meaning with --data: the file says what is asked");
    }
    const SampleFile file = read_sample_file(read_file(data_), printable(data_));
    plan.tasks = {file.task};
    plan.lengths = file.lengths;
    plan.data_seeds = {file.seed};
    plan.split = file.split;
  }

  // 'train' as the number that the checkpoint names.
  std::vector<std::string> with_train_length(const Parsed& parsed, std::vector<std::string> texts) {
    constexpr std::string_view kTrain = "train";
    for (std::string& text : texts) {
      for (std::size_t at = text.find(kTrain); at != std::string::npos; at = text.find(kTrain, at)) {
        const std::int64_t length = describe_unloaded(choice(parsed), {}).train_length;
        if (length == 0) throw Error("--lengths names 'train', and '" + model_ + "' does not say its training length");
        text.replace(at, kTrain.size(), std::to_string(length));
      }
    }
    return texts;
  }

  void add_tasks(const std::vector<std::string>& texts, PlanRequest& plan) const {
    bool any_text = false;
    for (const std::string& text : texts) {
      const TaskSpec spec = parse_task_spec(text);
      const bool is_text = task_needs_documents(spec.name);
      const TaskResources resources = resources_for(spec.name, is_text ? files_ : std::vector<std::string>{});
      if (is_text) plan.documents_sha256 = documents_sha256(resources);
      any_text = any_text || is_text;
      plan.tasks.push_back(make_task(spec, resources));
    }
    if (!files_.empty() && !any_text)
      throw Error("--text is only for the task 'text' and others on documents; add one to --tasks");
  }

  std::string model_, samples_ = "200", output_, seed_ = "0", split_ = "test", probe_, device_ = "cpu";
  std::string dtype_ = "float32", threads_ = "0", attention_path_ = "auto", batch_ = "0", memory_;
  std::string transform_, alpha_, rope_scaling_;
  std::string max_positions_, data_, shard_, jobs_ = "1";
  std::vector<std::string> tasks_, lengths_, samples_at_, files_;
  std::optional<ModelChoice> choice_;
  bool overwrite_ = false, allow_nonfinite_ = false, dry_run_ = false, json_ = false, split_sequence_ = false;
  bool quiet_ = false, json_progress_ = false;
  ExecFlags exec_;
};

}  // namespace

CommandEntry run_command() {
  return {
      "run", "Ask a model at growing lengths and print accuracy beside attention dispersion",
      "lenbench run oracle:512 --tasks recall --lengths 64..2048 --samples 50\n"
      "lenbench run recall-asentmax-nape --tasks recall --lengths 64..65536 --samples 200 \\\n"
      "    --samples-at 16384=32,65536=8 -o out.jsonl\n"
      "lenbench run path/to/checkpoint --tasks recall:density=4,mqmtar --lengths 64,96,128 --dry-run\n"
      "lenbench run path/to/llama --rope-scaling yarn:factor=4 --lengths 64..4096 -o out.jsonl\n"
      "lenbench run path/to/checkpoint --lengths 1024 --text book.txt letters.txt\n"
      "lenbench run recall-asentmax-nape --lengths 1024,65536 --probe prefix -o rows.jsonl    # one pass, all lengths\n"
      "lenbench run recall-asentmax-nape --lengths around:64..4096,around:train    # one less and one more as well\n"
      "lenbench run 'exec:python my_model.py' --lengths 64..4096 --exec-timeout 10m -o mine.jsonl\n"
      "lenbench run my_checkpoint --lengths 262144 --jobs 2 --split-sequence    # one text over both processes\n"
      "lenbench run my_checkpoint --lengths 64..65536 --shard 2/8 -o part2.jsonl    # then: lenbench merge "
      "part*.jsonl\n"
      "lenbench gen recall --length 256 --n 50 > set.jsonl && lenbench run oracle --data set.jsonl",
      [] { return std::unique_ptr<Command>(std::make_unique<Run>()); }, "checkpoints"};
}

}  // namespace lenbench::cli
