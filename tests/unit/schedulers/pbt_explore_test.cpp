// What PBT makes of the values of a donor.
#include <tune/schedulers/pbt.hpp>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "population_bench.hpp"

namespace tune {
namespace {

// What clones get of a donor that has `value`, one exchange after the other.
std::vector<Json> explored(const Domain& domain, const Json& value, int exchanges,
                           double resample_probability = 0) {
  PbtOptions options;
  options.time_attr = "training_iteration";
  options.perturbation_interval = 1;
  options.hyperparam_mutations = {{"x", domain}};
  options.resample_probability = resample_probability;
  test::PopulationBench bench(pbt(options), Mode::max);
  bench.add(0, {{"x", value}});
  bench.add(1, {{"x", value}});
  for (int step = 1; static_cast<int>(bench.exploits().size()) < exchanges; ++step) {
    bench.report(1, step, 1);
    bench.report(0, step, 0);
  }
  std::vector<Json> values;
  for (const ExploitTrial& exploit : bench.exploits()) {
    values.push_back(exploit.config.json().at("x"));
    REQUIRE(domain.contains(values.back()));
  }
  return values;
}

std::set<Json> outcomes(const Domain& domain, const Json& value) {
  const std::vector<Json> values = explored(domain, value, 200);
  return {values.begin(), values.end()};
}

TEST_CASE("SC-14: integers stay integers, inside, and move where the bounds let them", "[SC-14]") {
  const std::set<Json> batch = outcomes(randint(16, 65), 32);
  CHECK(batch == std::set<Json>{26, 38});
  for (const Json& value : batch) CHECK(value.is_number_integer());

  Json value = 1;
  std::set<Json> layers;
  for (int i = 0; i < 1000; ++i) {
    // A perturbation a step, each from where the one before has led.
    const Json next = explored(randint(1, 5), value, 1 + i % 7).back();
    REQUIRE(next.is_number_integer());
    REQUIRE((next != value || value == 1 || value == 4));
    layers.insert(next);
    value = next;
  }
  CHECK(layers.size() > 1);
  CHECK(outcomes(lograndint(1, 100), 2) == std::set<Json>{1, 3});
  CHECK(outcomes(qrandint(0, 64, 8), 16) == std::set<Json>{8, 24});
  CHECK(outcomes(randint(-10, 11), -5) == std::set<Json>{-6, -4});
  CHECK(outcomes(randint(0, 100), 500) == std::set<Json>{99});
}

TEST_CASE("SC-15: an ordinal goes to a neighbour, a choice anywhere", "[SC-15]") {
  const Domain batch = ordinal({16, 32, 64});
  CHECK(outcomes(batch, 16) == std::set<Json>{16, 32});
  CHECK(outcomes(batch, 32) == std::set<Json>{16, 64});
  CHECK(outcomes(batch, 64) == std::set<Json>{32, 64});
  CHECK(outcomes(batch, 48) == std::set<Json>{16, 32, 64});
  CHECK(outcomes(choice({"a", "b", "c"}), "a") == std::set<Json>{"a", "b", "c"});
}

TEST_CASE("PBT paper, section 4: floats are multiplied by 1.2 or 0.8 and clamped", "[pbt]") {
  CHECK(outcomes(uniform(0, 10), 5.0) == std::set<Json>{4.0, 6.0});
  CHECK(outcomes(loguniform(1e-4, 1), 0.01) == std::set<Json>{0.01 * 0.8, 0.01 * 1.2});
  CHECK(outcomes(uniform(0, 1), 0.95) == std::set<Json>{0.95 * 0.8, std::nextafter(1.0, 0.0)});
  CHECK(outcomes(uniform(0, 10), 5) == std::set<Json>{4.0, 6.0});  // an integer becomes a double
  CHECK(outcomes(normal(0, 1), -2.0) == std::set<Json>{-2.0 * 0.8, -2.0 * 1.2});
  CHECK(outcomes(uniform(3, 3), 3.0) == std::set<Json>{3.0});
}

TEST_CASE("values stay on the grid of their domain, and move by a step at least", "[pbt]") {
  CHECK(outcomes(quniform(0, 1, 0.1), 0.3) == std::set<Json>{0.2, 0.4});
  CHECK(outcomes(quniform(0, 1, 0.1), 1.0) == std::set<Json>{0.8, 1.0});
  CHECK(outcomes(qloguniform(1, 64, 1), 10.0) == std::set<Json>{8.0, 12.0});
  CHECK(outcomes(qnormal(0, 1, 0.5), 1.0) == std::set<Json>{0.5, 1.5});
}

TEST_CASE("what is no value of the kind is drawn anew", "[pbt]") {
  CHECK(outcomes(randint(0, 3), "text") == std::set<Json>{0, 1, 2});
  CHECK(outcomes(uniform(0, 1), std::nan("")).size() > 100);
}

TEST_CASE("with the probability for that a value is drawn from its domain", "[pbt]") {
  int drawn = 0;
  for (const Json& value : explored(uniform(0, 10), 5.0, 4000, 0.25)) {
    if (value != 4.0 && value != 6.0) ++drawn;
  }
  CHECK(std::abs(drawn - 1000) < 5 * std::sqrt(4000 * 0.25 * 0.75));
}

}  // namespace
}  // namespace tune
