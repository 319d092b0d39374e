// Exact unconditional tests by summation over the sample space, maximized over the nuisance rate on a grid.
#include "stats/drop_tests.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace lenbench {

namespace {

constexpr double kWeakStatistic = 0.5;  // below: the p-value is above 0.3 and nobody asks how far
constexpr double kReach = 6.5;          // standard deviations summed over; what lies beyond counts as extreme

double at_least(double r, double n, double p) {
  if (r <= 0) return 1;
  if (r > n) return 0;
  if (p <= 0) return 0;
  if (p >= 1) return 1;
  return boost::math::ibeta(r, n - r + 1, p);
}

// Logarithms of the factorials up to n.
class Factorials {
 public:
  explicit Factorials(std::int64_t n) : logs_(static_cast<std::size_t>(n) + 1, 0) {
    for (std::size_t i = 2; i < logs_.size(); ++i) logs_[i] = logs_[i - 1] + std::log(static_cast<double>(i));
  }
  double log(std::int64_t i) const { return logs_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<double> logs_;
};

// P(K = k) for K binomial(n, p), any n and k at one p.
class Binomial {
 public:
  Binomial(const Factorials& factorials, double p)
      : factorials_(factorials), p_(p), log_p_(std::log(p)), log_rest_(std::log1p(-p)) {}
  double at(std::int64_t k, std::int64_t n) const {
    if (k < 0 || k > n) return 0;
    if (p_ <= 0) return k == 0 ? 1 : 0;
    if (p_ >= 1) return k == n ? 1 : 0;
    return std::exp(factorials_.log(n) - factorials_.log(k) - factorials_.log(n - k) + static_cast<double>(k) * log_p_ +
                    static_cast<double>(n - k) * log_rest_);
  }

 private:
  const Factorials& factorials_;
  double p_, log_p_, log_rest_;
};

struct Range {
  std::int64_t first = 0, last = 0;
};

// Where nearly all of a binomial(n, p) lies.
Range bulk(std::int64_t n, double p) {
  const auto size = static_cast<double>(n);
  const double spread = kReach * std::sqrt(size * p * (1 - p)) + kReach;
  return {static_cast<std::int64_t>(std::max(0.0, std::floor(size * p - spread))),
          static_cast<std::int64_t>(std::min(size, std::ceil(size * p + spread)))};
}

// What a sum over the bulk left out, as an upper bound of its part in a p-value.
double left_out(double visited) {
  constexpr double kRounding = 1e-11;
  return 1 - visited > kRounding ? 1 - visited : 0;
}

// Largest value of `p_at` over [low, high], looked at four times per standard deviation of the nuisance rate.
template <class Function>
double maximum(double low, double high, double standard_deviation, const Function& p_at) {
  constexpr int kMinSteps = 16, kMaxSteps = 96;
  const double wanted = (high - low) / (standard_deviation / 4);
  const int steps = std::clamp(static_cast<int>(std::ceil(wanted)), kMinSteps, kMaxSteps);
  double largest = 0;
  for (int i = 0; i <= steps; ++i) {
    largest = std::max(largest, p_at(low + (high - low) * i / steps));
    if (high <= low) break;
  }
  return largest;
}

void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

}  // namespace

double normal_quantile(double probability) { return boost::math::quantile(boost::math::normal(), probability); }

double paired_drop_p(std::int64_t only_first, std::int64_t only_second, std::int64_t n, double drop, double gamma) {
  require(only_first >= 0 && only_second >= 0 && n >= 1 && only_first + only_second <= n, "paired_drop_p: bad counts");
  require(std::abs(drop) < 1 && gamma > 0 && gamma < 1, "paired_drop_p: bad drop or gamma");
  const auto size = static_cast<double>(n);
  const std::int64_t discordant = only_first + only_second;
  if (drop == 0) {
    if (discordant == 0) return 1;
    return at_least(static_cast<double>(only_first), static_cast<double>(discordant), 0.5);
  }
  // Grows with the first count and falls with the second, so that the maximum over the null lies on p10 - p01 = drop.
  const auto statistic = [&](double first, double second) {
    return (first - second - size * drop) / std::sqrt(std::max(first + second, size * std::abs(drop)) + 1);
  };
  constexpr double kTie = 1e-9;
  const double observed = statistic(static_cast<double>(only_first), static_cast<double>(only_second)) - kTie;
  if (observed < kWeakStatistic) return 1;
  const Interval rate = clopper_pearson(discordant, n, 1 - gamma);
  const double low = std::max(rate.low, std::abs(drop));
  const double high = std::max(rate.high, std::abs(drop));
  const double deviation = std::sqrt(std::max(static_cast<double>(discordant), 1.0)) / size;
  const Factorials factorials(n + 1);
  const auto extreme = [&](std::int64_t first, std::int64_t of_discordant) {
    return statistic(static_cast<double>(first), static_cast<double>(of_discordant - first)) >= observed;
  };
  const double worst = maximum(low, high, deviation, [&](double discordant_rate) {
    // Given m discordant pairs the first count is binomial(m, share). The smallest first count as extreme as the
    // observed grows by 0 or 1 with m, and so the tail follows by recurrence.
    const double share = std::min(1.0, (discordant_rate + drop) / 2 / discordant_rate);
    const Range range = bulk(n, discordant_rate);
    const Binomial num_discordant(factorials, discordant_rate), first_count(factorials, share);
    std::int64_t needed = 0;
    while (needed <= range.first && !extreme(needed, range.first)) ++needed;
    double tail = at_least(static_cast<double>(needed), static_cast<double>(range.first), share);
    double total = 0, visited = 0;
    for (std::int64_t m = range.first; m <= range.last; ++m) {
      const double mass = num_discordant.at(m, n);
      visited += mass;
      total += mass * tail;
      tail += share * first_count.at(needed - 1, m);
      if (!extreme(needed, m + 1)) {
        tail -= first_count.at(needed, m + 1);
        ++needed;
      }
    }
    return total + left_out(visited);
  });
  return std::min(1.0, worst + gamma);
}

double unpaired_drop_p(std::int64_t right1, std::int64_t n1, std::int64_t right2, std::int64_t n2, double drop,
                       double gamma) {
  require(right1 >= 0 && right2 >= 0 && n1 >= 1 && n2 >= 1 && right1 <= n1 && right2 <= n2,
          "unpaired_drop_p: bad counts");
  require(std::abs(drop) < 1 && gamma > 0 && gamma < 1, "unpaired_drop_p: bad drop or gamma");
  const auto size1 = static_cast<double>(n1), size2 = static_cast<double>(n2);
  const auto statistic = [&](double first, double second) {
    const double pooled = (first + second + 1) / (size1 + size2 + 2);
    return (first / size1 - second / size2 - drop) / std::sqrt(pooled * (1 - pooled) * (1 / size1 + 1 / size2));
  };
  constexpr double kTie = 1e-9;
  const double observed = statistic(static_cast<double>(right1), static_cast<double>(right2)) - kTie;
  if (observed < kWeakStatistic) return 1;
  // needed[k]: the smallest first count as extreme as the observed when the second is k, made to grow with k.
  std::vector<std::int64_t> needed(static_cast<std::size_t>(n2) + 1);
  std::int64_t first = n1 + 1;
  for (std::int64_t second = n2; second >= 0; --second) {
    while (first > 0 && statistic(static_cast<double>(first - 1), static_cast<double>(second)) >= observed) --first;
    needed[static_cast<std::size_t>(second)] = first;
  }
  const Interval rate = clopper_pearson(right2, n2, 1 - gamma);
  const double low = std::clamp(rate.low, std::max(0.0, -drop), std::min(1.0, 1 - drop));
  const double high = std::clamp(rate.high, std::max(0.0, -drop), std::min(1.0, 1 - drop));
  const double deviation =
      std::sqrt(std::max(std::min(size2 - static_cast<double>(right2), static_cast<double>(right2)), 1.0)) / size2;
  const Factorials factorials(std::max(n1, n2));
  std::vector<double> tails(static_cast<std::size_t>(n1) + 2);
  const double worst = maximum(low, high, deviation, [&](double rate2) {
    const double rate1 = std::clamp(rate2 + drop, 0.0, 1.0);
    const Binomial first_count(factorials, rate1), second_count(factorials, rate2);
    // Below the bulk of the first count its tail is 1, above it next to nothing.
    const Range firsts = bulk(n1, rate1);
    constexpr double kBeyond = 1e-10;
    std::fill(tails.begin(), tails.begin() + firsts.first, 1.0);
    std::fill(tails.begin() + firsts.last + 1, tails.end(), kBeyond);
    for (std::int64_t k = firsts.last; k >= firsts.first; --k) {
      tails[static_cast<std::size_t>(k)] = tails[static_cast<std::size_t>(k) + 1] + first_count.at(k, n1);
    }
    const Range range = bulk(n2, rate2);
    double total = 0, visited = 0;
    for (std::int64_t k = range.first; k <= range.last; ++k) {
      const double mass = second_count.at(k, n2);
      visited += mass;
      total += mass * tails[static_cast<std::size_t>(needed[static_cast<std::size_t>(k)])];
    }
    return total + left_out(visited);
  });
  return std::min(1.0, worst + gamma);
}

double below_floor_p(std::int64_t right, std::int64_t n, double floor) {
  require(right >= 0 && n >= 1 && right <= n && floor >= 0 && floor <= 1, "below_floor_p: bad counts or floor");
  return 1 - at_least(static_cast<double>(right) + 1, static_cast<double>(n), floor);
}

double detectable_paired_drop(std::int64_t n, double gain_rate, double smallest_drop, double level, double power) {
  require(n >= 1 && level > 0 && level < 1 && power > 0 && power < 1, "detectable_paired_drop: bad n, level or power");
  // drop - smallest = z sqrt((2 gain + drop) / n), a quadratic in sqrt(2 gain + drop): a drop brings at least its own
  // discordant pairs.
  const double z = (normal_quantile(1 - level) + normal_quantile(power)) / std::sqrt(static_cast<double>(n));
  const double root = (z + std::sqrt(z * z + 4 * (2 * gain_rate + smallest_drop))) / 2;
  return std::min(1.0, root * root - 2 * gain_rate);
}

Interval paired_difference_interval(std::int64_t only_first, std::int64_t only_second, std::int64_t n,
                                    double confidence) {
  require(only_first >= 0 && only_second >= 0 && n >= 1 && only_first + only_second <= n,
          "paired_difference_interval: bad counts");
  const double size = static_cast<double>(n) + 2;
  const double lost = (static_cast<double>(only_first) + 0.5) / size;
  const double gained = (static_cast<double>(only_second) + 0.5) / size;
  const double difference = gained - lost;
  const double half =
      normal_quantile(0.5 + confidence / 2) * std::sqrt((lost + gained - difference * difference) / size);
  return {std::max(-1.0, difference - half), std::min(1.0, difference + half)};
}

Interval unpaired_difference_interval(std::int64_t right1, std::int64_t n1, std::int64_t right2, std::int64_t n2,
                                      double confidence) {
  require(right1 >= 0 && right2 >= 0 && n1 >= 1 && n2 >= 1 && right1 <= n1 && right2 <= n2,
          "unpaired_difference_interval: bad counts");
  const double p1 = static_cast<double>(right1) / static_cast<double>(n1);
  const double p2 = static_cast<double>(right2) / static_cast<double>(n2);
  const Interval first = wilson(static_cast<double>(right1), static_cast<double>(n1), confidence);
  const Interval second = wilson(static_cast<double>(right2), static_cast<double>(n2), confidence);
  const double difference = p2 - p1;
  return {difference - std::hypot(p2 - second.low, first.high - p1),
          difference + std::hypot(second.high - p2, p1 - first.low)};
}

}  // namespace lenbench
