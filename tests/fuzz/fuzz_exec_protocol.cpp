// What a program may say: its hello, and its answer to a request of two samples with nats and without.
#include "exec/protocol.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<lenbench::Sample> samples = [] {
    std::vector<lenbench::Sample> made(2);
    made[0].tokens = {5, 6, 7};
    made[0].scored = {{1, 7, 0, true}, {2, 3, 0, false}};
    made[1].tokens = {8};
    made[1].scored = {{0, 9, 0, false}};
    return made;
  }();
  lenbench::fuzz(data, size, [](std::string_view bytes) {
    const lenbench::ExecHello hello = lenbench::parse_hello(bytes, "it ");
    if (lenbench::parse_hello(lenbench::hello_json(hello), "it ") != hello) std::abort();
  });
  for (const bool nats : {false, true}) {
    lenbench::fuzz(data, size, [&](std::string_view bytes) {
      const lenbench::ExecAnswer answer = lenbench::parse_answer(bytes, 4, samples, nats, 10, "it ");
      if (!answer.error.empty()) return;
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const lenbench::SamplePrediction& prediction = answer.predictions.at(s);
        if (prediction.argmax.size() != samples[s].scored.size() || prediction.nll.size() != samples[s].scored.size()) {
          std::abort();
        }
        for (const std::int32_t token : prediction.argmax) {
          if (token < -1 || token >= 10) std::abort();
        }
      }
    });
  }
  return 0;
}
