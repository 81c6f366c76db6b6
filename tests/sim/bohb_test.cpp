// BOHB with the schedulers that it is for, against random search with the same ones.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/schedulers/asha.hpp>
#include <tune/schedulers/hyperband.hpp>
#include <tune/searchers/bohb.hpp>
#include <tune/searchers/random.hpp>
#include <tune/simulate.hpp>

namespace tune::test {
namespace {

// What is best depends on how long it trains: a large rate is ahead at first and behind at last.
double validation_loss(const Config& config, std::int64_t iteration) {
  const double rate = std::log10(config["lr"].get<double>());
  const double decay = std::log10(config["decay"].get<double>());
  const double momentum = config["momentum"].get<double>();
  const double width = config["width"].get<double>() / 100;
  const double time = std::log(static_cast<double>(iteration)) / std::log(27.0);  // 0 to 1
  const double best_rate = -1.5 - 1.5 * time;
  return 0.1 + 0.5 * (1 - time) + 0.3 * std::pow(rate - best_rate, 2) +
         0.2 * std::pow(decay + 4, 2) + 2 * std::pow(momentum - 0.8, 2) + std::pow(width - 3, 2);
}

using SchedulerMaker = std::function<std::unique_ptr<TrialScheduler>()>;
using SearcherMaker = std::function<std::unique_ptr<Searcher>()>;

// The median over seeds of the best loss that a trial ended with.
double median_loss(const SearcherMaker& searcher, const SchedulerMaker& scheduler) {
  std::vector<double> losses;
  for (std::uint64_t seed = 0; seed < 11; ++seed) {
    Experiment experiment{.space = {{"lr", loguniform(1e-6, 1)},
                                    {"decay", loguniform(1e-7, 1e-1)},
                                    {"momentum", uniform(0, 1)},
                                    {"width", randint(10, 800)}},
                          .metric = "loss",
                          .mode = Mode::min,
                          .num_samples = 150};
    experiment.searcher = searcher();
    experiment.scheduler = scheduler();
    experiment.stop = {{"training_iteration", 27}};
    experiment.checkpoint = {.every = 1};
    experiment.seed = seed;
    const Simulation simulation = simulate(
        experiment, {.nodes = 4}, curve_model([](const Config& config, std::int64_t iteration) {
          return SimulatedStep{.metrics = {{"loss", validation_loss(config, iteration)}}};
        }));
    double best = 100;
    for (const TrialResult& trial : simulation.results) {
      if (trial.metrics.contains("loss")) {
        best = std::min(best, trial.metrics.at("loss").as_double());
      }
    }
    losses.push_back(best);
  }
  std::nth_element(losses.begin(), losses.begin() + 5, losses.end());
  return losses[5];
}

TEST_CASE("bohb finds better configurations than random search, with the same scheduler",
          "[bohb]") {
  const std::vector<std::pair<std::string, SchedulerMaker>> schedulers = {
      {"hyperband_for_bohb", [] { return hyperband_for_bohb({.max_t = 27}); }},
      {"hyperband", [] { return hyperband({.max_t = 27}); }},
      {"asha", [] { return asha({.max_t = 27, .reduction_factor = 3}); }},
      {"asha, promotion",
       [] { return asha({.max_t = 27, .reduction_factor = 3, .type = AshaType::promotion}); }}};
  for (const auto& [name, scheduler] : schedulers) {
    const double modelled = median_loss([] { return bohb(); }, scheduler);
    const double drawn = median_loss(random_search, scheduler);
    INFO(name << ": bohb " << modelled << ", random " << drawn);
    CHECK(modelled - 0.1 < 0.5 * (drawn - 0.1));
  }
}

}  // namespace
}  // namespace tune::test
