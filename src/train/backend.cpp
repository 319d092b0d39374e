// The factory of everything that needs torch.
#include "bench/backend.h"

#include <c10/util/Exception.h>
#include <torch/version.h>

#include "attention/streaming.h"
#include "base/error.h"
#include "base/text.h"
#include "c10d/store.h"
#include "checkpoint/torch_file.h"
#include "model/model_bench.h"
#include "model/predictor.h"
#include "model/torchscript.h"
#include "model/verify.h"
#include "train/trainer.h"

namespace lenbench {
namespace {

// What `work` returns. Allocations of LibTorch that fail become an Error that says for what.
template <class Work>
auto within_memory(const std::string& what, const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    const std::string message = first_line(error.what_without_backtrace());
    if (!says_out_of_memory(message)) throw;
    throw Error("out of memory for " + what + ": " + message, ExitCode::kNotMeasured);
  }
}

class TorchBackend : public Backend {
 public:
  TorchBackend() { check_instruction_set(); }

  std::string torch_version() const override { return TORCH_VERSION; }

  std::unique_ptr<Predictor> open(const std::string& checkpoint_path, const OpenOptions& options) override {
    return within_memory("the weights of " + printable(checkpoint_path), [&] {
      if (torch_file_kind(checkpoint_path) != TorchFile::kScript) return open_predictor(checkpoint_path, options);
      if (options.split.world > 1) throw Error("a TorchScript module does not show how to split a sequence over ranks");
      return open_torchscript(checkpoint_path, options);
    });
  }

  bool follow(const std::string& checkpoint_path, const OpenOptions& options, const std::atomic<bool>* stop) override {
    return within_memory("the weights of " + printable(checkpoint_path),
                         [&] { return follow_predictor(checkpoint_path, options, stop); });
  }

  void train(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress) override {
    within_memory("this training", [&] { train_recipe(options, progress); });
  }

  VerifyResult verify(const std::string& checkpoint_path, const std::string& expected_path,
                      const std::string& attention_path, const OpenOptions& options) override {
    return within_memory("the weights of " + printable(checkpoint_path),
                         [&] { return verify_checkpoint(checkpoint_path, expected_path, attention_path, options); });
  }

  std::vector<KernelTiming> time_kernels(const KernelBenchOptions& options,
                                         const std::function<void(const std::string&)>& progress) override {
    return lenbench::time_kernels(options, progress);
  }

  EndToEndTiming time_model(const std::string& checkpoint_path, const Sample& sample, const OpenOptions& options,
                            std::int64_t repeats, bool beside_sdpa) override {
    return lenbench::time_model(checkpoint_path, sample, options, repeats, beside_sdpa);
  }

  std::unique_ptr<SharedStore> connect_store(const StoreAddress& address) override {
    return lenbench::connect_store(address);
  }
};

}  // namespace
}  // namespace lenbench

extern "C" __attribute__((visibility("default"))) lenbench::Backend* lenbench_open_backend(int abi) {
  return abi == lenbench::kBackendAbi ? new lenbench::TorchBackend : nullptr;
}
