// The factory of everything that needs torch.
#include "bench/backend.h"

#include <torch/version.h>

#include "base/error.h"
#include "c10d/store.h"
#include "checkpoint/torch_file.h"
#include "model/model_bench.h"
#include "model/predictor.h"
#include "model/torchscript.h"
#include "model/verify.h"
#include "train/trainer.h"

namespace lenbench {
namespace {

class TorchBackend : public Backend {
 public:
  std::string torch_version() const override { return TORCH_VERSION; }

  std::unique_ptr<Predictor> open(const std::string& checkpoint_path, const OpenOptions& options) override {
    if (torch_file_kind(checkpoint_path) == TorchFile::kScript) {
      if (options.split.world > 1) throw Error("a TorchScript module does not show how to split a sequence over ranks");
      return open_torchscript(checkpoint_path, options);
    }
    return open_predictor(checkpoint_path, options);
  }

  bool follow(const std::string& checkpoint_path, const OpenOptions& options, const std::atomic<bool>* stop) override {
    return follow_predictor(checkpoint_path, options, stop);
  }

  void train(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress) override {
    train_recipe(options, progress);
  }

  VerifyResult verify(const std::string& checkpoint_path, const std::string& expected_path,
                      const std::string& attention_path, const OpenOptions& options) override {
    return verify_checkpoint(checkpoint_path, expected_path, attention_path, options);
  }

  std::vector<KernelTiming> time_kernels(const KernelBenchOptions& options,
                                         const std::function<void(const std::string&)>& progress) override {
    return lenbench::time_kernels(options, progress);
  }

  EndToEndTiming time_model(const std::string& checkpoint_path, const Sample& sample, const OpenOptions& options,
                            std::int64_t repeats) override {
    return lenbench::time_model(checkpoint_path, sample, options, repeats);
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
