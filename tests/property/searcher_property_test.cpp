// What holds for every searcher, whatever the space. A new searcher is one line in all_searchers().
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/automatic.hpp>
#include <tune/searchers/bohb.hpp>
#include <tune/searchers/cma_es.hpp>
#include <tune/searchers/concurrency_limited.hpp>
#include <tune/searchers/evolution.hpp>
#include <tune/searchers/gp.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/halton.hpp>
#include <tune/searchers/random.hpp>
#include <tune/searchers/sobol.hpp>
#include <tune/searchers/tpe.hpp>

#include "engine/suggestion_source.hpp"
#include "random_space.hpp"
#include "support/seed.hpp"
#include "support/suggestions.hpp"

namespace tune::test {
namespace {

struct SearcherCase {
  std::string name;
  std::function<std::unique_ptr<Searcher>()> make;
  bool countable_only = false;
  std::uint64_t cost = 1;  ///< Of so many rounds it does one.
};

const std::vector<SearcherCase>& all_searchers() {
  static const std::vector<SearcherCase> searchers = {
      {.name = "random", .make = random_search},
      {.name = "grid", .make = grid, .countable_only = true},
      {.name = "sobol", .make = sobol, .cost = 4},
      {.name = "halton", .make = halton, .cost = 4},
      {.name = "cma_es", .make = [] { return cma_es({.population_size = 4}); }, .cost = 20},
      {.name = "evolution",
       .make = [] { return evolution({.population_size = 3, .sample_size = 2}); }},
      {.name = "concurrency_limited",
       .make = [] { return concurrency_limited(random_search(), 4); }},
      // With a short start-up, so that the model has its say.
      {.name = "tpe", .make = [] { return tpe({.n_startup_trials = 3}); }, .cost = 4},
      {.name = "tpe, each parameter by itself",
       .make = [] { return tpe({.n_startup_trials = 3, .multivariate = false}); },
       .cost = 8},
      {.name = "bohb",
       .make = [] { return bohb({.min_points_in_model = 2, .random_fraction = 0.2}); },
       .cost = 8},
      {.name = "automatic", .make = [] { return automatic({.gp_trials = 5}); }, .cost = 20},
      // Of so few trials most would be start-up.
      {.name = "gp", .make = [] { return gp({.startup_trials = 2}); }, .cost = 10},
  };
  return searchers;
}

// Calls `check` for every searcher with many seeds, one in `cost` of the rounds; or with the one
// that is to be replayed.
void for_each_round(const std::function<void(const SearcherCase&, std::uint64_t seed)>& check,
                    std::uint64_t cost = 1) {
  const bool is_replay = std::getenv("TUNE_TEST_SEED") != nullptr;
  const std::uint64_t first = test_seed(1);
  for (const SearcherCase& searcher : all_searchers()) {
    const std::uint64_t rounds = is_replay ? 1 : TUNE_TEST_ROUNDS / (searcher.cost * cost);
    for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
      INFO("searcher " << searcher.name << ", TUNE_TEST_SEED=" << seed);
      check(searcher, seed);
    }
  }
}

// Mostly numbers of the usual size.
double random_value(Random& random) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (random.below(12)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return infinity;
    case 2:
      return -infinity;
    case 3:
      return 1e300;
    case 4:
      return 0;
    default:
      return random.uniform();
  }
}

// A search with results: trials end in groups, in an order of their own; some fail, refuse their
// configuration, are stopped by a scheduler, end without a result, or never end.
class Search {
 public:
  Search(const SearcherCase& searcher, SearchSpace space, engine::SuggestionOptions options)
      : source_(std::move(space), std::move(options), searcher.make()) {}

  // False when it gives no more configurations.
  bool step() {
    const TrialId id(configs_.size());
    Suggestion suggestion = source_.suggest(id);
    while (std::holds_alternative<Wait>(suggestion) && !running_.empty()) {
      // It limits how many run: the oldest that never ended does so after all.
      source_.on_trial_completed(TrialId(running_.front()), configs_[running_.front()], Result(1));
      running_.erase(running_.begin());
      suggestion = source_.suggest(id);
    }
    if (!std::holds_alternative<Config>(suggestion)) return false;
    configs_.push_back(std::get<Config>(std::move(suggestion)));
    if (configs_.size() % 3 == 0) {
      for (std::uint64_t back = 0; back < 3; ++back) end_trial(id.value() - back);
    }
    return true;
  }

  void run(std::size_t most) {
    while (configs_.size() < most && step()) {
    }
  }

  [[nodiscard]] const std::vector<Config>& configs() const { return configs_; }
  [[nodiscard]] Json save() const { return source_.save(); }
  // Goes on where `other` is, from `state`.
  void restore(const Search& other, const Json& state) {
    source_.restore(state);
    configs_ = other.configs_;
    running_ = other.running_;
  }

 private:
  void end_trial(std::uint64_t trial) {
    Random random(7, "end", trial);
    const Config& config = configs_[trial];
    const std::uint64_t fate = random.below(10);
    const auto iterations = static_cast<std::int64_t>(random.below(5));
    Result last;
    for (std::int64_t i = 1; i <= iterations; ++i) {
      last = Result(random_value(random), i);
      source_.on_trial_result(TrialId(trial), config, last);
    }
    if (fate == 0) {
      running_.push_back(trial);
      return;
    }
    if (fate <= 2) {
      source_.on_trial_failed(TrialId(trial), config, fate == 2);
      return;
    }
    last.stopped_by_scheduler = fate <= 4;
    source_.on_trial_completed(TrialId(trial), config, last);
  }

  engine::SuggestionSource source_;
  std::vector<Config> configs_;
  std::vector<std::uint64_t> running_;  // that never end
};

engine::SuggestionOptions random_options(Random& random, const SearchSpace& space,
                                         std::uint64_t seed) {
  engine::SuggestionOptions options{.objective = Objective{.metric = "loss"}, .seed = seed};
  const std::uint64_t kind = random.below(4);
  options.num_samples = kind == 0 ? -1 : static_cast<std::int64_t>(kind * kind);
  options.avoid_duplicates = random.uniform() < 0.8;
  if (random.uniform() < 0.3) {
    engine::SuggestionSource other(space, {.seed = seed + 1}, random_search());
    options.points_to_evaluate = {std::get<Config>(other.suggest(TrialId(0))).json()};
  }
  return options;
}

TEST_CASE("every configuration lies in its space, has its types and its active parameters alone",
          "[searchers]") {
  for_each_round([](const SearcherCase& searcher, std::uint64_t seed) {
    Random random(seed, "inside");
    const SearchSpace space = random_space(random, {.countable = searcher.countable_only});
    const engine::SuggestionOptions options = random_options(random, space, seed);
    Search search(searcher, space, options);
    search.run(12);
    REQUIRE_FALSE(search.configs().empty());
    for (const Config& config : search.configs()) {
      const std::string fault = configuration_fault(space, config.json());
      if (!fault.empty()) FAIL(fault << "\n" << config << "\n" << space.json());
    }
    if (!options.points_to_evaluate.empty()) {
      CHECK(is_identical(search.configs().front().json(), options.points_to_evaluate.front()));
    }
  });
}

TEST_CASE("the same seed and results give the same configurations, and saving changes nothing",
          "[searchers]") {
  for_each_round(
      [](const SearcherCase& searcher, std::uint64_t seed) {
        Random random(seed, "same");
        const SearchSpace space = random_space(random, {.countable = searcher.countable_only});
        const engine::SuggestionOptions options = random_options(random, space, seed);
        Search whole(searcher, space, options);
        whole.run(10);

        Search first(searcher, space, options);
        first.run(random.below(10));
        const Json state = Json::parse(first.save().dump());
        Search second(searcher, space, options);
        second.restore(first, state);
        if (second.save() != state) FAIL("restored as " << second.save() << " from " << state);
        second.run(10);
        if (second.configs() != whole.configs()) FAIL("restored, it goes on otherwise");
        first.run(10);
        if (first.configs() != whole.configs()) FAIL("run again or saved, it goes on otherwise");
      },
      2);
}

TEST_CASE("a small space is used up without repeats, and then the search ends", "[searchers]") {
  for_each_round(
      [](const SearcherCase& searcher, std::uint64_t seed) {
        Random random(seed, "small");
        const SearchSpace space = random_space(random, {.countable = true, .grid_axes = false});
        const std::uint64_t count = space.count().value_or(0);
        if (count < 2 || count > 60) return;
        Search search(searcher, space,
                      {.objective = Objective{.metric = "loss"}, .seed = seed, .num_samples = -1});
        search.run(count + 1);
        std::set<std::string> distinct;
        for (const Config& config : search.configs()) distinct.insert(config.dump());
        if (search.configs().size() != count || distinct.size() != count) {
          FAIL(search.configs().size()
               << " configurations, " << distinct.size() << " distinct, of " << count);
        }
      },
      2);
}

// Allows about two of three configurations, and `always`.
void add_constraint(SearchSpace& space, const Json& always, std::uint64_t seed) {
  space.require("two of three", [=](const Config& config) {
    const std::string text = config.dump();
    return text == always.dump() || Random(seed, text).below(3) != 0;
  });
}

TEST_CASE("constraints are kept to, and what they allow is used up", "[searchers]") {
  for_each_round(
      [](const SearcherCase& searcher, std::uint64_t seed) {
        Random random(seed, "constrained");
        SearchSpace space =
            random_space(random, {.countable = searcher.countable_only, .functions = false});
        engine::SuggestionSource source(space, {.seed = seed}, random_search());
        add_constraint(space, std::get<Config>(source.suggest(TrialId(0))).json(), seed);
        Search search(searcher, space, random_options(random, space, seed));
        search.run(12);
        REQUIRE_FALSE(search.configs().empty());
        for (const Config& config : search.configs()) CHECK(space.is_allowed(config.json()));
      },
      5);
}

TEST_CASE("suggestions without results in between spread", "[searchers]") {
  for (const SearcherCase& searcher : all_searchers()) {
    if (searcher.countable_only) continue;
    INFO(searcher.name);
    const SearchSpace space = {{"x", uniform(0, 1)}, {"y", loguniform(1e-4, 1)}};
    engine::SuggestionSource source(
        space, {.objective = Objective{.metric = "loss"}, .num_samples = -1}, searcher.make());
    std::uint64_t trial = 0;
    const auto ask = [&] { return source.suggest(TrialId(trial++)); };
    for (int i = 0; i < 24; ++i) {
      const auto config = std::get<Config>(ask());
      const double x = config["x"].get<double>() - 0.3;
      source.on_trial_completed(TrialId(trial - 1), config, Result(x * x));
    }
    std::set<std::string> distinct;
    int asked = 0;
    for (; asked < 32; ++asked) {
      const Suggestion suggestion = ask();
      if (std::holds_alternative<Wait>(suggestion)) break;  // it limits how many run
      distinct.insert(std::get<Config>(suggestion).dump());
    }
    CHECK(asked >= 4);
    CHECK(static_cast<int>(distinct.size()) == asked);
  }
}

TEST_CASE("huge domains stay inside their bounds", "[searchers]") {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  constexpr double largest = std::numeric_limits<double>::max();
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  const SearchSpace space = {{"all", randint(lowest, highest)},
                             {"inclusive", qrandint(lowest, highest, 1)},
                             {"coarse", qrandint(lowest, highest, highest)},
                             {"log", lograndint(1, highest)},
                             {"wide", uniform(-largest, largest)},
                             {"wide_log", loguniform(smallest, largest)},
                             {"fine", quniform(-1e15, 1e15, 1)},
                             {"normal", normal(largest, largest)},
                             {"qnormal", qnormal(0, largest, smallest)}};
  for (const SearcherCase& searcher : all_searchers()) {
    if (searcher.countable_only) continue;
    Search search(searcher, space, {.objective = Objective{.metric = "loss"}, .num_samples = 200});
    search.run(200);
    REQUIRE(search.configs().size() == 200);
    for (const Config& config : search.configs()) {
      CHECK(configuration_fault(space, config.json()).empty());
    }
  }
}

TEST_CASE("points alone leave one configuration", "[searchers]") {
  const SearchSpace space = {{"a", uniform(1.0 / 3, 1.0 / 3)},
                             {"b", loguniform(2, 2)},
                             {"c", quniform(3, 3, 1)},
                             {"d", choice({"only"})},
                             {"e", randint(1, 2)},
                             {"f", qrandint(1, 4, 3)},
                             {"g", branch({{"k", {{"h", qloguniform(5, 5, 5)}}}})}};
  for (const SearcherCase& searcher : all_searchers()) {
    INFO(searcher.name);
    Search search(searcher, space, {.objective = Objective{.metric = "loss"}, .num_samples = 3});
    search.run(10);
    REQUIRE(search.configs().size() == 3);
    for (const Config& config : search.configs()) {
      CHECK(is_identical(config.json(), {{"a", 1.0 / 3},
                                         {"b", 2.0},
                                         {"c", 3.0},
                                         {"d", "only"},
                                         {"e", 1},
                                         {"f", 3},
                                         {"g", "k"},
                                         {"h", 5.0}}));
    }
  }
}

TEST_CASE("five hundred parameters are all there", "[searchers]") {
  for (const SearcherCase& searcher : all_searchers()) {
    INFO(searcher.name);
    SearchSpace space;
    for (int i = 0; i < 500; ++i) {
      const std::string name = "p" + std::to_string(i);
      // For a grid all but the last ones are single points, so that it can be counted.
      if (searcher.countable_only) {
        space.add(name, i < 495 ? uniform(i, i) : randint(0, 3));
      } else {
        space.add(name, i % 2 == 0 ? uniform(0, 1) : randint(0, 10));
      }
    }
    Search search(searcher, space, {.objective = Objective{.metric = "loss"}, .num_samples = 10});
    search.run(10);
    REQUIRE(search.configs().size() == 10);
    for (const Config& config : search.configs()) {
      CHECK(config.json().size() == 500);
      CHECK(configuration_fault(space, config.json()).empty());
    }
  }
}

}  // namespace
}  // namespace tune::test
