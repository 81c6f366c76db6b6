#include <tune/mode.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

namespace tune {
namespace {

TEST_CASE("ME-02: finite values rank before infinities, and these before NaN", "[ME-02]") {
  for (const Mode mode : {Mode::min, Mode::max}) {
    CAPTURE(to_string(mode));
    for (const double finite : {-1e308, 0.0, 0.8, 1e308}) {
      CHECK(is_better(mode, finite, INFINITY));
      CHECK(is_better(mode, finite, -INFINITY));
      CHECK(is_better(mode, finite, NAN));
      CHECK_FALSE(is_better(mode, INFINITY, finite));
      CHECK_FALSE(is_better(mode, -INFINITY, finite));
      CHECK_FALSE(is_better(mode, NAN, finite));
    }
    CHECK(is_better(mode, INFINITY, NAN));
    CHECK(is_better(mode, -INFINITY, NAN));
    CHECK_FALSE(is_better(mode, NAN, -NAN));
    CHECK(std::isnan(worst_value()));
  }
}

TEST_CASE("ME-03: neither infinity beats a finite value in the mode that it would favour",
          "[ME-03]") {
  CHECK(is_better(Mode::min, 1.0, INFINITY));
  CHECK(is_better(Mode::min, 1.0, -INFINITY));
  CHECK(is_better(Mode::max, 1.0, INFINITY));
  CHECK(is_better(Mode::min, -INFINITY, INFINITY));
  CHECK(is_better(Mode::max, INFINITY, -INFINITY));
}

TEST_CASE("is_better is a strict weak order over all doubles", "[mode]") {
  const std::vector<double> values = {NAN,  INFINITY, -INFINITY, -1e308,  -1, -5e-324,
                                      -0.0, 0.0,      5e-324,    0.5,     1,  1e308,
                                      -NAN, 0.5,      -1.0,      INFINITY};
  const auto equal = [](Mode mode, double a, double b) {
    return !is_better(mode, a, b) && !is_better(mode, b, a);
  };
  for (const Mode mode : {Mode::min, Mode::max}) {
    for (const double a : values) {
      CHECK_FALSE(is_better(mode, a, a));
      for (const double b : values) {
        CHECK_FALSE((is_better(mode, a, b) && is_better(mode, b, a)));
        for (const double c : values) {
          if (is_better(mode, a, b) && is_better(mode, b, c)) CHECK(is_better(mode, a, c));
          if (equal(mode, a, b) && equal(mode, b, c)) CHECK(equal(mode, a, c));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tune
