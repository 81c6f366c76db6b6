#include "benchmarks/search_run.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/searchers/builtin.hpp>
#include <tune/searchers/random.hpp>

namespace tune::bench {
namespace {

// What a searcher was told, for the tests.
struct Told {
  int running = 0;
  int most_running = 0;
  std::vector<double> values;
  int failed = 0;
};
Told* told_to = nullptr;

// Random search that writes down what happens.
class WatchedSearcher final : public Searcher {
 public:
  void setup(const SearcherSetup& setup) override { inner_->setup(setup); }
  Suggestion suggest(const SuggestionRequest& request) override { return inner_->suggest(request); }
  void on_trial_added(TrialId, const Config&) override {
    told_to->most_running = std::max(told_to->most_running, ++told_to->running);
  }
  void on_trial_completed(TrialId, const Config&, const Result& last) override {
    --told_to->running;
    told_to->values.push_back(last.target());
  }
  void on_trial_failed(TrialId, const Config&, bool) override {
    --told_to->running;
    ++told_to->failed;
  }
  [[nodiscard]] bool wants_results() const override { return true; }

 private:
  std::unique_ptr<Searcher> inner_ = random_search();
};
TUNE_REGISTER_SEARCHER("watched", WatchedSearcher)

Problem line() {
  return {.name = "line",
          .about = {},
          .space = {{"x", uniform(0, 1)}},
          .value = [](const Config& config) { return config["x"].get<double>(); }};
}

std::vector<double> watch(const Problem& problem, const SearchRun& run, Told& told) {
  told_to = &told;
  return best_values(problem, {.name = "watched"}, run);
}

TEST_CASE("a search has the best value so far after each evaluation", "[benchmarks]") {
  Told told;
  const auto best = watch(line(), {.seed = 3, .evaluations = 30}, told);
  REQUIRE(best.size() == 30);
  CHECK(told.most_running == 1);
  REQUIRE(told.values.size() == 30);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 30; ++i) {
    least = std::min(least, told.values[i]);
    CHECK(best[i] == least);
  }
  Told again;
  CHECK(watch(line(), {.seed = 3, .evaluations = 30}, again) == best);
  CHECK(watch(line(), {.seed = 4, .evaluations = 30}, again) != best);
}

TEST_CASE("slots are refilled as soon as one trial ends, and the last ones are waited for",
          "[benchmarks]") {
  Told told;
  const auto best = watch(line(), {.seed = 3, .evaluations = 50, .slots = 8}, told);
  CHECK(best.size() == 50);
  CHECK(told.values.size() == 50);
  CHECK(told.most_running == 8);
  CHECK(told.running == 0);
  // The same configurations, in another order.
  Told one_by_one;
  (void)watch(line(), {.seed = 3, .evaluations = 50}, one_by_one);
  CHECK(told.values != one_by_one.values);
  std::sort(told.values.begin(), told.values.end());
  std::sort(one_by_one.values.begin(), one_by_one.values.end());
  CHECK(told.values == one_by_one.values);
}

TEST_CASE("failed trials and NaN count as evaluations and are never the best", "[benchmarks]") {
  Problem problem = line();
  problem.fails = [](const Config& config) { return config["x"].get<double>() < 0.3; };
  problem.value = [](const Config& config) {
    const double x = config["x"].get<double>();
    return x < 0.6 ? std::numeric_limits<double>::quiet_NaN() : x;
  };
  Told told;
  const auto best = watch(problem, {.seed = 1, .evaluations = 40}, told);
  REQUIRE(best.size() == 40);
  CHECK(told.failed > 0);
  CHECK(told.values.size() + static_cast<std::size_t>(told.failed) == 40);
  CHECK(best.back() >= 0.6);
  CHECK(best.back() < 0.7);
}

TEST_CASE("under noise it is the true value of what looked best that counts", "[benchmarks]") {
  Problem problem = line();
  problem.noise = 10;
  Told told;
  const auto best = watch(problem, {.seed = 1, .evaluations = 40}, told);
  CHECK(*std::min_element(told.values.begin(), told.values.end()) < -5);
  for (const double value : best) CHECK((0 <= value && value < 1));
  CHECK_FALSE(std::is_sorted(best.rbegin(), best.rend()));  // not the least of the true values
}

TEST_CASE("who runs dry has as many values as configurations", "[benchmarks]") {
  register_builtin_searchers();
  Problem problem = line();
  problem.space = {{"x", choice({0.5, 0.25, 1.0})}};
  CHECK(best_values(problem, {.name = "random"}, {.evaluations = 10}).size() == 3);
}

TEST_CASE("a space that a searcher does not support is refused", "[benchmarks]") {
  register_builtin_searchers();
  CHECK_THROWS_AS(best_values(line(), {.name = "grid"}, {}), std::invalid_argument);
}

TEST_CASE("all work is done once, and a fault reaches the caller", "[benchmarks]") {
  std::vector<std::atomic<int>> done(100);
  run_all(100, 4, [&](int i) { ++done[static_cast<std::size_t>(i)]; });
  for (const auto& times : done) CHECK(times == 1);
  CHECK_THROWS_AS(run_all(10, 3,
                          [](int i) {
                            if (i == 5) throw std::out_of_range("5");
                          }),
                  std::out_of_range);
}

}  // namespace
}  // namespace tune::bench
