// Flags of models that are programs, and what `inspect` says of one.
#include "cli/exec_flags.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/flags.h"

namespace lenbench::cli {

void ExecFlags::define(FlagSet& flags) {
  flags.value("--exec-start-timeout", start_, "TIME", "exec: longest time until the program says hello");
  flags.value("--exec-timeout", answer_, "TIME", "exec: longest time for one answer, e.g. 90s, 30m, 2h");
}

ExecLimits ExecFlags::read(const Parsed& parsed, const std::string& model,
                           const std::vector<const char*>& for_checkpoints) const {
  if (!is_exec(model)) {
    for (const char* flag : {"--exec-start-timeout", "--exec-timeout"}) {
      if (parsed.has(flag)) throw Error(std::string(flag) + " is for models written as 'exec:COMMAND'");
    }
    return {};
  }
  for (const char* flag : for_checkpoints) {
    if (parsed.has(flag)) {
      throw Error(std::string(flag) + " is for checkpoints; a program computes as it likes: give its own flags in '" +
                  printable(model) + "'");
    }
  }
  return {.start_seconds = parse_seconds(start_, "--exec-start-timeout"),
          .answer_seconds = parse_seconds(answer_, "--exec-timeout")};
}

std::string program_text(const ExecModel& model) {
  const ExecHello& hello = model.hello();
  const auto known = [](std::int64_t value, const char* unknown) {
    return value > 0 ? std::to_string(value) : std::string(unknown);
  };
  std::string text = fmt::format("{}\nsha256 {} (of command, name and hash)\n", printable(model.info().name),
                                 model.info().checkpoint_sha256);
  text += fmt::format("command: {}\n", printable(model.command()));
  text += fmt::format("hash: {}\n",
                      hello.hash.empty() ? "none given: a changed program is not noticed" : printable(hello.hash));
  text += fmt::format("vocabulary {}, tokens of a sample {}, samples of a request {}\n", known(hello.vocab_size, "any"),
                      known(hello.max_tokens, "any"), known(hello.max_batch, "any"));
  text += fmt::format("nats {}\n", hello.nats ? "yes" : "no: perplexity cannot be measured");
  if (hello.num_parameters > 0) text += fmt::format("{} parameters\n", hello.num_parameters);
  if (hello.train_length > 0) text += fmt::format("trained at up to {} tokens\n", hello.train_length);
  for (const auto& [name, value] : {std::pair{"transform", &hello.transform}, std::pair{"positions", &hello.positions},
                                    std::pair{"dtype", &hello.dtype}, std::pair{"device", &hello.device}}) {
    if (!value->empty()) text += fmt::format("{} {}\n", name, printable(*value));
  }
  return text;
}

std::string program_json(const ExecModel& model) {
  nlohmann::ordered_json out;
  out["name"] = model.info().name;
  out["sha256"] = model.info().checkpoint_sha256;
  out["command"] = model.command();
  out["hello"] = parse_json(hello_json(model.hello()), "hello");
  return dump_json(out) + "\n";
}

}  // namespace lenbench::cli
