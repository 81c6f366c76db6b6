#include <tune/schedulers/pb2.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "population_bench.hpp"
#include "support/limits.hpp"

namespace tune {
namespace {

using Catch::Contains;
using test::PopulationBench;

Pb2Options every_step() {
  Pb2Options options;
  options.time_attr = "training_iteration";
  options.perturbation_interval = 1;
  options.hyperparam_bounds = {{"lr", {0, 10}}, {"size", {1, 64}}};
  return options;
}

/// A population whose members gain the more the nearer lr is to 7; where the exploits led.
std::vector<Config> train(Mode mode, int rounds, bool restores, bool synch = false) {
  Pb2Options options = every_step();
  options.synch = synch;
  PopulationBench bench(pb2(options), mode);
  std::map<std::uint64_t, double> scores;
  for (std::uint64_t id = 0; id < 4; ++id) {
    bench.add(id, {{"lr", 3.0 * static_cast<double>(id)}, {"size", 8}, {"name", "n"}});
  }
  for (int round = 1; round <= rounds; ++round) {
    for (std::uint64_t id = 0; id < 4; ++id) {
      const double lr = bench.context().find(TrialId{id})->config()["lr"].get<double>();
      scores[id] += 1 - std::abs(lr - 7) / 10;
      const std::size_t before = bench.exploits().size();
      bench.report(id, round, mode == Mode::max ? scores[id] : -scores[id]);
      if (bench.exploits().size() > before) {
        scores[id] = scores[bench.exploits().back().source.value()];
      }
      if (restores) bench.restore_into(pb2(options));
    }
    for (int i = 0; i < 4; ++i) bench.run_chosen();
  }
  std::vector<Config> configs;
  for (const ExploitTrial& exploit : bench.exploits()) configs.push_back(exploit.config);
  return configs;
}

TEST_CASE("PB2 paper, section 4: the bandit finds where the score improves most", "[pb2]") {
  for (const Mode mode : {Mode::min, Mode::max}) {
    const std::vector<Config> configs = train(mode, 60, false);
    REQUIRE(configs.size() > 12);
    double late_distance = 0;
    for (std::size_t i = configs.size() - 8; i < configs.size(); ++i) {
      late_distance += std::abs(configs[i]["lr"].get<double>() - 7) / 10;
    }
    CHECK(late_distance < 1.2);  // of eight; drawn ones lie 0.29 away each
    for (const Config& config : configs) {
      CHECK(config["lr"].get<double>() >= 0);
      CHECK(config["lr"].get<double>() <= 10);
      CHECK(config.json().at("size").is_number_integer());
      CHECK(config["size"].get<int>() >= 1);
      CHECK(config["size"].get<int>() <= 64);
      CHECK(config["name"].get<std::string>() == "n");
    }
  }
}

TEST_CASE("PB2: restore(save()) changes no later decision", "[pb2]") {
  const std::vector<Config> straight = train(Mode::max, 15, false);
  CHECK(straight.size() > 3);
  CHECK(straight == train(Mode::max, 15, true));
  CHECK(train(Mode::max, 10, false, true) == train(Mode::max, 10, true, true));
}

TEST_CASE("PB2: scores that are not finite are no observation", "[pb2]") {
  PopulationBench bench(pb2(every_step()), Mode::max);
  for (int id = 0; id < 3; ++id) bench.add(id, {{"lr", 1.0 + id}, {"size", 8}});
  for (int step = 1; step <= 6; ++step) {
    bench.report(0, step, step % 2 == 0 ? test::nan : 1);
    bench.report(1, step, step == 3 ? test::inf : 2.0 * step);
    bench.report(2, step, 3.0 * step);
  }
  const Json state = bench.scheduler().save();
  CHECK_FALSE(state.at("observations").empty());
  for (const Json& seen : state.at("observations")) {
    CHECK(seen.at(2).is_number());
  }
  CHECK_FALSE(bench.exploits().empty());
}

TEST_CASE("PB2 refuses options that cannot work", "[pb2]") {
  CHECK_THROWS_WITH(pb2({}), Contains("hyperparam_bounds is empty"));
  CHECK_THROWS_WITH(pb2({.hyperparam_bounds = {{"lr", {1, 1}}}}),
                    "pb2: hyperparam_bounds: lr has low 1 and high 1, want low below high, both "
                    "finite");
  CHECK_THROWS_WITH(pb2({.perturbation_interval = -1, .hyperparam_bounds = {{"lr", {0, 1}}}}),
                    "pb2: perturbation_interval must be above 0, is -1");
  PopulationBench bench(pb2(every_step()), Mode::max);
  CHECK_THROWS_WITH(bench.add(0, {{"lr", 1.0}}), Contains("size, which is not there in trial 0"));
  CHECK_THROWS_WITH(bench.add(1, {{"lr", "x"}, {"size", 1}}), Contains("lr, which is \"x\""));
}

TEST_CASE("PB2 is made by name, with its options", "[pb2]") {
  register_builtin_schedulers();
  const Json given = {{"time_attr", "epoch"},
                      {"metric", "loss"},
                      {"mode", "min"},
                      {"perturbation_interval", 4.0},
                      {"hyperparam_bounds", {{"lr", {0.0, 1.0}}}},
                      {"quantile_fraction", 0.5},
                      {"synch", true}};
  const Json options = make_scheduler("pb2", given)->options();
  CHECK(options.at("name") == "pb2");
  for (const auto& [name, value] : given.items()) CHECK(options.at(name) == value);
  CHECK(make_scheduler("pb2", options)->options() == options);
  CHECK_THROWS_WITH(make_scheduler("pb2", {{"hyperparam_bounds", {{"lr", 1}}}}),
                    Contains("pb2: hyperparam_bounds.lr is 1, want a list of two numbers"));
  CHECK_THROWS_WITH(make_scheduler("pb2", {{"hyperparam_bounds", 1}}), Contains("want an object"));
}

}  // namespace
}  // namespace tune
