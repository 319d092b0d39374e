// Models that are programs, as a user runs them. Programs are small Python scripts over the shipped adapter.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

using nlohmann::json;

// A script that imports the adapter, with `body` below, and the words that run it.
std::string script(const TempFolder& folder, const std::string& body) {
  const std::string path = folder.path("model.py");
  spill(path, "import os, signal, sys, time\nsys.path.insert(0, '" LENBENCH_PYTHON
              "')\nfrom lenbench import adapter\n" +
                  body);
  return "exec:python3 " + path;
}

// Answers every row with the token that it has just read, which is right where a number is copied.
constexpr const char* kParrot =
    "def predict(samples, nats):\n"
    "    return [[s['tokens'][r] for r in s['rows']] for s in samples], [[1.5 for r in s['rows']] for s in samples]\n";

std::vector<json> records_of(const Outcome& outcome) {
  std::vector<json> records;
  for (const std::string& line : lines_of(outcome.out)) records.push_back(json::parse(line));
  return records;
}

TEST(ExecRun, MeasuresAndResumesLikeAnyModel) {
  const TempFolder folder;
  const std::string model = script(folder, std::string(kParrot) +
                                               "print('not for the protocol')\n"
                                               "adapter.take_stdout()\nprint('nor this')\n"
                                               "adapter.answer_requests(predict, {'name': 'parrot', 'nats': True})\n");
  // What is printed before the adapter takes standard output over is seen by lenbench.
  EXPECT_TRUE(refused(lenbench({"run", model, "--lengths", "64"}), 2, "wrote 'not for the protocol'"));

  const std::string quiet = script(folder, std::string(kParrot) +
                                               "adapter.take_stdout()\nprint('nor this')\n"
                                               "adapter.answer_requests(predict, {'name': 'parrot', 'nats': True})\n");
  const std::string file = folder.path("r.jsonl");
  const std::vector<std::string> words = {"run", quiet, "--tasks", "flip-flop,text", "--lengths", "64,128", "--samples",
                                          "3",   "-o",  file,      "--json"};
  const Outcome first = lenbench(words);
  ASSERT_EQ(first.code, 0) << first.err;
  const std::vector<json> records = records_of(first);
  ASSERT_EQ(records.size(), 4U);
  for (const json& record : records) {
    EXPECT_EQ(record["subject"]["name"], "parrot");
    EXPECT_EQ(record["status"], "ok");
    if (record["question"]["metric"] == "perplexity") {
      EXPECT_NEAR(record["measurement"]["perplexity"].get<double>(), std::exp(1.5), 1e-9);
    }
  }
  const Outcome second = lenbench(words);
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(second.err.find("4 of 4 cells are already in"), std::string::npos) << second.err;
  // Another program behind the same words.
  script(folder,
         std::string(kParrot) + "adapter.answer_requests(predict, {'name': 'parrot', 'nats': True, 'hash': 'b'})\n");
  EXPECT_TRUE(refused(lenbench(words), 2, "checkpoint hash differs"));
}

TEST(ExecRun, AProgramWithoutNatsIsAskedForTokensOnly) {
  const TempFolder folder;
  const std::string model =
      script(folder, std::string(kParrot) + "adapter.answer_requests(predict, {'max_tokens': 100})\n");
  EXPECT_TRUE(refused(lenbench({"run", model, "--tasks", "text", "--lengths", "64"}), 2, "gives no nats"));
  const Outcome mixed = lenbench({"run", model, "--tasks", "text,flip-flop", "--lengths", "64,128", "--json"});
  EXPECT_EQ(mixed.code, 3) << mixed.err;
  std::map<std::string, int> statuses;
  for (const json& record : records_of(mixed)) ++statuses[record["status"]];
  EXPECT_EQ(statuses["ok"], 1);
  EXPECT_EQ(statuses["failed"], 1);
  EXPECT_EQ(statuses["skipped"], 2);
}

TEST(ExecRun, EveryFailureIsARecordedReason) {
  const TempFolder folder;
  const auto reason = [&](const std::string& body, const std::vector<std::string>& more = {}) {
    const Outcome outcome = lenbench(with(
        {"run", script(folder, body), "--tasks", "flip-flop", "--lengths", "64", "--samples", "2", "--json"}, more));
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    const std::vector<json> records = records_of(outcome);
    EXPECT_EQ(records.size(), 1U);
    if (records.size() != 1) return std::string();
    EXPECT_EQ(records[0]["status"], "failed");
    return records[0]["reason"].get<std::string>();
  };
  const auto serving = [](const std::string& statements) {
    return "def predict(samples, nats):\n    " + statements +
           "\nadapter.answer_requests(predict, {'vocab_size': 16})\n";
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) == std::string::npos ? testing::AssertionFailure() << text : testing::AssertionSuccess();
  };
  EXPECT_TRUE(has(reason(serving("raise KeyError('weights')")), "could not answer: KeyError: 'weights'"));
  EXPECT_TRUE(has(reason(serving("raise MemoryError('8 GiB')")), "ran out of memory: MemoryError: 8 GiB (batch 1"));
  EXPECT_TRUE(has(reason(serving("print('bye', file=sys.stderr); os._exit(7)")),
                  "ended with exit status 7; its last lines on standard error: 'bye'"));
  EXPECT_TRUE(has(reason(serving("os.kill(os.getpid(), signal.SIGKILL)")), "signal 9 (Killed)"));
  EXPECT_TRUE(has(reason(serving("time.sleep(60)"), {"--exec-timeout", "0.3s"}), "gave no answer within 0.3 s"));
  EXPECT_TRUE(has(reason(serving("return [[1]], None")), "no list of 2 lists"));
  EXPECT_TRUE(has(reason(serving("return [[16 for r in s['rows']] for s in samples], None")), "token '16'"));
  EXPECT_TRUE(has(reason(serving("return [[None for r in s['rows']] for s in samples], None")), "non-finite logits"));
  EXPECT_TRUE(has(reason(serving("adapter._protocol_output.write('{\"id\":')\n    sys.exit(0)")), "exit status 0"));
}

TEST(ExecRun, FewerSamplesAreAskedWhenItRunsOutOfMemory) {
  const TempFolder folder;
  const std::string model = script(folder, std::string(kParrot) +
                                               "def careful(samples, nats):\n"
                                               "    if len(samples) > 2: raise MemoryError('two at most')\n"
                                               "    return predict(samples, nats)\n"
                                               "adapter.answer_requests(careful, {})\n");
  const Outcome outcome =
      lenbench({"run", model, "--tasks", "flip-flop", "--lengths", "64", "--samples", "16", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(records_of(outcome).at(0)["setting"]["batch"], 2);
}

TEST(ExecRun, FlagsOfCheckpointsAreRefusedAndThoseOfProgramsElsewhere) {
  EXPECT_TRUE(refused(lenbench({"run", "exec:true", "--dtype", "float64"}), 2, "--dtype is for checkpoints"));
  EXPECT_TRUE(refused(lenbench({"run", "exec:true", "--probe", "answer"}), 2, "--probe is for checkpoints"));
  EXPECT_TRUE(refused(lenbench({"run", "oracle", "--exec-timeout", "5s"}), 2, "--exec-timeout is for models"));
  EXPECT_TRUE(refused(lenbench({"run", "exec:true", "--exec-timeout", "5"}), 2, "--exec-timeout is '5'"));
  EXPECT_TRUE(refused(lenbench({"run", "exec:"}), 2, "has no command"));
  EXPECT_TRUE(refused(lenbench({"verify", "exec:true", "x"}), 2, "is a program without logits"));
  EXPECT_TRUE(refused(lenbench({"audit", "exec:true"}), 2, "is a program without other ways"));
  EXPECT_TRUE(refused(lenbench({"run", "exec:true", "--lengths", "64"}), 2, "ended with exit status 0"));
}

TEST(ExecRun, DryRunAndInspectShowTheHello) {
  const TempFolder folder;
  const std::string model = script(folder, std::string(kParrot) +
                                               "adapter.answer_requests(predict, {'name': 'parrot', 'hash': 'w1', "
                                               "'max_tokens': 100, 'train_length': 64, 'nats': True})\n");
  const Outcome dry = lenbench({"run", model, "--tasks", "flip-flop", "--lengths", "64,128", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_NE(dry.out.find("the model has 100 positions"), std::string::npos) << dry.out;
  const Outcome text = lenbench({"inspect", model});
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* part :
       {"parrot\n", "hash: w1", "tokens of a sample 100", "trained at up to 64 tokens", "nats yes"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  const json hello = json::parse(lenbench({"inspect", model, "--json"}).out);
  EXPECT_EQ(hello["hello"]["max_tokens"], 100);
  EXPECT_EQ(hello["command"], model.substr(5));
}

TEST(ExecCheck, ABaselineHoldsForAProgram) {
  const TempFolder folder;
  const std::string good = script(folder, std::string(kParrot) + "adapter.answer_requests(predict, {})\n");
  const std::string records = folder.path("r.jsonl"), baseline = folder.path("b.json");
  ASSERT_EQ(lenbench({"run", good, "--tasks", "copy", "--lengths", "64", "--samples", "60", "-o", records}).code, 0);
  ASSERT_EQ(
      lenbench({"run", "oracle", "--tasks", "copy", "--lengths", "64", "--samples", "60", "-o", folder.path("o.jsonl")})
          .code,
      0);
  ASSERT_EQ(lenbench({"baseline", "write", folder.path("o.jsonl"), "-o", baseline}).code, 0);
  const Outcome lost = lenbench({"check", good, "--baseline", baseline});
  EXPECT_EQ(lost.code, 1) << lost.out << lost.err;
  ASSERT_EQ(lenbench({"baseline", "write", records, "-o", folder.path("own.json")}).code, 0);
  EXPECT_EQ(lenbench({"check", good, "--baseline", folder.path("own.json")}).code, 0);
  EXPECT_EQ(lenbench({"compare", folder.path("o.jsonl"), records}).code, 0);
}

// The number that `path` holds once the program has written it.
pid_t pid_in(const std::string& path) {
  EXPECT_TRUE(wait_until([&] { return slurp(path).ends_with("\n"); }, 30)) << path;
  return static_cast<pid_t>(std::stol("0" + slurp(path)));
}

TEST(ExecRun, AKilledRunLeavesNoProcessBehind) {
  for (const int number : {SIGKILL, SIGTERM}) {
    const TempFolder folder;
    const std::string own = folder.path("own"), child = folder.path("child");
    const std::string model = script(folder,
                                     "import subprocess\n"
                                     "def write(path, pid):\n"
                                     "    open(path, 'w').write(f'{pid}\\n')\n"
                                     "write('" +
                                         own +
                                         "', os.getpid())\n"
                                         "write('" +
                                         child +
                                         "', subprocess.Popen(['sleep', '600'], start_new_session=True).pid)\n"
                                         "def predict(samples, nats): time.sleep(600)\n"
                                         "adapter.answer_requests(predict, {})\n");
    Child run({"run", model, "--tasks", "flip-flop", "--lengths", "64"});
    const pid_t first = pid_in(own), second = pid_in(child);
    ASSERT_GT(first, 1);
    ASSERT_GT(second, 1);
    run.send(number);
    if (number != SIGKILL) run.send(number);  // the second ends it at once
    run.wait();
    EXPECT_TRUE(wait_until([&] { return kill(first, 0) != 0; }, 30));
    EXPECT_TRUE(wait_until([&] { return kill(second, 0) != 0; }, 30));
  }
}

}  // namespace
}  // namespace lenbench::cli_test
