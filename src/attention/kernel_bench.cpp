// Times ATen's fused attention, the streaming kernels and the reference path on one head.
#include "attention/kernel_bench.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>

#include "attention/attend.h"
#include "base/clock.h"
#include "kernels/attention_kernels.h"

namespace lenbench {
namespace {

constexpr std::int64_t kLongestReference = 4096;  // keys: beyond, the readable path only costs patience

// One head as the kernels take it, and what a call reports.
class KernelCall {
 public:
  KernelCall(const BenchInput& input, double alpha, std::int64_t topk, int threads)
      : q_TD_((input.q_TD * (1.0 / std::sqrt(static_cast<double>(input.q_TD.size(1))))).contiguous()),
        k_TD_(input.k_TD.contiguous()),
        v_TD_(input.v_TD.contiguous()),
        out_TD_(at::empty_like(q_TD_)),
        alpha_(static_cast<float>(alpha)),
        slope_(static_cast<float>(input.slope)),
        rows_(q_TD_.size(0)),
        entropy_(static_cast<std::size_t>(rows_)),
        sink_(entropy_),
        top_(entropy_),
        support_(static_cast<std::size_t>(rows_)) {
    for (std::int64_t i = 0; i < rows_; ++i) visible_.push_back(i + 1);
    problem_.rows = problem_.keys = rows_;
    problem_.head_size = q_TD_.size(1);
    problem_.q = view(q_TD_);
    problem_.k = view(k_TD_);
    problem_.v = view(v_TD_);
    problem_.visible = visible_.data();
    problem_.slopes = &slope_;
    problem_.alphas = &alpha_;
    problem_.topk = topk;
    problem_.threads = threads;
  }

  void run(const kernels::StreamingOptions& options = {}) {
    attend({entropy_.data(), support_.data(), sink_.data(), top_.data(), nullptr}, options);
  }

  // The output alone, as ATen's attention gives it.
  void run_without_statistics() { attend({}, {}); }

  void certify(KernelTiming& timing) {
    kernels::StreamingOptions options;
    options.certify = true;
    run(options);
    timing.certified_pairs = counters_.certified_pairs;
    timing.least_margin = static_cast<double>(counters_.least_margin);
  }

  // After a run: what it visited, and how far the weights of a row are from summing to 1 (with values of 1).
  void describe(KernelTiming& timing) {
    const auto pairs = static_cast<double>(rows_) * static_cast<double>(rows_ + 1) / 2;
    double support = 0;
    for (const std::int32_t keys : support_) support += keys;
    timing.mean_support = support / static_cast<double>(rows_);
    timing.scored_share = static_cast<double>(counters_.scored_pairs) / pairs;
    timing.screened_share = static_cast<double>(counters_.screened_pairs) / pairs;
    timing.pushes_per_row = static_cast<double>(counters_.pushed_scores) / static_cast<double>(rows_);
    const at::Tensor ones_TD = at::ones_like(v_TD_);
    problem_.v = view(ones_TD);
    run();
    timing.sum_error = (out_TD_ - 1.0).abs().max().item<double>();
    problem_.v = view(v_TD_);
  }

 private:
  void attend(const kernels::RowStats& stats, const kernels::StreamingOptions& options) {
    kernels::attend_streaming(problem_, {out_TD_.data_ptr<float>(), 0, 0, out_TD_.size(1)}, stats, options, &counters_);
  }

  static kernels::View<const float> view(const at::Tensor& x_TD) {
    return {x_TD.data_ptr<float>(), 0, 0, x_TD.size(1)};
  }

  at::Tensor q_TD_, k_TD_, v_TD_, out_TD_;
  float alpha_, slope_;
  std::int64_t rows_;
  std::vector<float> entropy_, sink_, top_;
  std::vector<std::int32_t> support_;
  std::vector<std::int64_t> visible_;
  kernels::Problem<float> problem_;
  kernels::StreamingCounters counters_;
};

// Seconds of the process, so that other work on the machine does not count, or of the clock on the wall.
double seconds_now(bool process_time) {
  if (process_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return steady_seconds();
}

std::vector<KernelTiming> timed(const std::string& input, const std::vector<Contestant>& contestants,
                                std::int64_t repeats, bool process_time, const char* instructions) {
  std::vector<KernelTiming> timings = time_side_by_side(input, contestants, repeats, process_time);
  for (KernelTiming& timing : timings) timing.instructions = instructions;
  return timings;
}

std::string sparse_name(const BenchInput& input) {
  return input.topk > 0 ? fmt::format("top-{}", input.topk) : fmt::format("entmax {:g}", input.alpha);
}

at::Tensor head_of(const at::Tensor& x_TD) { return x_TD.contiguous().unsqueeze(0).unsqueeze(0); }

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

BenchInput random_bench_input(std::int64_t length, std::int64_t head_dim, double score_std, double alpha) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  const auto draw = [&] { return at::randn({length, head_dim}, generator, at::TensorOptions(at::kFloat)); };
  BenchInput input;
  input.name = score_std > 0 ? fmt::format("std {:g}", score_std) : "all equal";
  input.q_TD = draw() * score_std;
  input.k_TD = draw();
  input.v_TD = draw();
  input.alpha = alpha;
  return input;
}

std::vector<KernelTiming> time_side_by_side(const std::string& input, const std::vector<Contestant>& contestants,
                                            std::int64_t repeats, bool process_time) {
  for (const Contestant& contestant : contestants) contestant.run();
  std::vector<std::vector<double>> seconds(contestants.size()), speed(contestants.size());
  for (std::int64_t round = 0; round < repeats; ++round) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const double start = seconds_now(process_time);
      contestants[i].run();
      seconds[i].push_back(seconds_now(process_time) - start);
      speed[i].push_back(seconds[0].back() / seconds[i].back());
    }
  }
  std::vector<KernelTiming> timings;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    KernelTiming timing;
    timing.input = input;
    timing.kernel = contestants[i].name;
    timing.clock = process_time ? "cpu" : "wall";
    timing.seconds = spread_of(seconds[i]);
    timing.speed = spread_of(speed[i]);
    if (contestants[i].describe) contestants[i].describe(timing);
    timings.push_back(timing);
  }
  return timings;
}

at::Tensor causal_sdpa(const AttendRequest& request) {
  const std::int64_t queries = request.q_BHQD.size(2), keys = request.k_BGKD.size(2);
  const bool grouped = request.q_BHQD.size(1) != request.k_BGKD.size(1);
  at::Tensor mask;
  // Few rows of a long text: ATen's causal mask would put them at its beginning.
  if (queries != keys) {
    mask = (at::arange(keys, request.positions_BQ.options()) <= request.positions_BQ.unsqueeze(-1)).unsqueeze(1);
  }
  return at::scaled_dot_product_attention(request.q_BHQD, request.k_BGKD, request.v_BGKD,
                                          mask.defined() ? std::optional(mask) : std::nullopt, 0.0, !mask.defined(),
                                          score_scale(request), grouped);
}

std::vector<KernelTiming> time_input(const BenchInput& input, std::int64_t repeats, int threads, bool certify) {
  const at::NoGradGuard no_grad;
  if (input.q_TD.is_cuda()) return timed(input.name, cuda_contestants(input), repeats, false, "CUDA");
  const at::Tensor q = head_of(input.q_TD), k = head_of(input.k_TD), v = head_of(input.v_TD);
  const at::Tensor q_half = q.to(at::kBFloat16), k_half = k.to(at::kBFloat16), v_half = v.to(at::kBFloat16);
  const auto sdpa = [](const at::Tensor& q_1, const at::Tensor& k_1, const at::Tensor& v_1) {
    at::scaled_dot_product_attention(q_1, k_1, v_1, {}, 0.0, true);
  };
  KernelCall softmax(input, 1, 0, threads), sparse(input, input.topk > 0 ? 1 : input.alpha, input.topk, threads);
  const std::string name = sparse_name(input);
  std::vector<Contestant> contestants = {
      {"sdpa float32", [&] { sdpa(q, k, v); }, {}},
      {"sdpa bfloat16", [&] { sdpa(q_half, k_half, v_half); }, {}},
      {"lenbench softmax", [&] { softmax.run(); }, [&](KernelTiming& timing) { softmax.describe(timing); }},
      {"lenbench " + name, [&] { sparse.run(); },
       [&](KernelTiming& timing) {
         sparse.describe(timing);
         if (certify) sparse.certify(timing);
       }},
      {"lenbench " + name + ", output only", [&] { sparse.run_without_statistics(); }, {}}};
  AttendRequest reference;
  if (input.q_TD.size(0) <= kLongestReference) {
    reference.q_BHQD = q;
    reference.k_BGKD = k;
    reference.v_BGKD = v;
    reference.positions_BQ = at::arange(q.size(2), at::TensorOptions().dtype(at::kLong)).unsqueeze(0);
    reference.slopes = {input.slope};
    reference.normalizer.kind = input.topk > 0 ? Normalizer::Kind::kTopK : Normalizer::Kind::kEntmax;
    reference.normalizer.alpha = input.alpha;
    reference.normalizer.topk = input.topk;
    reference.path = AttentionPath::kReference;
    contestants.push_back({"reference " + name, [&] { attend(reference); }, {}});
  }
  return timed(input.name, contestants, repeats, threads == 1, kernels::kernel_variant());
}

std::vector<KernelTiming> time_training(const BenchInput& input, std::int64_t heads, std::int64_t repeats,
                                        int threads) {
  const std::int64_t length = input.q_TD.size(0) / heads;
  const auto leaf = [&](const at::Tensor& x_TD) {
    return x_TD.reshape({1, heads, length, x_TD.size(1)}).detach().requires_grad_();
  };
  AttendRequest request;
  request.q_BHQD = leaf(input.q_TD);
  request.k_BGKD = leaf(input.k_TD);
  request.v_BGKD = leaf(input.v_TD);
  request.positions_BQ = at::arange(length, input.q_TD.options().dtype(at::kLong)).unsqueeze(0);
  const at::Tensor gradient_BHQD = at::ones_like(request.q_BHQD);
  const bool on_device = input.q_TD.is_cuda();
  const auto step = [&](const std::function<at::Tensor(const AttendRequest&)>& attention, const AttendRequest& one) {
    const torch::autograd::variable_list gradients =
        torch::autograd::grad({attention(one)}, {one.q_BHQD, one.k_BGKD, one.v_BGKD}, {gradient_BHQD});
    if (on_device) gradients[0].select(1, 0).sum().item<float>();  // waits
  };
  AttendRequest softmax = request, entmax = request, reference = request;
  for (AttendRequest* one : {&entmax, &reference}) {
    one->normalizer.kind = Normalizer::Kind::kEntmax;
    one->normalizer.alpha = input.alpha;
  }
  reference.path = AttentionPath::kReference;
  std::vector<Contestant> contestants = {{"sdpa float32", [&] { step(causal_sdpa, request); }, {}},
                                         {"lenbench softmax", [&] { step(attend, softmax); }, {}},
                                         {"lenbench " + sparse_name(input), [&] { step(attend, entmax); }, {}}};
  if (heads * length * length <= kLongestReference * kLongestReference) {
    contestants.push_back({"reference " + sparse_name(input), [&] { step(attend, reference); }, {}});
  }
  return timed(input.name, contestants, repeats, threads == 1 && !on_device,
               on_device ? "CUDA" : kernels::kernel_variant());
}

}  // namespace lenbench
