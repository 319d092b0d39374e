// The factory of everything that needs torch.
#include "bench/backend.h"

#include <torch/version.h>

#include "base/error.h"
#include "model/predictor.h"
#include "model/verify.h"
#include "train/trainer.h"

namespace lenbench {
namespace {

class TorchBackend : public Backend {
 public:
  std::string torch_version() const override { return TORCH_VERSION; }

  std::unique_ptr<Predictor> open(const std::string& checkpoint_path, const OpenOptions& options) override {
    return open_predictor(checkpoint_path, options);
  }

  void train(const TrainOptions& options, const std::function<void(const TrainProgress&)>& progress) override {
    train_recipe(options, progress);
  }

  VerifyResult verify(const std::string& checkpoint_path, const std::string& expected_path,
                      const std::string& attention_path, const OpenOptions& options) override {
    return verify_checkpoint(checkpoint_path, expected_path, attention_path, options);
  }
};

}  // namespace
}  // namespace lenbench

extern "C" __attribute__((visibility("default"))) lenbench::Backend* lenbench_open_backend(int abi) {
  return abi == lenbench::kBackendAbi ? new lenbench::TorchBackend : nullptr;
}
