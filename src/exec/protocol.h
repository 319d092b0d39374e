// What lenbench and a program say to each other, as text: one JSON object a line. docs/exec.md is the same for authors
// of programs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/predictor.h"

namespace lenbench {

inline constexpr int kExecProtocol = 1;
inline constexpr std::size_t kMaxHelloBytes = 1 << 20;

// A program's first line: what it is and can do. All but the version of the protocol may be left out.
struct ExecHello {
  int lenbench_exec = 0;                              // version of the protocol it speaks
  std::string name;                                   // as shown in tables; empty: the command
  std::string hash;                                   // of weights and code, in any form; part of the identity
  std::int64_t vocab_size = 0, max_tokens = 0;        // of a sample; 0: any
  std::int64_t max_batch = 0;                         // most samples in one request; 0: any
  bool nats = false;                                  // answers requests for nats
  std::int64_t train_length = 0, num_parameters = 0;  // 0: not known
  std::string transform, positions, dtype, device;    // as in Records; empty: not known
  template <class Visitor, class Self>
  static void fields(Visitor&& visit, Self& self) {
    visit("lenbench_exec", self.lenbench_exec);
    visit.defaulted("name", self.name);
    visit.defaulted("hash", self.hash);
    visit.defaulted("vocab_size", self.vocab_size);
    visit.defaulted("max_tokens", self.max_tokens);
    visit.defaulted("max_batch", self.max_batch);
    visit.defaulted("nats", self.nats);
    visit.defaulted("train_length", self.train_length);
    visit.defaulted("num_parameters", self.num_parameters);
    visit.defaulted("transform", self.transform);
    visit.defaulted("positions", self.positions);
    visit.defaulted("dtype", self.dtype);
    visit.defaulted("device", self.device);
  }
  bool operator==(const ExecHello&) const = default;
};

// lenbench's first line, with its line feed.
std::string hello_request();
// Throws Error opening with `where` on anything else than a hello of this version of the protocol.
ExecHello parse_hello(std::string_view line, const std::string& where);
std::string hello_json(const ExecHello& hello);  // one line without a line feed

// `samples` as a request numbered `id`, with its line feed. Targets are in it only when `nats` are asked for.
std::string predict_request(std::int64_t id, std::span<const Sample> samples, bool nats);
// Longest answer to it that can be right.
std::size_t max_answer_bytes(std::span<const Sample> samples);

struct ExecAnswer {
  std::vector<SamplePrediction> predictions;  // one per sample; nats are 0 where none were asked for
  std::string error;                          // what the program says kept it from answering; then there are none
};
// The answer to that request; one with nats may leave out "argmax", which is then -1 throughout. Throws
// Error(kNotMeasured) opening with `where` when it is no answer to it.
ExecAnswer parse_answer(std::string_view line, std::int64_t id, std::span<const Sample> samples, bool nats,
                        std::int64_t vocab_size, const std::string& where);

}  // namespace lenbench
