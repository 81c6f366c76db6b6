#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/searchers/builtin.hpp>
#include <tune/searchers/cma_es.hpp>
#include <tune/searchers/concurrency_limited.hpp>
#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>
#include <tune/searchers/repeated.hpp>
#include <tune/searchers/sobol.hpp>

#include "searcher_rig.hpp"

namespace tune::test {
namespace {

// Draws at random, and writes down what it is told.
class Noting final : public Searcher {
 public:
  explicit Noting(std::vector<std::string>& told) : told_(told) {}

  void setup(const SearcherSetup& setup) override { random_->setup(setup); }
  Suggestion suggest(const SuggestionRequest& request) override {
    return random_->suggest(request);
  }
  void on_trial_added(TrialId id, const Config&) override { note("added", id, ""); }
  void on_trial_completed(TrialId id, const Config&, const Result& last) override {
    note(last.stopped_by_scheduler ? "stopped" : "completed", id,
         " " + Json(last.target()).dump() + " at " + std::to_string(last.training_iteration));
  }
  void on_trial_failed(TrialId id, const Config&, bool infeasible) override {
    note(infeasible ? "infeasible" : "failed", id, "");
  }
  [[nodiscard]] Json save() const override { return Json::object(); }
  void restore(const Json&) override {}
  [[nodiscard]] Json options() const override { return {{"name", "noting"}}; }

 private:
  void note(const std::string& what, TrialId id, const std::string& rest) {
    told_.push_back(what + " " + std::to_string(id.value()) + rest);
  }

  std::unique_ptr<Searcher> random_ = random_search();
  std::vector<std::string>& told_;
};

using Lines = std::vector<std::string>;
const SearchSpace line = {{"x", uniform(0, 1)}};

TEST_CASE("a concurrency limit waits while so many trials have not ended",
          "[concurrency_limited]") {
  SearcherRig rig(line, concurrency_limited(random_search(), 2));
  CHECK(rig.ask());
  CHECK(rig.ask());
  CHECK_FALSE(rig.ask());
  SearcherRig restored(line, concurrency_limited(random_search(), 2));
  restored.restore(rig);
  CHECK_FALSE(restored.ask());
  restored.fail(0);
  CHECK(restored.ask());
  rig.complete(1, 0.5);
  CHECK(rig.ask());
  CHECK_FALSE(rig.ask());
  CHECK(rig.configs() == restored.configs());
}

TEST_CASE("a limit of one makes a search sequential", "[concurrency_limited]") {
  const auto loss = [](const Config& config) { return config["x"].get<double>(); };
  SearcherRig limited(line, concurrency_limited(cma_es(), 1));
  limited.run(40, loss, 8);
  SearcherRig plain(line, cma_es());
  plain.run(40, loss);
  CHECK(limited.configs() == plain.configs());
}

TEST_CASE("each configuration is run as often as asked, one after the other", "[repeated]") {
  SearcherRig rig(line, repeated(sobol(), 3), {.seed = 1, .num_samples = 12});
  rig.run(100, [](const Config&) { return 0.0; });
  REQUIRE(rig.configs().size() == 12);
  SearcherRig plain(line, sobol(), {.seed = 1, .num_samples = 4});
  plain.run(100, [](const Config&) { return 0.0; });
  for (std::size_t i = 0; i < 12; ++i) CHECK(rig.configs()[i] == plain.configs()[i / 3]);
}

TEST_CASE("the searcher is told the mean, once all repeats have ended", "[repeated]") {
  Lines told;
  SearcherRig rig(line, repeated(std::make_unique<Noting>(told), 3));
  for (int i = 0; i < 6; ++i) REQUIRE(rig.ask());
  CHECK(told == Lines{"added 0", "added 1"});
  rig.complete(0, 1, false, 5);
  rig.complete(4, 8, false, 7);
  rig.complete(2, 3, false, 6);
  CHECK(told.size() == 2);
  rig.complete(1, 2, false, 5);
  CHECK(told.back() == "completed 0 2.0 at 6");
  rig.fail(3);
  rig.complete(5, 4, true, 2);
  CHECK(told.back() == "completed 1 8.0 at 7");  // neither failed nor stopped ones count
}

TEST_CASE("what counts where repeats fail, are stopped or give no number", "[repeated]") {
  Lines told;
  SearcherRig rig(line, repeated(std::make_unique<Noting>(told), 2));
  for (int i = 0; i < 12; ++i) REQUIRE(rig.ask());
  told.clear();
  rig.complete(0, 2, true, 3);
  rig.complete(1, 4, true, 9);
  rig.fail(2);
  rig.complete(3, 5, true, 1);
  rig.fail(4, true);
  rig.fail(5, true);
  rig.fail(6, true);
  rig.fail(7, false);
  rig.complete(8, std::numeric_limits<double>::infinity());
  rig.complete(9, 1);
  rig.complete(10, 0, false, 0);  // without a result
  rig.complete(11, 1, false, 4);
  CHECK(told == Lines{"stopped 0 3.0 at 9", "stopped 1 5.0 at 1", "infeasible 2", "failed 3",
                      "completed 4 null at 1", "completed 5 1.0 at 4"});
}

TEST_CASE("repeats keep to the cells of a grid", "[repeated]") {
  const SearchSpace space = {{"g", grid_search({1, 2})}, {"x", uniform(0, 1)}};
  SearcherRig rig(space, repeated(random_search(), 2), {.seed = 1, .num_samples = 4});
  rig.run(100, [](const Config&) { return 0.0; });
  REQUIRE(rig.configs().size() == 8);
  std::map<std::string, int> counts;
  for (const Config& config : rig.configs()) ++counts[config.dump()];
  CHECK(counts.size() == 4);
  for (const auto& [config, count] : counts) CHECK(count == 2);
}

TEST_CASE("SE-07: points come first, and are repeated after that", "[SE-07]") {
  engine::SuggestionOptions options = {.seed = 1, .num_samples = 8};
  options.points_to_evaluate = {{{"x", 0.25}}, {{"x", 0.75}}};
  SearcherRig rig(line, repeated(random_search(), 2), options);
  rig.run(100, [](const Config&) { return 0.0; });
  REQUIRE(rig.configs().size() == 8);
  std::vector<double> values;
  for (const Config& config : rig.configs()) values.push_back(config["x"].get<double>());
  CHECK(std::vector(values.begin(), values.begin() + 4) == std::vector{0.25, 0.75, 0.25, 0.75});
  CHECK(values[4] == values[5]);
  CHECK(values[6] == values[7]);
  CHECK(values[5] != values[6]);
}

TEST_CASE("a small space ends once each configuration had its repeats", "[repeated]") {
  SearcherRig rig({{"n", randint(0, 5)}}, repeated(random_search(), 3));
  rig.run(100, [](const Config&) { return 0.0; });
  REQUIRE(rig.configs().size() == 15);
  std::map<int, int> counts;
  for (const Config& config : rig.configs()) ++counts[config["n"].get<int>()];
  CHECK(counts.size() == 5);
  for (const auto& [n, count] : counts) CHECK(count == 3);
}

TEST_CASE("repeats go on after a resume, from a state or from the record alone", "[repeated]") {
  const auto loss = [](const Config& config) { return config["x"].get<double>(); };
  const auto make = [] { return repeated(concurrency_limited(cma_es(), 4), 3); };
  for (const std::size_t before : {0, 1, 5, 9, 22}) {
    SearcherRig whole(line, make());
    whole.run(before, loss);
    SearcherRig restored(line, make());
    restored.restore(whole);
    SearcherRig told(line, make());
    for (std::size_t i = 0; i < before; ++i) {
      const Config& config = whole.configs()[i];
      told.source().take_suggestion(TrialId(i), config);
      told.source().on_trial_completed(TrialId(i), config, Result(loss(config)));
    }
    CHECK(told.source().save() == whole.source().save());
    whole.run(20, loss);
    restored.run(20, loss);
    CHECK(restored.configs() == whole.configs());
  }
}

TEST_CASE("a limit around repeats counts trials, one inside counts configurations",
          "[repeated][concurrency_limited]") {
  SearcherRig outside(line, concurrency_limited(repeated(random_search(), 3), 2));
  CHECK(outside.ask());
  CHECK(outside.ask());
  CHECK_FALSE(outside.ask());
  SearcherRig inside(line, repeated(concurrency_limited(random_search(), 2), 3));
  for (int i = 0; i < 6; ++i) CHECK(inside.ask());
  CHECK_FALSE(inside.ask());
  for (std::uint64_t i = 0; i < 3; ++i) inside.complete(i, 1);
  CHECK(inside.ask());
}

TEST_CASE("wrappers are made by name with a searcher in their options",
          "[repeated][concurrency_limited]") {
  register_builtin_searchers();
  const Json options = {{"name", "repeated"},
                        {"searcher",
                         {{"name", "concurrency_limited"},
                          {"searcher",
                           {{"name", "evolution"},
                            {"population_size", 20},
                            {"sample_size", 5},
                            {"mutations", 1},
                            {"mutation_scale", 0.2}}},
                          {"max_concurrent", 3}}},
                        {"repeats", 2}};
  CHECK(make_searcher("repeated", options)->options() == options);
  CHECK_THROWS_WITH(make_searcher("repeated", {{"searcher", "random"}}),
                    "repeated: searcher is \"random\", want an object with the name of a searcher "
                    "and its options");
  CHECK_THROWS_WITH(repeated(random_search(), 0), "repeated: repeats must be at least 1, is 0");
  CHECK_THROWS_AS(repeated(nullptr, 2), std::invalid_argument);
  CHECK_THROWS_WITH(concurrency_limited(random_search(), 0),
                    "concurrency_limited: max_concurrent must be at least 1, is 0");
  CHECK_THROWS_AS(concurrency_limited(nullptr, 2), std::invalid_argument);
}

TEST_CASE("wrappers are what their searcher is", "[repeated][concurrency_limited]") {
  CHECK_FALSE(repeated(random_search(), 2)->needs_metric());
  CHECK(repeated(cma_es(), 2)->needs_metric());
  CHECK(repeated(grid(), 2)->enumerates());
  CHECK(concurrency_limited(grid(), 2)->enumerates());
  engine::SuggestionSource source({{"k", choice({1, 2})}},
                                  {.objective = Objective{.metric = "loss"}, .num_samples = 4},
                                  repeated(concurrency_limited(cma_es(), 2), 2));
  std::string note;
  CHECK(std::holds_alternative<Config>(source.suggest(TrialId(0), &note)));
  CHECK_THAT(note, Catch::StartsWith("cma_es has no order"));
}

}  // namespace
}  // namespace tune::test
