#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/searchers/random.hpp>

#include "engine/suggestion_source.hpp"
#include "support/engine_world.hpp"

namespace tune::test {
namespace {

/// Three steps a trial, each of which takes its own time.
class UnevenSteps final : public TrialBehaviour {
 public:
  explicit UnevenSteps(std::uint64_t seed) : seed_(seed) {}

  StepOutcome setup(const engine::Launch&) override { return {.seconds = 0}; }
  StepOutcome step(const engine::Launch& launch, std::int64_t iteration) override {
    if (iteration > 3) return {.kind = StepOutcome::Kind::end, .seconds = 0};
    Random random(seed_, "step", launch.trial.value(), static_cast<std::uint64_t>(iteration));
    return {.metrics = {{"loss", random.uniform()}}, .seconds = 0.1 + 10 * random.uniform()};
  }

 private:
  std::uint64_t seed_;
};

/// First come, first served; notes the order in which trials end.
class NotesEnds final : public TrialScheduler {
 public:
  explicit NotesEnds(std::vector<TrialId>& ends) : ends_(ends) {}
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
  void on_trial_completed(SchedulerContext&, const Trial& trial, const Result&) override {
    ends_.push_back(trial.id());
  }

 private:
  std::vector<TrialId>& ends_;
};

struct Search {
  std::vector<Config> configs;  ///< By trial number.
  std::vector<TrialId> ends;    ///< In their order.
};

/// Random search for 50 trials, on so many slots, with the step times of `timing`.
Search search(std::uint64_t seed, double slots, std::uint64_t timing) {
  const SearchSpace space = {{"lr", loguniform(1e-4, 1e-1)},
                             {"n", randint(0, 1000)},
                             {"o", branch({{"a", {{"m", uniform(0, 1)}}}, {"b", {}}})}};
  WorldOptions options;
  options.seed = timing;
  options.engine.objective = Objective{"loss", Mode::min};
  options.engine.seed = seed;
  engine::SuggestionSource source(
      space, {.objective = options.engine.objective, .seed = seed, .num_samples = 50},
      random_search());
  options.searcher.suggest = [&source](TrialId id) {
    return std::visit([](auto answer) -> SearcherModel::Answer { return answer; },
                      source.suggest(id));
  };
  options.searcher.max_delay_s = 0.5;
  Search result;
  EngineWorld world(options, std::make_unique<NotesEnds>(result.ends),
                    std::make_unique<UnevenSteps>(timing));
  world.join(NodeId{0}, "node", ResourceAmounts(Resources{.cpu = slots}));
  world.run();
  for (const auto& [id, trial] : world.books().trials()) {
    result.configs.push_back(trial.first_config);
  }
  return result;
}

TEST_CASE("SE-02: a seed gives trial i its configuration on any number of slots", "[SE-02]") {
  const Search one = search(42, 1, 1);
  REQUIRE(one.configs.size() == 50);
  REQUIRE(one.ends.size() == 50);
  std::vector<std::vector<TrialId>> orders = {one.ends};
  for (const double slots : {4.0, 8.0, 50.0}) {
    for (const std::uint64_t timing : {2, 3}) {
      const Search parallel = search(42, slots, timing);
      CHECK(parallel.configs == one.configs);
      for (const auto& order : orders) CHECK(parallel.ends != order);  // it was another run
      orders.push_back(parallel.ends);
    }
  }
  const Search other = search(43, 8, 2);
  REQUIRE(other.configs.size() == 50);
  for (std::size_t i = 0; i < 50; ++i) CHECK_FALSE(other.configs[i] == one.configs[i]);
}

}  // namespace
}  // namespace tune::test
