// Maximum likelihood by Nelder and Mead, intervals by resampling.
#include "stats/curve.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "stats/bootstrap.h"
#include "stats/simplex.h"
#include "stats/tests.h"

namespace lenbench {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSteepest = 64;                     // per octave: a cliff between two lengths
constexpr std::uint64_t kSeed = 0x6c656e62656e6368;  // "lenbench"
constexpr int kFirstSteps = 400, kResampleSteps = 120;

void require_points(std::span<const LengthCounts> points) {
  bool sound = points.size() >= 3;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const LengthCounts& point = points[i];
    sound = sound && point.length > 0 && point.n > 0 && point.right >= 0 && point.right <= point.n &&
            (i == 0 || points[i - 1].length < point.length);
  }
  if (!sound) throw std::invalid_argument("a degradation curve needs three ascending lengths with 0 <= right <= n");
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Ceiling, slope and middle as free numbers.
LogisticCurve curve_of(const Point3& free, double floor) {
  LogisticCurve curve;
  curve.floor = floor;
  curve.ceiling = floor + (1 - floor) * logistic(free[0]);
  curve.slope = kSteepest * logistic(free[1]);
  curve.middle = free[2];
  return curve;
}

double log2_of(const LengthCounts& point) { return std::log2(static_cast<double>(point.length)); }

class Likelihood {
 public:
  Likelihood(std::span<const LengthCounts> points, double floor) : points_(points), floor_(floor) {
    lowest_ = log2_of(points.front()) - kMargin;
    highest_ = log2_of(points.back()) + kMargin;
  }
  // Minus the log likelihood.
  double operator()(const Point3& free) const {
    if (free[2] < lowest_ || free[2] > highest_ || std::abs(free[0]) > kWall || std::abs(free[1]) > kWall) {
      return kInfinity;
    }
    const LogisticCurve curve = curve_of(free, floor_);
    double sum = 0;
    for (const LengthCounts& point : points_) {
      constexpr double kTiny = 1e-12;
      const double share = std::clamp(curve.at(static_cast<double>(point.length)), kTiny, 1 - kTiny);
      sum -= point.right * std::log(share) + (point.n - point.right) * std::log1p(-share);
    }
    return sum;
  }

 private:
  static constexpr double kMargin = 16;  // octaves beyond the measured lengths
  static constexpr double kWall = 30;    // where the logistic is 0 or 1 to double precision
  std::span<const LengthCounts> points_;
  double floor_ = 0, lowest_ = 0, highest_ = 0;
};

Point3 best_fit(std::span<const LengthCounts> points, double floor) {
  const Likelihood likelihood(points, floor);
  const double first = log2_of(points.front()), last = log2_of(points.back());
  Point3 best{};
  double lowest = kInfinity;
  constexpr int kMiddles = 6;
  for (int i = 0; i <= kMiddles; ++i) {
    for (const double slope : {1.0, 4.0, 16.0}) {
      const Point3 start = {4, std::log(slope / (kSteepest - slope)), first + (last - first) * i / kMiddles};
      const Point3 found = minimize(likelihood, start, 1, kFirstSteps);
      const double value = likelihood(found);
      if (value < lowest) {
        lowest = value;
        best = found;
      }
    }
  }
  return best;
}

// log2 of the length where the curve falls below `level`, as far as the measured lengths show it.
double crossing(const LogisticCurve& curve, double level, double first, double last) {
  if (curve.at(std::exp2(first)) < level) return -kInfinity;
  if (curve.at(std::exp2(last)) >= level) return kInfinity;
  const double share = (level - curve.floor) / (curve.ceiling - curve.floor);
  return curve.middle + std::log(1 / share - 1) / curve.slope;
}

double area_of(std::span<const LengthCounts> points) {
  double sum = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    sum += (log2_of(points[i]) - log2_of(points[i - 1])) *
           (points[i].right / points[i].n + points[i - 1].right / points[i - 1].n) / 2;
  }
  return sum / (log2_of(points.back()) - log2_of(points.front()));
}

LengthCounts resample(const LengthCounts& point, Resampler& resampler) {
  LengthCounts drawn = point;
  if (point.right == 0 || point.right == point.n) {
    const boost::math::beta_distribution<> share(point.right + 0.5, point.n - point.right + 0.5);
    drawn.right = point.n * boost::math::quantile(share, resampler.uniform());
    return drawn;
  }
  const auto samples = std::max<std::int64_t>(1, std::llround(point.n));
  const std::int64_t right = resampler.count(point.right / point.n, samples);
  drawn.right = point.n * static_cast<double>(right) / static_cast<double>(samples);
  return drawn;
}

Landmark landmark(double value, const std::vector<double>& resampled) {
  const Interval interval = percentile_interval(resampled);
  return {value, std::min(interval.low, value), std::max(interval.high, value)};
}

// One-sided p-value that `low` is worse than `high`.
double worse(const LengthCounts& low, const LengthCounts& high) {
  const double p = two_proportions_test(low.right / low.n, low.n, high.right / high.n, high.n);
  return low.right / low.n < high.right / high.n ? p / 2 : 1;
}

}  // namespace

double LogisticCurve::at(double length) const {
  return floor + (ceiling - floor) / (1 + std::exp(slope * (std::log2(length) - middle)));
}

DegradationCurve fit_degradation(std::span<const LengthCounts> points, double floor, int resamples) {
  require_points(points);
  if (!(floor >= 0 && floor < 1)) throw std::invalid_argument("fit_degradation: the floor lies outside [0, 1)");
  const double first = log2_of(points.front()), last = log2_of(points.back());
  const Point3 fitted = best_fit(points, floor);
  DegradationCurve found;
  found.curve = curve_of(fitted, floor);
  Resampler resampler(kSeed);
  std::vector<double> l50, l85, area;
  std::vector<LengthCounts> drawn(points.size());
  for (int i = 0; i < resamples; ++i) {
    std::transform(points.begin(), points.end(), drawn.begin(),
                   [&](const LengthCounts& point) { return resample(point, resampler); });
    const LogisticCurve curve = curve_of(minimize(Likelihood(drawn, floor), fitted, 0.5, kResampleSteps), floor);
    l50.push_back(crossing(curve, 0.5, first, last));
    l85.push_back(crossing(curve, 0.85, first, last));
    area.push_back(area_of(drawn));
  }
  found.l50 = landmark(crossing(found.curve, 0.5, first, last), l50);
  found.l85 = landmark(crossing(found.curve, 0.85, first, last), l85);
  found.area = landmark(area_of(points), area);
  return found;
}

std::vector<Hole> find_holes(std::span<const LengthCounts> points) {
  require_points(points);
  std::vector<Hole> candidates;
  std::vector<double> p_values;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const auto smallest = [&](std::size_t begin, std::size_t end, std::int64_t& where) {
      double best = 2;
      for (std::size_t k = begin; k < end; ++k) {
        const double p = worse(points[i], points[k]);
        if (p < best) {
          best = p;
          where = points[k].length;
        }
      }
      return std::min(1.0, best * static_cast<double>(end - begin));
    };
    Hole hole;
    hole.length = points[i].length;
    const double left = smallest(0, i, hole.shorter), right = smallest(i + 1, points.size(), hole.longer);
    candidates.push_back(hole);
    p_values.push_back(std::max(left, right));
  }
  const std::vector<double> adjusted = holm_adjust(p_values);
  std::vector<Hole> holes;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].p_value = adjusted[i];
    if (adjusted[i] < 0.05) holes.push_back(candidates[i]);
  }
  return holes;
}

}  // namespace lenbench
