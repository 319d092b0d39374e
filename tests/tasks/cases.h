// The tasks and variants that every law is tested on, and small helpers on samples.
#pragma once

#include <cctype>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tasks/catalog.h"

namespace lenbench::testing_tasks {

// A specification, whether it is random (false: enumerates documents), and whether every sample of one length feeds the
// same number of tokens.
struct TaskCase {
  std::string spec;
  bool random = true;
  bool fixed_size = true;
};
inline void PrintTo(const TaskCase& task_case, std::ostream* out) { *out << task_case.spec; }

// Letters, digits and underscores only, as names of tests must be.
inline std::string identifier(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}
// The name of a test over cases that have a specification.
struct CaseName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return identifier(info.param.spec);
  }
};

inline const std::vector<TaskCase>& task_cases() {
  static const std::vector<TaskCase> cases = {
      {"recall"},
      {"recall:repeat=true"},
      {"recall:density=2,filler=1,keys=4096,queries=32,values=3"},
      {"recall:max-distance=64,min-distance=16"},
      {"recall-dense"},
      {"recall-dense:density=3,pairs=5,symbols=4"},
      {"mqmtar"},
      {"mqmtar:queries=7,queries-with=distinct"},
      {"mqmtar:fill=exact"},
      {"mqmtar:slots=training", true, false},
      {"mqmtar:fill=exact,queries-with=distinct,slots=training"},
      {"copy"},
      {"reverse"},
      {"sort"},
      {"sort:symbols=1000"},
      {"nback"},
      {"nback:n=5,symbols=4"},
      {"local-count", true, false},
      {"local-count:max-reps=5,symbols=2", true, false},
      {"flip-flop"},
      {"flip-flop:write=80"},
      {"parity"},
      {"max-retrieval"},
      {"niah-ids"},
      {"niah-ids:depth=50,haystack=essay"},
      {"niah-ids:haystack=essay,kind=multi-key"},
      {"niah-ids:depth=100,haystack=needles,kind=multi-key"},
      {"niah-ids:haystack=essay,kind=multi-value"},
      {"niah-ids:haystack=needles,keys=6,kind=multi-query"},
      {"niah-ids:haystack=essay,value-symbols=22"},
      {"niah-ids:haystack=needles,key-symbols=16,value-symbols=22"},
      {"niah-ids:max-distance=40,min-distance=20"},
      {"niah-ids:haystack=essay,kind=multi-key,max-distance=64"},
      {"niah-ids:haystack=needles,min-distance=50"},
      {"text", false},
      {"text:bos=document", false},
      {"text:bos=none,convention=sliding", false},
      {"text:convention=second-half", false},
      {"text:bos=none,convention=last-token,stride=5", false},
      {"text:fit=middle", false},
      {"text:convention=last-token,fit=tail", false},
      {"mqar"},
      {"mqar:fill=random,pairs=8,vocab=64"},
      {"mqar:gap=uniform"},
      {"even-pairs"},
      {"cycle-navigation"},
      {"missing-duplicate"},
      {"odds-first"},
      {"duplicate-string"},
      {"bucket-sort"},
      {"stack-manipulation"},
      {"modular-arithmetic"},
      {"modular-arithmetic-brackets"},
      {"modular-arithmetic-brackets:multiply=false"},
      {"solve-equation"},
      {"binary-addition"},
      {"binary-multiplication"},
      {"compute-sqrt"},
      {"niah-bytes"},
      {"niah-bytes:depth=50,kind=single-2"},
      {"niah-bytes:kind=single-3"},
      {"niah-bytes:depth=0,kind=multikey-1"},
      {"niah-bytes:kind=multikey-2"},
      {"niah-bytes:depth=100,kind=multikey-3"},
      {"niah-bytes:kind=multivalue"},
      {"niah-bytes:kind=multiquery"},
      {"niah-bytes:max-distance=500,min-distance=100"},
      {"niah-bytes:kind=multikey-1,max-distance=400"},
      {"niah-bytes:kind=multikey-2,max-distance=300"},
      {"variable-tracking"},
      {"variable-tracking:chains=3,hops=2,tokens=bytes"},
      {"variable-tracking:max-distance=100,min-distance=30"},
      {"common-words"},
      {"common-words:common=3,tokens=bytes"},
      {"frequent-words"},
      {"frequent-words:tokens=bytes"},
  };
  return cases;
}

// Letters without a pattern, so that a window stands at one place only.
inline std::string letters(std::size_t count, std::uint64_t stream) {
  Rng rng(7, stream);
  std::string text;
  while (text.size() < count) text.push_back(static_cast<char>('a' + rng.below(26)));
  return text;
}

inline TaskResources documents() {
  return {{{"long", letters(140001, 1)}, {"short", letters(1000, 2)}, {"tiny", "ab\xc3\xa9."}}};
}

inline std::unique_ptr<Task> make(const std::string& spec) { return make_task(parse_task_spec(spec), documents()); }

// The sample at `index`, modulo the number there is.
inline Sample draw(const Task& task, std::int64_t length, std::uint64_t index, std::uint64_t seed = 0,
                   Split split = Split::kTest) {
  const std::uint64_t available = task.available(length);
  return task.draw({length, available == 0 ? index : index % available, seed, split});
}

inline std::vector<std::int64_t> positions_of(const Sample& sample) {
  std::vector<std::int64_t> positions;
  for (const ScoredToken& scored : sample.scored) positions.push_back(scored.position);
  return positions;
}

inline std::vector<std::int32_t> targets_of(const Sample& sample) {
  std::vector<std::int32_t> targets;
  for (const ScoredToken& scored : sample.scored) targets.push_back(scored.target);
  return targets;
}

}  // namespace lenbench::testing_tasks
