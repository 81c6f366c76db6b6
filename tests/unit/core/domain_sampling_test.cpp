#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/domain.hpp>
#include <tune/search_space.hpp>

#include "support/limits.hpp"

namespace tune {
namespace {

constexpr double last_unit = 1 - 0x1p-53;  // the largest u

// The values at `count` equally spaced quantiles, the ends included.
std::vector<Json> spread(const Domain& domain, int count) {
  std::vector<Json> values;
  for (int i = 0; i < count; ++i) values.push_back(domain.from_unit(double(i) / count));
  values.push_back(domain.from_unit(last_unit));
  return values;
}

std::vector<double> all_values(const Domain& domain) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < domain.count().value(); ++i) {
    values.push_back(domain.value_at(i).get<double>());
  }
  return values;
}

TEST_CASE("the quantile function rises from low to high", "[domain]") {
  for (const Domain& domain : {uniform(-2, 3), loguniform(1e-7, 1e-2), quniform(-1, 1, 0.1),
                               qloguniform(1, 64, 3), normal(2, 0.5), qnormal(0, 3, 0.5),
                               randint(-5, 6), lograndint(1, 1024), qrandint(-10, 10, 4)}) {
    INFO(domain.describe());
    const std::vector<Json> values = spread(domain, 1000);
    CHECK(std::is_sorted(values.begin(), values.end()));
    CHECK(std::all_of(values.begin(), values.end(),
                      [&domain](const Json& value) { return domain.contains(value); }));
  }
}

TEST_CASE("half-open domains begin at low and stay below high despite rounding", "[domain]") {
  const double tight_high = std::nextafter(1.0, 2.0);
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double huge = std::numeric_limits<double>::max();
  struct Bounds {
    double low, high;
  };
  for (const auto [low, high] : {Bounds{0, 1},
                                 {1.0, tight_high},
                                 {tiny, 3 * tiny},
                                 {1, 10},
                                 {-1e-300, 1e300},
                                 {0.1, 0.3},
                                 {tiny, huge},
                                 {1e-7, 1e-2}}) {
    INFO(low << " " << high);
    for (const double u : {0.0, 0x1p-53, 0.25, 0.5, 1 - 0x1p-52, last_unit}) {
      const auto value = uniform(low, high).from_unit(u).get<double>();
      CHECK((value >= low && value < high));
      if (low <= 0) continue;
      const auto log_value = loguniform(low, high).from_unit(u).get<double>();
      CHECK((log_value >= low && log_value < high));
    }
    CHECK(uniform(low, high).from_unit(0) == low);
  }
  const auto widest = uniform(-huge, huge).from_unit(0.5).get<double>();
  CHECK(std::isfinite(widest));
  CHECK(std::abs(widest) < huge / 2);
}

TEST_CASE("loguniform is uniform in its logarithm", "[domain]") {
  CHECK(loguniform(1e-6, 1e-2).from_unit(0.5).get<double>() == Approx(1e-4));
  CHECK(lograndint(1, 1024).from_unit(0.45) == 22);  // floor(2^4.5)
  CHECK(lograndint(1, 1024).from_unit(last_unit) == 1023);
}

TEST_CASE("equal bounds of a float domain are one point, bit by bit", "[domain]") {
  const double third = 1.0 / 3;
  for (const double u : {0.0, 0.3, last_unit}) {
    CHECK(is_identical(uniform(third, third).from_unit(u), third));
    CHECK(is_identical(loguniform(third, third).from_unit(u), third));
    CHECK(is_identical(quniform(3, 3, 1).from_unit(u), 3.0));
    CHECK(is_identical(qloguniform(3, 3, 1).from_unit(u), 3.0));
  }
  CHECK(uniform(third, third).count() == 1);
  CHECK(uniform(third, 1).count() == std::nullopt);
  CHECK(uniform(third, third).contains(third));
}

TEST_CASE("quantised domains hold every multiple inside the bounds, without noise", "[domain]") {
  CHECK(all_values(quniform(0.3, 0.7, 0.1)) == std::vector<double>{0.3, 0.4, 0.5, 0.6, 0.7});
  CHECK(all_values(quniform(-0.3, 0.3, 0.1)) ==
        std::vector<double>{-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3});
  CHECK(all_values(quniform(0.25, 1.1, 0.3)) == std::vector<double>{0.3, 0.6, 0.9});
  CHECK(all_values(quniform(0, 1, 1.0 / 3)) == std::vector<double>{0, 1.0 / 3, 2.0 / 3, 1});
  CHECK(all_values(qloguniform(1, 20, 8)) == std::vector<double>{8, 16});
  CHECK(all_values(quniform(32, 96, 32)) == std::vector<double>{32, 64, 96});
  CHECK(quniform(0, 1, 1e-7).value_at(3) == 3e-7);
  CHECK(quniform(0, 1, 1e-7).count() == 10'000'001);
  // 2.1 / 0.7 is 3.0000000000000004 and 3 * 0.7 is 2.0999999999999996.
  CHECK(all_values(quniform(2.1, 2.8, 0.7)) == std::vector<double>{2.1, 2.8});
  CHECK(all_values(qrandint(-7, 7, 3)) == std::vector<double>{-6, -3, 0, 3, 6});
  CHECK(all_values(qrandint(1, 4, 3)) == std::vector<double>{3});
}

TEST_CASE("a value of a quantised domain never lies outside its bounds", "[domain]") {
  const double low = 0.1 * 3;  // 0.30000000000000004: a multiple of 0.1 but for the last bit
  CHECK(all_values(quniform(low, 0.5, 0.1)) == std::vector<double>{low, 0.4, 0.5});
  const Domain tiny_low = qloguniform(1e-20, 2, 1);
  CHECK(all_values(tiny_low) == std::vector<double>{1, 2});
  CHECK_FALSE(quniform(0.3, 0.7, 0.1).contains(std::nextafter(0.7, 1.0)));
  CHECK_FALSE(quniform(0.3, 0.7, 0.1).contains(0.35));
}

TEST_CASE("no zero is negative", "[domain]") {
  CHECK(quniform(-10, 10, 1).value_at(10).dump() == "0.0");
  CHECK(quniform(-0.0, -0.0, 1).from_unit(0).dump() == "0.0");
  CHECK(quniform(-1, 0, 0.5).from_unit(last_unit).dump() == "0.0");
  for (const Json& value : spread(qnormal(0, 1, 2), 100)) CHECK(value.dump() != "-0.0");
}

TEST_CASE("quantised values have their fair weight", "[domain]") {
  SECTION("quniform and qrandint: equal, also at the bounds") {
    for (const Domain& domain : {quniform(32, 96, 32), qrandint(32, 96, 32)}) {
      std::map<double, int> draws;
      for (int i = 0; i < 3000; ++i) ++draws[domain.from_unit((i + 0.5) / 3000).get<double>()];
      CHECK(draws == std::map<double, int>{{32, 1000}, {64, 1000}, {96, 1000}});
    }
  }
  SECTION("qloguniform: the length of the logarithm of the full cell") {
    std::map<double, int> draws;
    const int count = 100'000;
    for (int i = 0; i < count; ++i) {
      ++draws[qloguniform(1, 3, 1).from_unit((i + 0.5) / count).get<double>()];
    }
    const double whole = std::log(3.5 / 0.5);
    CHECK(draws[1] == Approx(count * std::log(1.5 / 0.5) / whole).margin(2));
    CHECK(draws[2] == Approx(count * std::log(2.5 / 1.5) / whole).margin(2));
    CHECK(draws[3] == Approx(count * std::log(3.5 / 2.5) / whole).margin(2));
  }
}

TEST_CASE("the widest integer ranges do not overflow", "[domain]") {
  const Domain all = randint(test::lowest, test::highest);
  CHECK(all.from_unit(0) == test::lowest);
  CHECK(all.from_unit(0.5) == -1);
  CHECK(all.from_unit(last_unit).get<std::int64_t>() > test::highest - 4096);
  CHECK(all.count() == std::numeric_limits<std::uint64_t>::max());
  CHECK(all.value_at(0) == test::lowest);
  CHECK(all.value_at(*all.count() - 1) == test::highest - 1);
  CHECK(all.index_of(0) == std::uint64_t{1} << 63U);
  CHECK_FALSE(all.contains(test::highest));

  const Domain inclusive = qrandint(test::lowest, test::highest, 1);
  CHECK(inclusive.count() == std::nullopt);  // 2^64
  CHECK(inclusive.from_unit(0) == test::lowest);
  CHECK(inclusive.from_unit(0.5) == 0);
  CHECK(inclusive.contains(test::highest));

  const Domain log = lograndint(1, test::highest);
  CHECK(log.from_unit(0) == 1);
  CHECK(log.from_unit(last_unit).get<std::int64_t>() < test::highest);
  CHECK(log.from_unit(last_unit).get<std::int64_t>() > test::highest / 2);
  CHECK(lograndint(test::highest - 1, test::highest).from_unit(0.5) == test::highest - 1);
  CHECK(qrandint(test::highest - 5, test::highest, test::highest).from_unit(0.5) == test::highest);
  CHECK(qrandint(test::lowest, -1, test::highest).value_at(0) == -test::highest);
}

TEST_CASE("normal values are finite and follow the normal quantile", "[domain]") {
  CHECK(normal(3, 2).from_unit(0.5) == 3.0);
  CHECK(normal(0, 1).from_unit(0.975).get<double>() == Approx(1.959963984540054));
  CHECK(normal(0, 1).from_unit(0).get<double>() < -8);
  const double huge = std::numeric_limits<double>::max();
  CHECK(normal(huge, huge).from_unit(last_unit) == huge);
  CHECK(qnormal(0, 1, 0.5).from_unit(0.7) == 0.5);
  const Domain fine = qnormal(0, huge, 1e-300);
  CHECK(std::isfinite(fine.from_unit(0.9).get<double>()));
  CHECK(fine.contains(fine.from_unit(0.9)));
}

TEST_CASE("options keep their types and are drawn alike", "[domain]") {
  const Domain mixed = choice({1, 1.0, true, "1"});
  CHECK(is_identical(mixed.from_unit(0), 1));
  CHECK(is_identical(mixed.from_unit(0.25), 1.0));
  CHECK(is_identical(mixed.from_unit(0.5), true));
  CHECK(is_identical(mixed.from_unit(last_unit), "1"));
  CHECK(mixed.index_of(1.0) == 1);
  CHECK(mixed.index_of("1") == 3);
  CHECK(mixed.index_of(2) == std::nullopt);
  CHECK(branch({{"a", {}}, {7, {}}}).from_unit(0.5) == 7);
  CHECK(is_identical(constant(2).from_unit(0.9), 2));
}

TEST_CASE("contains() asks for the type, normalised() for the value", "[domain]") {
  CHECK(uniform(0, 2).contains(1.0));
  CHECK_FALSE(uniform(0, 2).contains(1));
  CHECK_FALSE(uniform(0, 2).contains(2.0));
  CHECK_FALSE(uniform(0, 2).contains("1"));
  CHECK_FALSE(uniform(0, 2).contains(std::numeric_limits<double>::quiet_NaN()));
  CHECK(is_identical(uniform(0, 2).normalised(1).value(), 1.0));
  CHECK_FALSE(uniform(0, 2).normalised(2));
  CHECK(randint(0, 10).contains(9));
  CHECK(randint(0, 10).contains(9U));
  CHECK_FALSE(randint(0, 10).contains(10));
  CHECK_FALSE(randint(0, 10).contains(9.0));
  CHECK_FALSE(randint(0, 10).contains(std::numeric_limits<std::uint64_t>::max()));
  CHECK(is_identical(quniform(0, 1, 0.1).normalised(0.1 * 3).value(), 0.3));
  CHECK(is_identical(quniform(0, 1, 0.1).normalised(1).value(), 1.0));
  CHECK_FALSE(qrandint(0, 10, 5).contains(7));
  CHECK(qnormal(0, 1, 0.5).contains(-1.5));
  CHECK_FALSE(qnormal(0, 1, 0.5).contains(0.3));
  CHECK(normal(0, 1).contains(1e300));
  CHECK(choice({1, 2}).contains(2));
  CHECK_FALSE(choice({1, 2}).contains(2.0));
  CHECK(constant(1).contains(1));
  CHECK_FALSE(constant(1).contains(2));
}

TEST_CASE("value_at() and index_of() are inverse", "[domain]") {
  for (const Domain& domain : {quniform(-1.5, 2, 0.1), qloguniform(0.7, 9, 0.7), randint(-3, 4),
                               lograndint(2, 9), qrandint(-9, 9, 4), choice({"a", 1, 1.0}),
                               grid_search({false, true}), uniform(2, 2), constant("c")}) {
    INFO(domain.describe());
    std::set<std::string> distinct;
    for (std::uint64_t i = 0; i < domain.count().value(); ++i) {
      const Json value = domain.value_at(i);
      CHECK(domain.index_of(value) == i);
      CHECK(domain.contains(value));
      CHECK(is_identical(domain.normalised(value).value(), value));
      distinct.insert(value.dump());
    }
    CHECK(distinct.size() == *domain.count());
  }
}

TEST_CASE("what has no value of its own cannot be drawn", "[domain]") {
  CHECK_THROWS_AS(sample_from([](const Config&) { return Json(1); }).from_unit(0.5),
                  std::logic_error);
  CHECK_THROWS_AS(Domain(SearchSpace{{"x", 1}}).from_unit(0.5), std::logic_error);
  CHECK_THROWS_AS(normal(0, 1).value_at(0), std::logic_error);
}

}  // namespace
}  // namespace tune
