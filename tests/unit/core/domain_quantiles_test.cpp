#include <tune/domain.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/search_space.hpp>

namespace tune {
namespace {

const std::vector<Domain>& quantile_domains() {
  static const std::vector<Domain> domains = {
      uniform(-5, 10),
      uniform(-1.5e308, 1.5e308),
      uniform(2, 2),
      loguniform(1e-6, 1),
      quniform(0, 0.8, 0.05),
      quniform(-10, 10, 3),
      qloguniform(1, 1000, 1),
      qloguniform(0.1, 20, 0.1),
      normal(3, 0.5),
      qnormal(0, 4, 0.5),
      randint(-3, 8),
      randint(INT64_MIN, INT64_MAX),
      lograndint(1, 1025),
      lograndint(8, 9),
      qrandint(50, 1000, 50),
      choice({"a", 1, 1.0, true, nullptr}),
      ordinal({1, 2, 4, 8}),
      grid_search({0.1, 0.2}),
      constant("x"),
      branch({{"svm", {{"c", uniform(0, 1)}}}, {"gbt", {{"depth", randint(1, 9)}}}}),
  };
  return domains;
}

TEST_CASE("the quantiles of a value are those that give it", "[domain]") {
  for (const Domain& domain : quantile_domains()) {
    INFO(domain.describe());
    Random random(4, "quantiles");
    for (int i = 0; i < 2000; ++i) {
      const double u = random.uniform();
      const Json value = domain.from_unit(u);
      const std::optional<UnitInterval> quantiles = domain.to_unit(value);
      REQUIRE(quantiles.has_value());
      const bool is_ordered =
          0 <= quantiles->first && quantiles->first <= quantiles->last && quantiles->last <= 1;
      const bool holds_u = quantiles->first <= u + 1e-9 && u - 1e-9 <= quantiles->last;
      if (!is_ordered || !holds_u) {
        FAIL(value << " from " << u << " is at [" << quantiles->first << ", " << quantiles->last
                   << "]");
      }
    }
  }
}

TEST_CASE("the centre of a value's quantiles gives the value again", "[domain]") {
  for (const Domain& domain : quantile_domains()) {
    const std::optional<std::uint64_t> count = domain.count();
    if (!count || *count > 10'000) continue;
    INFO(domain.describe());
    double total = 0;
    for (std::uint64_t i = 0; i < *count; ++i) {
      const Json value = domain.value_at(i);
      const UnitInterval quantiles = domain.to_unit(value).value();
      CHECK(is_identical(domain.from_unit(quantiles.centre()), value));
      total += quantiles.last - quantiles.first;
    }
    CHECK(total == Approx(1));
  }
}

TEST_CASE("what lies outside a domain has no quantiles", "[domain]") {
  CHECK_FALSE(uniform(0, 1).to_unit(2.0));
  CHECK_FALSE(randint(0, 5).to_unit(5));
  CHECK_FALSE(choice({"a", "b"}).to_unit("c"));
  CHECK_FALSE(quniform(0, 1, 0.25).to_unit(0.3));
}

}  // namespace
}  // namespace tune
