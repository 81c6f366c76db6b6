#include <tune/mode.hpp>

#include <cmath>
#include <limits>

namespace tune {
namespace {

// Finite values before infinities before NaN, whatever the mode.
int standing(double value) {
  if (std::isfinite(value)) return 2;
  return std::isnan(value) ? 0 : 1;
}

}  // namespace

std::string_view to_string(Mode mode) { return mode == Mode::min ? "min" : "max"; }

bool is_better(Mode mode, double a, double b) {
  const int standing_a = standing(a);
  const int standing_b = standing(b);
  if (standing_a != standing_b) return standing_a > standing_b;
  return mode == Mode::min ? a < b : a > b;
}

double worst_value() { return std::numeric_limits<double>::quiet_NaN(); }

}  // namespace tune
