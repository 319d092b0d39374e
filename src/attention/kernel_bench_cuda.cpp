// What is timed on a CUDA device. Letters: T tokens, D head size; heads are [1, 1, T, D].
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <fmt/format.h>

#include "attention/attend.h"
#include "attention/kernel_bench.h"

namespace lenbench {
namespace {

AttendRequest request_of(const BenchInput& input, bool softmax) {
  AttendRequest request;
  const auto head = [](const at::Tensor& x_TD) { return x_TD.contiguous().unsqueeze(0).unsqueeze(0); };
  request.q_BHQD = head(input.q_TD);
  request.k_BGKD = head(input.k_TD);
  request.v_BGKD = head(input.v_TD);
  request.positions_BQ = at::arange(input.q_TD.size(0), input.q_TD.options().dtype(at::kLong)).unsqueeze(0);
  request.slopes = {input.slope};
  request.normalizer.kind = softmax ? Normalizer::Kind::kSoftmax : Normalizer::Kind::kEntmax;
  request.normalizer.alpha = softmax ? 1 : input.alpha;
  request.path = AttentionPath::kStreaming;
  return request;
}

// The support, and with values of 1 how far the weights of a row are from summing to 1.
void describe(AttendRequest request, KernelTiming& timing) {
  std::vector<HeadStats> stats(1);
  request.stats = &stats;
  request.v_BGKD = at::ones_like(request.v_BGKD);
  timing.sum_error = (attend(request) - 1.0).abs().max().item<double>();
  timing.mean_support = stats[0].support / static_cast<double>(stats[0].rows);
}

}  // namespace

std::vector<Contestant> cuda_contestants(const BenchInput& input) {
  const auto wait = [device = input.q_TD.device().index()] { at::detail::getCUDAHooks().deviceSynchronize(device); };
  const AttendRequest softmax = request_of(input, true), entmax = request_of(input, false);
  const auto fused = [&](const std::string& name, at::ScalarType type) {
    return Contestant{name,
                      [q = softmax.q_BHQD.to(type), k = softmax.k_BGKD.to(type), v = softmax.v_BGKD.to(type), wait] {
                        at::scaled_dot_product_attention(q, k, v, {}, 0.0, true);
                        wait();
                      },
                      {}};
  };
  const auto ours = [&](const std::string& name, const AttendRequest& request) {
    return Contestant{name,
                      [request, wait] {
                        attend(request);
                        wait();
                      },
                      [request](KernelTiming& timing) { describe(request, timing); }};
  };
  return {fused("sdpa float32", at::kFloat), fused("sdpa bfloat16", at::kBFloat16), ours("lenbench softmax", softmax),
          ours(fmt::format("lenbench entmax {:g}", input.alpha), entmax)};
}

}  // namespace lenbench
