#include <tune/schedulers/pbt.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
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

PbtOptions every_two() {
  PbtOptions options;
  options.time_attr = "training_iteration";
  options.perturbation_interval = 2;
  options.hyperparam_mutations = {{"lr", uniform(0, 1)}};
  options.resample_probability = 0;
  return options;
}

// Who took over from whom at each of `rounds` exchanges of a synchronous population.
std::vector<std::map<std::uint64_t, std::uint64_t>> synchronous_exchanges(std::size_t members,
                                                                          double fraction,
                                                                          int rounds) {
  PbtOptions options = every_two();
  options.quantile_fraction = fraction;
  options.synch = true;
  PopulationBench bench(pbt(options), Mode::max);
  for (std::uint64_t id = 0; id < members; ++id) bench.add(id);
  std::vector<std::map<std::uint64_t, std::uint64_t>> exchanges;
  std::size_t seen = 0;
  for (int round = 1; round <= rounds; ++round) {
    for (std::uint64_t id = 0; id < members; ++id) {
      bench.report(id, 2 * round, static_cast<double>(id));
    }
    for (std::uint64_t id = 0; id < members; ++id) bench.run_chosen();
    auto& of_round = exchanges.emplace_back();
    for (; seen < bench.exploits().size(); ++seen) {
      const ExploitTrial& exploit = bench.exploits()[seen];
      of_round[exploit.target.value()] = exploit.source.value();
    }
  }
  return exchanges;
}

TEST_CASE("SC-16: quantiles of small populations are disjoint, and each donor is used", "[SC-16]") {
  using Pairs = std::map<std::uint64_t, std::uint64_t>;
  for (const Pairs& pairs : synchronous_exchanges(2, 0.5, 20)) CHECK(pairs == Pairs{{0, 1}});
  for (const Pairs& pairs : synchronous_exchanges(3, 0.5, 20)) CHECK(pairs == Pairs{{0, 2}});
  std::set<std::uint64_t> donors;
  for (const Pairs& pairs : synchronous_exchanges(8, 0.25, 20)) {
    REQUIRE(pairs.size() == 2);
    CHECK(pairs.contains(0));
    CHECK(pairs.contains(1));
    for (const auto& [receiver, donor] : pairs) donors.insert(donor);
  }
  CHECK(donors == std::set<std::uint64_t>{6, 7});
}

TEST_CASE("PBT paper, section 4.1.1: the bottom 20 % take over from the top 20 %", "[pbt]") {
  PbtOptions options = every_two();
  options.quantile_fraction = 0.2;
  PopulationBench bench(pbt(options), Mode::max);
  for (int id = 0; id < 10; ++id) bench.add(id);
  for (int step = 1; step <= 2; ++step) {
    for (int id = 9; id >= 0; --id) bench.report(id, step, id);
  }
  // The best report first, so each of the last finds itself at the bottom of those so far; with all
  // ten it is the bottom two.
  std::set<std::uint64_t> receivers;
  for (const ExploitTrial& exploit : bench.exploits()) receivers.insert(exploit.target.value());
  CHECK(receivers.contains(0));
  CHECK(receivers.contains(8));
  CHECK_FALSE(receivers.contains(9));
}

TEST_CASE("a clone has no score until it reports again", "[pbt]") {
  PopulationBench bench(pbt(every_two()), Mode::min);
  bench.add(0);
  bench.add(1);
  bench.add(2);
  for (int id = 0; id < 2; ++id) bench.report(id, 2, id);  // 1 takes over from 0
  REQUIRE(bench.exploits().size() == 1);
  CHECK(bench.exploits()[0].target == TrialId{1});
  CHECK(bench.exploits()[0].source == TrialId{0});
  bench.report(2, 2, 5);  // with one other: 0
  REQUIRE(bench.exploits().size() == 2);
  CHECK_THAT(bench.explanation(2), Contains("5 ranks 2 of 2"));
  CHECK_THAT(bench.explanation(2), Contains("takes over from trial 0, which has 0, its checkpoint "
                                            "of iteration 2"));
}

TEST_CASE("SC-13: nobody clones one that has no checkpoint, no finite score, or has ended",
          "[SC-13]") {
  PbtOptions options = every_two();
  options.quantile_fraction = 0.5;
  PopulationBench bench(pbt(options), Mode::max);
  for (int id = 0; id < 5; ++id) bench.add(id);
  bench.saves = false;
  bench.report(0, 2, 9);
  bench.report(1, 2, 1);
  CHECK(bench.exploits().empty());  // trial 0 has no checkpoint
  bench.saves = true;
  bench.report(0, 4, 9);
  bench.report(2, 2, test::nan);
  REQUIRE(bench.exploits().size() == 1);
  CHECK(bench.exploits()[0].source == TrialId{0});
  bench.fail(0);
  bench.complete(1);
  bench.report(2, 4, test::nan);
  bench.report(3, 2, test::nan);
  CHECK(bench.exploits().size() == 1);  // NaN is all there is
}

TEST_CASE("an exchange counts once the clone has taken place", "[pbt]") {
  PbtOptions options = every_two();
  options.perturbation_factors = {2, 2};
  options.hyperparam_mutations = {{"lr", uniform(0, 10)}};
  PopulationBench bench(pbt(options), Mode::max);
  bench.add(0, {{"lr", 0.5}, {"name", "a"}});
  bench.add(1, {{"lr", 1.0}, {"name", "b"}});
  bench.report(1, 2, 9);
  bench.report(0, 2, 1);
  CHECK_THAT(bench.scheduler().describe(), Contains("0 exchanges"));
  CHECK(bench.exploits().at(0).config.json() == Json{{"lr", 2.0}, {"name", "b"}});
  bench.restore_into(pbt(options));
  bench.report(0, 3, 2);
  CHECK_THAT(bench.scheduler().describe(), Contains("1 exchange"));

  // The next one does not come about: the trial ends at that very result.
  bench.report(1, 4, 9);
  bench.refuses_exploits = true;
  bench.report(0, 4, 1);
  bench.restore_into(pbt(options));
  bench.complete(0);
  CHECK_THAT(bench.scheduler().describe(), Contains("1 exchange"));
  CHECK(bench.explanation(0) == "did not take over from trial 1");
}

TEST_CASE("members give way to those that have come less far", "[pbt]") {
  PopulationBench bench(pbt(every_two()), Mode::max);
  bench.context().set_new_trials(NewTrials::possible);
  bench.add(0);
  CHECK(bench.report(0, 2, 1) == Decision::pause);
  CHECK(bench.choose() == std::nullopt);  // a new one
  bench.add(1);
  bench.context().set_new_trials(NewTrials::none);
  CHECK(bench.report(1, 3, 2) == Decision::pause);
  CHECK(bench.choose() == TrialId{0});
  bench.run(0);
  CHECK(bench.choose() == TrialId{1});
  bench.run(1);
  CHECK(bench.report(0, 4, 3) == Decision::proceed);  // nobody waits
}

TEST_CASE("SC-17: the first exchange comes with the burn-in, then each interval", "[SC-17]") {
  for (const bool synch : {false, true}) {
    PbtOptions options = every_two();
    options.burn_in_period = 10;
    options.perturbation_interval = 4;
    options.synch = synch;
    PopulationBench bench(pbt(options), Mode::max);
    for (int id = 0; id < 4; ++id) bench.add(id);
    std::vector<double> dues;
    for (int round = 0; round < 3; ++round) {
      dues.push_back(bench.horizon(0));
      for (int id = 3; id >= 0; --id) bench.report(id, bench.horizon(id), id);
      for (int id = 0; id < 4; ++id) bench.run_chosen();
    }
    CHECK(dues == std::vector<double>{10, 14, 18});
    CHECK(bench.exploits().size() >= 3);
  }
}

TEST_CASE("synchronous members wait for those that can come, and exchange at once", "[pbt]") {
  PbtOptions options = every_two();
  options.synch = true;
  PopulationBench bench(pbt(options), Mode::max);
  for (int id = 0; id < 4; ++id) bench.add(id);
  CHECK(bench.report(0, 2, 0) == Decision::pause);
  CHECK(bench.report(1, 2, 1) == Decision::pause);
  CHECK(bench.choose() == std::nullopt);
  CHECK(bench.report(2, 2, 2) == Decision::pause);
  CHECK(bench.choose() == std::nullopt);
  bench.fail(3);  // is waited for no longer
  CHECK(bench.choose() == TrialId{0});
  REQUIRE(bench.exploits().size() == 1);
  CHECK(bench.exploits()[0].target == TrialId{0});
  CHECK(bench.exploits()[0].source == TrialId{2});
  CHECK_THAT(bench.explanation(0), Contains("0 ranks 3 of 3"));
  for (int id = 0; id < 3; ++id) {
    CHECK(bench.horizon(id) == 4);
    bench.run_chosen();
  }
  CHECK(bench.choose() == std::nullopt);
  // One that jumps over an interval takes the others with it.
  CHECK(bench.report(0, 7, 0) == Decision::pause);
  CHECK(bench.report(1, 4, 1) == Decision::pause);
  CHECK(bench.report(2, 4, 1) == Decision::pause);
  CHECK(bench.choose().has_value());
  CHECK(bench.horizon(2) == 8);
}

TEST_CASE("PBT: restore(save()) changes no later decision", "[pbt]") {
  for (const bool synch : {false, true}) {
    const auto run = [synch](bool restores) {
      PbtOptions options = every_two();
      options.synch = synch;
      PopulationBench bench(pbt(options), Mode::max);
      for (int id = 0; id < 5; ++id) bench.add(id, {{"lr", 0.1 * id}});
      for (int round = 1; round <= 8; ++round) {
        for (int id = 0; id < 5; ++id) {
          bench.report(id, round, id == 2 ? test::nan : (id * 7 + round * 3) % 5);
          if (restores) bench.restore_into(pbt(options));
        }
        for (int id = 0; id < 5; ++id) bench.run_chosen();
      }
      std::vector<std::string> exploits;
      for (const ExploitTrial& exploit : bench.exploits()) {
        exploits.push_back(std::to_string(exploit.target.value()) + " " + exploit.config.dump());
      }
      return std::pair(exploits, bench.scheduler().save());
    };
    const auto straight = run(false);
    CHECK(straight.first.size() > 3);
    CHECK(straight == run(true));
  }
}

TEST_CASE("a custom function has the last word on a configuration", "[pbt]") {
  PbtOptions options = every_two();
  options.custom_explore_fn = [](const Config& config) {
    Json json = config.json();
    json["twice"] = 2 * json.at("lr").get<double>();
    return Config(json);
  };
  PopulationBench bench(pbt(options), Mode::max);
  bench.add(0);
  bench.add(1);
  bench.report(1, 2, 9);
  bench.report(0, 2, 1);
  REQUIRE(bench.exploits().size() == 1);
  const Config config = bench.exploits()[0].config;
  CHECK(config["twice"].get<double>() == 2 * config["lr"].get<double>());
}

TEST_CASE("mutations find their parameters by path", "[pbt]") {
  PbtOptions options = every_two();
  options.perturbation_factors = {2, 2};
  options.hyperparam_mutations = {{"optimizer", {{"lr", uniform(0, 10)}}},
                                  {"data/size", randint(1, 100)},
                                  {"absent", uniform(0, 1)}};
  PopulationBench bench(pbt(options), Mode::max);
  const Json config = {{"optimizer", {{"lr", 1.5}}}, {"data", {{"size", 4}}}};
  bench.add(0, config);
  bench.add(1, config);
  bench.report(1, 2, 9);
  bench.report(0, 2, 1);
  CHECK(bench.exploits().at(0).config.json() ==
        Json{{"optimizer", {{"lr", 3.0}}}, {"data", {{"size", 8}}}});
  CHECK_THROWS_WITH(bench.add(2, {{"larning_rate", 1}}),
                    Contains("has none of the parameters of hyperparam_mutations"));
}

TEST_CASE("PBT refuses options that cannot work", "[pbt]") {
  const auto with = [](auto change) {
    PbtOptions options = every_two();
    change(options);
    return pbt(options);
  };
  CHECK_THROWS_WITH(pbt({}), Contains("hyperparam_mutations is empty"));
  CHECK_THROWS_WITH(with([](auto& o) { o.perturbation_interval = 0; }),
                    "pbt: perturbation_interval must be above 0, is 0");
  CHECK_THROWS_WITH(with([](auto& o) { o.burn_in_period = -1; }), Contains("burn_in_period"));
  CHECK_THROWS_WITH(with([](auto& o) { o.quantile_fraction = 0.6; }),
                    "pbt: quantile_fraction must be from 0 to 0.5, is 0.6");
  CHECK_THROWS_WITH(with([](auto& o) { o.resample_probability = 2; }),
                    "pbt: resample_probability must be from 0 to 1, is 2");
  CHECK_THROWS_WITH(with([](auto& o) {
                      o.perturbation_factors = {1.2, 0};
                    }),
                    "pbt: perturbation_factors must be above 0, one is 0");
  CHECK_THROWS_WITH(with([](auto& o) { o.metric = "loss"; }), Contains("so mode must be"));
  CHECK_THROWS_WITH(with([](auto& o) { o.time_attr = ""; }), Contains("time_attr"));
  CHECK_THROWS_WITH(
      with([](auto& o) {
        o.hyperparam_mutations = {{"lr", sample_from([](const Config&) { return Json(1); })}};
      }),
      Contains("lr is sample_from"));
  CHECK(with([](auto& o) { o.quantile_fraction = 0; })->needs_checkpoints());
}

TEST_CASE("PBT is made by name, with its options", "[pbt]") {
  register_builtin_schedulers();
  const Json given = {
      {"time_attr", "epoch"},
      {"metric", "loss"},
      {"mode", "min"},
      {"perturbation_interval", 4.0},
      {"burn_in_period", 2.0},
      {"hyperparam_mutations",
       {{"lr", {{"kind", "loguniform"}, {"low", 0.001}, {"high", 1.0}}}, {"batch", {16, 32}}}},
      {"quantile_fraction", 0.5},
      {"resample_probability", 0.1},
      {"perturbation_factors", {1.5, 0.5}},
      {"synch", true}};
  const Json options = make_scheduler("pbt", given)->options();
  CHECK(options.at("name") == "pbt");
  CHECK(options.at("hyperparam_mutations").at("batch").at("kind") == "ordinal");
  CHECK(make_scheduler("pbt", options)->options() == options);
  for (const auto& [name, value] : given.items()) {
    if (name != "hyperparam_mutations") CHECK(options.at(name) == value);
  }
  CHECK_THROWS_WITH(make_scheduler("pbt", {{"perturbation_factors", {1}}}),
                    Contains("want a list of two numbers") || Contains("hyperparam_mutations"));
  CHECK_THROWS_WITH(make_scheduler("pbt"), Contains("hyperparam_mutations is empty"));
  CHECK_THROWS_WITH(make_scheduler("pbt", {{"hyperparam_mutations", {{"lr", {{"kind", "x"}}}}}}),
                    Contains("pbt: hyperparam_mutations.lr"));
}

}  // namespace
}  // namespace tune
