// Nelder and Mead's simplex in three dimensions.
#include "stats/simplex.h"

#include <algorithm>
#include <cmath>

namespace lenbench {

namespace {

struct Corner {
  Point3 x;
  double value = 0;
};

Point3 along(const Point3& from, const Point3& to, double share) {
  Point3 point{};
  for (std::size_t i = 0; i < point.size(); ++i) point[i] = from[i] + share * (to[i] - from[i]);
  return point;
}

}  // namespace

Point3 minimize(const std::function<double(const Point3&)>& f, const Point3& start, double step, int steps) {
  constexpr double kFlat = 1e-10;
  std::array<Corner, 4> simplex;
  for (std::size_t i = 0; i < simplex.size(); ++i) {
    simplex[i].x = start;
    if (i > 0) simplex[i].x[i - 1] += step;
    simplex[i].value = f(simplex[i].x);
  }
  for (int move = 0; move < steps; ++move) {
    std::sort(simplex.begin(), simplex.end(), [](const Corner& a, const Corner& b) { return a.value < b.value; });
    if (simplex[3].value - simplex[0].value < kFlat) break;
    Corner& worst = simplex[3];
    Point3 center{};
    for (std::size_t i = 0; i < center.size(); ++i)
      center[i] = (simplex[0].x[i] + simplex[1].x[i] + simplex[2].x[i]) / 3;
    const auto at = [&](double share) {
      const Point3 x = along(center, worst.x, share);
      return Corner{x, f(x)};
    };
    const Corner reflected = at(-1);
    if (reflected.value < simplex[0].value) {
      const Corner expanded = at(-2);
      worst = expanded.value < reflected.value ? expanded : reflected;
    } else if (reflected.value < simplex[2].value) {
      worst = reflected;
    } else {
      const Corner contracted = at(reflected.value < worst.value ? -0.5 : 0.5);
      if (contracted.value < std::min(reflected.value, worst.value)) {
        worst = contracted;
      } else {
        for (std::size_t i = 1; i < simplex.size(); ++i) {
          simplex[i].x = along(simplex[0].x, simplex[i].x, 0.5);
          simplex[i].value = f(simplex[i].x);
        }
      }
    }
  }
  return std::min_element(simplex.begin(), simplex.end(),
                          [](const Corner& a, const Corner& b) { return a.value < b.value; })
      ->x;
}

}  // namespace lenbench
