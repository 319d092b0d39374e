// Minimization without derivatives.
#pragma once

#include <array>
#include <functional>

namespace lenbench {

using Point3 = std::array<double, 3>;

// A local minimum of `f` by the simplex of Nelder and Mead (1965), from `start` with edges `step`; at most `steps`
// moves. Infinite values of `f` are walls.
Point3 minimize(const std::function<double(const Point3&)>& f, const Point3& start, double step, int steps);

}  // namespace lenbench
