// The same checkpoint natively and as a program: a decoder written once more in numpy, behind the shipped adapter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/bundled.h"
#include "cli/program.h"

namespace lenbench::cli_test {
namespace {

using nlohmann::json;

// A Python that has numpy; empty: none.
std::string python_with_numpy() {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) == 0) return python;
  }
  return "";
}

std::vector<json> records(const std::string& model, const std::vector<std::string>& more) {
  const Outcome outcome = Child(with({"run", model, "--quiet", "--json"}, more), bundled()).wait(600);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<json> all;
  for (const std::string& line : lines_of(outcome.out)) all.push_back(json::parse(line));
  return all;
}

struct Both {
  std::vector<json> native, exec;
};

// Records of a bundled checkpoint asked `what`, natively and as a program.
Both both(const std::string& python, const std::string& checkpoint, const std::vector<std::string>& what) {
  std::vector<std::string> native_words = what;
  native_words.insert(native_words.end(), {"--probe", "none", "--threads", "1"});
  const std::string program = "exec:" + python + " " + LENBENCH_TEST_DATA +
                              "/exec/numpy_decoder.py " LENBENCH_PYTHON " " LENBENCH_RESULTS "/checkpoints/" +
                              checkpoint;
  return {records(checkpoint, native_words), records(program, what)};
}

TEST(ExecParity, RecordsAreThoseOfTheNativePathFrom64To4096) {
  const std::string python = python_with_numpy();
  if (python.empty()) GTEST_SKIP() << "numpy is not installed (python3-numpy)";
  const auto [native, exec] =
      both(python, "recall-softmax-nape", {"--tasks", "recall", "--lengths", "64..4096", "--samples", "4,4,4,4,2,1,1"});
  ASSERT_EQ(native.size(), 7U);
  ASSERT_EQ(exec.size(), native.size());
  for (std::size_t i = 0; i < native.size(); ++i) {
    json a = native[i], b = exec[i];
    for (json* record : {&a, &b}) {
      for (const char* key : {"subject", "setting"}) record->erase(key);
      for (const char* key : {"seconds", "peak_bytes"}) (*record)["measurement"].erase(key);
    }
    EXPECT_EQ(a, b) << native[i]["question"]["length"];
  }
}

TEST(ExecParity, PerplexityAgreesWithTheNativePath) {
  const std::string python = python_with_numpy();
  if (python.empty()) GTEST_SKIP() << "numpy is not installed (python3-numpy)";
  const auto [native, exec] =
      both(python, "lm-softmax-nape", {"--tasks", "text", "--lengths", "64,512", "--samples", "3"});
  ASSERT_EQ(native.size(), 2U);
  ASSERT_EQ(exec.size(), native.size());
  for (std::size_t i = 0; i < native.size(); ++i) {
    EXPECT_EQ(native[i]["question"], exec[i]["question"]);
    EXPECT_EQ(native[i]["sample_tokens"], exec[i]["sample_tokens"]);
    for (std::size_t s = 0; s < native[i]["sample_nats"].size(); ++s) {
      const double nats = native[i]["sample_nats"][s];
      EXPECT_NEAR(exec[i]["sample_nats"][s].get<double>(), nats, 1e-5 * nats);
    }
  }
}

}  // namespace
}  // namespace lenbench::cli_test
