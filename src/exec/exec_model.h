// A model that is any program: `exec:COMMAND` on the command line.
#pragma once

#include <memory>
#include <string>

#include "bench/predictor.h"
#include "exec/program.h"
#include "exec/protocol.h"

namespace lenbench {

inline constexpr std::string_view kExecPrefix = "exec:";
// True for "exec:...", also with nothing behind the colon.
bool is_exec(std::string_view model);

struct ExecLimits {
  double start_seconds = 600;    // until the hello
  double answer_seconds = 1800;  // for each request
};

// Its Subject: the name of the hello, else "exec:COMMAND"; as checkpoint hash the SHA-256 over the command and the
// hello's name and hash; the rest as the hello says. A program that ended, gave no answer in time or a wrong one is
// ended; the next predict() starts it anew, and throws when its hello is then another.
class ExecModel : public Predictor {
 public:
  // `model` is "exec:COMMAND"; nothing is started. Throws Error when the command is empty.
  ExecModel(std::string model, ExecLimits limits);

  // Starts the program and reads its hello; does nothing when that was done. Throws Error.
  void start();
  const ExecHello& hello() const { return hello_; }  // after start()
  const std::string& command() const { return command_; }

  const PredictorInfo& info() const override { return info_; }  // after start()
  // Keeps whether the task measures nats, for which targets are then sent; nothing of the samples.
  void announce(const Task& task, std::span<const DrawKey> keys) override;
  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest& request,
                                        Probe* probe) override;

 private:
  ExecHello greet();
  std::vector<SamplePrediction> ask(std::span<const Sample> samples, bool nats);

  std::string model_, command_;
  ExecLimits limits_;
  std::unique_ptr<Program> program_;
  bool started_ = false;
  ExecHello hello_;
  PredictorInfo info_;
  std::int64_t requests_ = 0;
  bool wants_nats_ = false;  // of the announced task
};

}  // namespace lenbench
