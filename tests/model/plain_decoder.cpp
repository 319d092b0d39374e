// The plain decoder: one token, one head, one number at a time.
#include "plain_decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lenbench {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

Row times_matrix(const Row& x, const std::vector<double>& matrix, std::size_t outputs) {
  Row y(outputs, 0.0);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += matrix[o * x.size() + i] * x[i];
  }
  return y;
}

Row rms_normed(const Row& x, const std::vector<double>& weight, double eps) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  const double rms = std::sqrt(sum / static_cast<double>(x.size()) + eps);
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / rms * (1 + weight[i]);
  return y;
}

void add_to(Row& x, const Row& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

// Half-split rotation: element i pairs with i + D/2, angle position * base^(-2i/D).
Row rotated(const Row& x, std::size_t position, double base) {
  const std::size_t half = x.size() / 2;
  Row y(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    const double angle =
        static_cast<double>(position) * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(x.size()));
    y[i] = x[i] * std::cos(angle) - x[i + half] * std::sin(angle);
    y[i + half] = x[i + half] * std::cos(angle) + x[i] * std::sin(angle);
  }
  return y;
}

Row softmax(const Row& z, double factor = 1) {
  const double top = *std::max_element(z.begin(), z.end());
  Row p;
  double sum = 0;
  for (const double value : z) {
    p.push_back(std::exp(factor * (value - top)));
    sum += p.back();
  }
  for (double& value : p) value /= sum;
  return p;
}

// Bisection on the threshold for 200 steps.
Row entmax(const Row& z, double alpha) {
  const double top = *std::max_element(z.begin(), z.end());
  double low = (alpha - 1) * top - 1, high = (alpha - 1) * top;
  Row p(z.size());
  for (int step = 0; step < 200; ++step) {
    const double tau = (low + high) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double excess = (alpha - 1) * z[i] - tau;
      p[i] = excess > 0 ? std::pow(excess, 1 / (alpha - 1)) : 0;
      sum += p[i];
    }
    (sum >= 1 ? low : high) = tau;
  }
  return p;
}

double entropy_of(const Row& p) {
  double entropy = 0;
  for (const double value : p) entropy -= value > 0 ? value * std::log(value) : 0;
  return entropy;
}

Row adaptive_softmax(const Row& z) {
  const double h = entropy_of(softmax(z));
  const double polynomial = -0.037 * std::pow(h, 4) + 0.481 * std::pow(h, 3) - 2.3 * h * h + 4.917 * h - 1.791;
  return softmax(z, h > 0.5 ? std::max(polynomial, 1.0) : 1.0);
}

// Exactly K keys stay; among equal scores the earlier one.
Row topk_softmax(const Row& z, std::size_t k) {
  std::vector<std::size_t> order(z.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return z[a] > z[b]; });
  order.resize(std::min(k, order.size()));
  Row kept;
  for (const std::size_t j : order) kept.push_back(z[j]);
  const Row kept_p = softmax(kept);
  Row p(z.size(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i) p[order[i]] = kept_p[i];
  return p;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What the scores of scaled head `s` are multiplied by for the query at `position`, block input `h`.
double length_scale(const DecoderConfig& config, const PlainWeights& weights, const std::string& attention,
                    std::size_t s, std::size_t position, const Row& h) {
  const double log_n = std::log(static_cast<double>(position) + 2);
  const auto value = [&](const std::string& name) { return weights.at(attention + name)[s]; };
  const std::string& type = config.attn_scale_type;
  if (type == "nakanishi") return value("attn_scale_beta") * log_n;
  if (type == "learn") {
    return config.attn_scale_delta + value("attn_scale_beta") * std::pow(log_n, value("attn_scale_gamma"));
  }
  if (type == "theta") return std::exp(-value("attn_scale_log_theta"));
  if (type != "adapt-softplus-tanh") return 1;
  const auto projected = [&](const std::string& name) {
    double sum = config.attn_scale_proj_bias ? weights.at(attention + name + ".bias")[s] : 0;
    for (std::size_t i = 0; i < h.size(); ++i) sum += weights.at(attention + name + ".weight")[s * h.size() + i] * h[i];
    return sum;
  };
  const double beta = std::log1p(std::exp(projected("attn_scale_beta_proj")));
  const double gamma = config.attn_scale_gamma_range * std::tanh(projected("attn_scale_gamma_proj"));
  return config.attn_scale_delta + beta * std::pow(log_n, gamma);
}

}  // namespace

PlainResult plain_forward(const DecoderConfig& config, const PlainWeights& weights,
                          const std::vector<std::int32_t>& tokens) {
  const auto width = static_cast<std::size_t>(config.hidden_size),
             inner = static_cast<std::size_t>(config.intermediate_size);
  const auto heads = static_cast<std::size_t>(config.num_heads), dim = static_cast<std::size_t>(config.head_dim);
  const auto groups = static_cast<std::size_t>(config.num_kv_heads),
             vocab = static_cast<std::size_t>(config.vocab_size);
  const std::size_t first_scaled = heads - static_cast<std::size_t>(config.num_scaled_heads());
  const std::vector<double> slopes = alibi_slopes(config);
  const double eps = config.norm_eps;
  const std::vector<double>& embedding = weights.at("model.embed_tokens.weight");

  Rows x;
  for (const std::int32_t token : tokens) {
    Row row(width);
    for (std::size_t i = 0; i < width; ++i) {
      row[i] = embedding[static_cast<std::size_t>(token) * width + i] * std::sqrt(static_cast<double>(width));
    }
    x.push_back(row);
  }

  PlainResult result;
  for (std::int64_t l = 0; l < config.num_layers; ++l) {
    const std::string layer = "model.layers." + std::to_string(l) + ".", attention = layer + "self_attn.";
    const auto get = [&](const std::string& name) -> const std::vector<double>& {
      return weights.at(layer + name + ".weight");
    };
    Rows normed, keys, values, attended(x.size(), Row(heads * dim));
    for (const Row& row : x) {
      normed.push_back(rms_normed(row, get("input_layernorm"), eps));
      keys.push_back(times_matrix(normed.back(), get("self_attn.k_proj"), groups * dim));
      values.push_back(times_matrix(normed.back(), get("self_attn.v_proj"), groups * dim));
    }
    result.entropy.emplace_back(heads);
    result.support.emplace_back(heads);
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t group = h / (heads / groups);
      const double alpha =
          config.alpha_learnable ? 1 + sigmoid(weights.at(attention + "entmax_alpha_logit")[h]) : config.entmax_alpha;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const Row all_queries = times_matrix(normed[i], get("self_attn.q_proj"), heads * dim);
        Row q(all_queries.begin() + static_cast<std::ptrdiff_t>(h * dim),
              all_queries.begin() + static_cast<std::ptrdiff_t>((h + 1) * dim));
        if (config.positions == "rope") q = rotated(q, i, config.rope_theta);
        const double scale =
            h < first_scaled ? 1 : length_scale(config, weights, attention, h - first_scaled, i, normed[i]);
        Row scores;
        for (std::size_t j = 0; j <= i; ++j) {
          Row k(keys[j].begin() + static_cast<std::ptrdiff_t>(group * dim),
                keys[j].begin() + static_cast<std::ptrdiff_t>((group + 1) * dim));
          if (config.positions == "rope") k = rotated(k, j, config.rope_theta);
          double dot = 0;
          for (std::size_t d = 0; d < dim; ++d) dot += q[d] * k[d];
          scores.push_back(scale * dot / std::sqrt(static_cast<double>(dim)) - slopes[h] * static_cast<double>(i - j));
        }
        const Row p = config.topk_size > 0          ? topk_softmax(scores, static_cast<std::size_t>(config.topk_size))
                      : config.adaptive_temperature ? adaptive_softmax(scores)
                      : alpha > 1                   ? entmax(scores, alpha)
                                                    : softmax(scores);
        int support = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          support += p[j] > 0;
          for (std::size_t d = 0; d < dim; ++d) attended[i][h * dim + d] += p[j] * values[j][group * dim + d];
        }
        result.entropy.back()[h].push_back(entropy_of(p));
        result.support.back()[h].push_back(support);
      }
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      add_to(x[i], rms_normed(times_matrix(attended[i], get("self_attn.o_proj"), width),
                              get("post_attention_layernorm"), eps));
      const Row mlp_input = rms_normed(x[i], get("pre_feedforward_layernorm"), eps);
      const Row gate = times_matrix(mlp_input, get("mlp.gate_proj"), inner);
      Row up = times_matrix(mlp_input, get("mlp.up_proj"), inner);
      for (std::size_t m = 0; m < inner; ++m) up[m] *= gelu_tanh(gate[m]);
      add_to(x[i], rms_normed(times_matrix(up, get("mlp.down_proj"), width), get("post_feedforward_layernorm"), eps));
    }
  }
  const std::vector<double>& head = config.tie_word_embeddings ? embedding : weights.at("lm_head.weight");
  for (const Row& row : x) {
    result.logits.push_back(times_matrix(rms_normed(row, weights.at("model.norm.weight"), eps), head, vocab));
  }
  return result;
}

}  // namespace lenbench
