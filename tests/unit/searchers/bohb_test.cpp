#include <tune/searchers/bohb.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/suggestion_source.hpp"

namespace tune {
namespace {

class BohbSearch {
 public:
  explicit BohbSearch(SearchSpace space, const BohbOptions& options = {.random_fraction = 0})
      : source_(std::move(space),
                {.objective = Objective{.metric = "loss"}, .seed = 1, .num_samples = 100'000},
                bohb(options)) {}

  Config ask() { return std::get<Config>(source_.suggest(TrialId(next_++))); }
  // A result of the trial asked for last.
  void report(const Config& config, double loss, std::int64_t iteration) {
    source_.on_trial_result(TrialId(next_ - 1), config, Result(loss, iteration));
  }
  void end(const Config& config, double loss, std::int64_t iteration, bool is_stopped) {
    Result last(loss, iteration);
    last.stopped_by_scheduler = is_stopped;
    source_.on_trial_completed(TrialId(next_ - 1), config, last);
  }

 private:
  engine::SuggestionSource source_;
  std::uint64_t next_ = 0;
};

double place(const Config& config) { return config["x"].get<double>(); }

std::ptrdiff_t count_around(const std::vector<Config>& configs, double centre) {
  return std::count_if(configs.begin(), configs.end(), [&](const Config& config) {
    return std::abs(place(config) - centre) < 0.15;
  });
}

TEST_CASE(
    "bohb models the highest level that enough trials have reached (Falkner et al., section 4)",
    "[bohb]") {
  BohbSearch search({{"x", uniform(0, 1)}}, {.min_points_in_model = 8, .random_fraction = 0.2});
  const auto early = [](double x) { return std::abs(x - 0.2); };
  const auto late = [](double x) { return std::abs(x - 0.8) - 1; };
  const auto ask = [&](int count, std::int64_t iterations) {
    std::vector<Config> configs;
    for (int i = 0; i < count; ++i) {
      configs.push_back(search.ask());
      const double x = place(configs.back());
      search.report(configs.back(), early(x), 1);
      if (iterations >= 9) search.report(configs.back(), late(x), 9);
      const double last = iterations >= 9 ? late(x) : early(x);
      search.end(configs.back(), last, iterations, true);
    }
    return configs;
  };
  ask(20, 1);
  CHECK(count_around(ask(20, 1), 0.2) > 14);
  // Seven that went farther are not enough to look at them.
  ask(7, 9);
  CHECK(count_around(ask(20, 1), 0.2) > 12);
  // With many it follows what the longer training says.
  ask(50, 9);
  CHECK(count_around(ask(20, 9), 0.8) > 12);
}

TEST_CASE("bohb learns from trials that still run or wait", "[bohb]") {
  BohbSearch search({{"x", uniform(0, 1)}});
  std::vector<Config> configs;
  for (int i = 0; i < 60; ++i) {
    configs.push_back(search.ask());
    search.report(configs.back(), std::abs(place(configs.back()) - 0.4), 1);
  }
  CHECK(count_around({configs.end() - 20, configs.end()}, 0.4) > 14);
}

TEST_CASE("random_fraction of bohb's suggestions are drawn from the space", "[bohb]") {
  const auto run = [](double fraction) {
    BohbSearch search({{"x", uniform(0, 1)}}, {.random_fraction = fraction});
    std::vector<Config> configs;
    for (int i = 0; i < 200; ++i) {
      configs.push_back(search.ask());
      search.end(configs.back(), std::abs(place(configs.back()) - 0.4), 1, false);
    }
    return count_around(configs, 0.4);
  };
  CHECK(run(0) > 150);
  CHECK(run(1) < 80);
  CHECK((run(0.5) > 80 && run(0.5) < 150));
}

TEST_CASE("SE-09: bohb with an empty history", "[SE-09]") {
  for (const int asks : {1, 20}) {
    BohbSearch search({{"x", uniform(2, 3)}});
    for (int i = 0; i < asks; ++i) {
      const double x = place(search.ask());
      CHECK((x >= 2 && x < 3));
    }
  }
}

TEST_CASE("SE-10: bohb with options of mixed type", "[SE-10]") {
  std::set<std::string> seen;
  BohbSearch search({{"o", choice({nullptr, "auto", 1, 2.5, true})}, {"x", uniform(0, 1)}}, {});
  for (int i = 0; i < 40; ++i) {
    const Config config = search.ask();
    seen.insert(config["o"].json().dump());
    const double penalty = config["o"].json() == "auto" ? 0 : 1;
    search.end(config, place(config) + penalty, 1, false);
  }
  CHECK(seen.size() == 5);
}

TEST_CASE("SS-07: integers under bohb keep their bounds", "[SS-07]") {
  BohbSearch search({{"n", randint(0, 10)}, {"one", randint(1, 2)}, {"x", uniform(0, 1)}});
  for (int i = 0; i < 200; ++i) {
    const Config config = search.ask();
    const int n = config["n"].get<int>();
    CHECK((n >= 0 && n <= 9));
    CHECK(config["one"].get<int>() == 1);
    search.end(config, -n, 1, false);
  }
}

TEST_CASE("bohb refuses options out of range, naming them", "[bohb]") {
  CHECK_THROWS_WITH(bohb({.min_points_in_model = -1}),
                    "bohb: min_points_in_model must be at least 0, is -1");
  CHECK_THROWS_WITH(bohb({.top_n_percent = 0}),
                    "bohb: top_n_percent must be above 0 and below 100, is 0");
  CHECK_THROWS_WITH(bohb({.num_samples = 0}), "bohb: num_samples must be at least 1, is 0");
  CHECK_THROWS_WITH(bohb({.random_fraction = 1.5}),
                    "bohb: random_fraction must be from 0 to 1, is 1.5");
  CHECK_THROWS_WITH(bohb({.reduction_factor = 1}),
                    "bohb: reduction_factor must be at least 2, is 1");
}

}  // namespace
}  // namespace tune
