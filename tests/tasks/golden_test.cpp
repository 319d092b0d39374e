// Samples never change: SHA-256 of a fixed serialisation of eight samples for every task, length and seed.
//
// Serialisation, all integers little-endian: number of tokens (8 bytes), each token (4); number of judged rows (8),
// each as position (8), target (4), answer (4), fed back (1); prompt tokens (8); number of sources (8), each (8).
// Samples follow one another in order of index. A deliberate change of a task raises its version and then this file.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "cases.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

constexpr std::uint64_t kSamples = 8;

template <class Integer>
void append(std::string& bytes, Integer value) {
  std::array<char, sizeof(Integer)> little;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    little[i] = static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff);
  }
  bytes.append(little.data(), little.size());
}

void append_sample(std::string& bytes, const Sample& sample) {
  append(bytes, static_cast<std::int64_t>(sample.tokens.size()));
  for (const std::int32_t token : sample.tokens) append(bytes, token);
  append(bytes, static_cast<std::int64_t>(sample.scored.size()));
  for (const ScoredToken& scored : sample.scored) {
    append(bytes, scored.position);
    append(bytes, scored.target);
    append(bytes, scored.answer);
    append(bytes, static_cast<std::uint8_t>(scored.fed_back ? 1 : 0));
  }
  append(bytes, sample.prompt_tokens);
  append(bytes, static_cast<std::int64_t>(sample.sources.size()));
  for (const std::int64_t source : sample.sources) append(bytes, source);
}

TEST(Golden, SamplesNeverChange) {
  nlohmann::ordered_json actual;
  for (const TaskCase& task_case : task_cases()) {
    const std::unique_ptr<Task> task = make(task_case.spec);
    for (const std::int64_t length : {std::int64_t{150}, std::int64_t{1024}, std::int64_t{65536}}) {
      if (length < task->min_length()) continue;
      for (std::uint64_t seed = 0; seed < (task_case.random ? 2U : 1U); ++seed) {
        std::string bytes;
        for (std::uint64_t i = 0; i < kSamples; ++i) append_sample(bytes, draw(*task, length, i, seed));
        const std::string name = task_case.spec + " length=" + std::to_string(length) + " seed=" + std::to_string(seed);
        actual[name] = sha256_hex(bytes);
      }
    }
  }
  const std::string path = std::string(LENBENCH_TEST_DATA) + "/golden/tasks.json";
  const nlohmann::ordered_json expected = parse_json(read_file(path), path);
  EXPECT_TRUE(actual == expected) << "the samples drawn now:\n" << actual.dump(2);
}

}  // namespace
}  // namespace lenbench
