#include "engine/suggestion_source.hpp"

#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>

#include "support/suggestions.hpp"

namespace tune::engine {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using test::suggest_all;
using Lines = std::vector<std::string>;

Lines dumped(const std::vector<Config>& configs) {
  Lines lines;
  for (const Config& config : configs) lines.push_back(config.dump());
  return lines;
}

Lines distinct(const std::vector<Config>& configs) {
  const Lines lines = dumped(configs);
  const std::set<std::string> sorted(lines.begin(), lines.end());
  return {sorted.begin(), sorted.end()};
}

// Answers by a function and notes what it is told.
class ScriptedSearcher final : public Searcher {
 public:
  using Answer = std::function<Suggestion(const SuggestionRequest&)>;
  explicit ScriptedSearcher(Answer answer, Lines* log = nullptr)
      : answer_(std::move(answer)), log_(log) {}

  void setup(const SearcherSetup& setup) override {
    note("setup " + (setup.objective ? setup.objective->metric : "-"));
  }
  Suggestion suggest(const SuggestionRequest& request) override {
    ++asked_;
    note("ask " + std::to_string(request.trial.value()) + "." + std::to_string(request.attempt) +
         " " + request.fixed.dump());
    return answer_(request);
  }
  void on_trial_result(TrialId id, const Config&, const Result& result) override {
    note("result " + std::to_string(id.value()) + " " + std::to_string(result.training_iteration));
  }
  void on_trial_completed(TrialId id, const Config&, const Result&) override {
    note("completed " + std::to_string(id.value()));
  }
  void on_trial_failed(TrialId id, const Config&, bool infeasible) override {
    note("failed " + std::to_string(id.value()) + (infeasible ? " infeasible" : ""));
  }
  [[nodiscard]] bool wants_results() const override { return wants_results_; }
  [[nodiscard]] bool needs_metric() const override { return needs_metric_; }
  [[nodiscard]] std::optional<Objective> objective() const override { return objective_; }
  [[nodiscard]] Json save() const override { return asked_; }
  void restore(const Json& state) override { asked_ = state.get<int>(); }
  [[nodiscard]] Json options() const override { return {{"name", "scripted"}}; }

  bool wants_results_ = true;
  bool needs_metric_ = false;
  std::optional<Objective> objective_;

 private:
  void note(std::string line) {
    if (log_ != nullptr) log_->push_back(std::move(line));
  }

  Answer answer_;
  Lines* log_;
  int asked_ = 0;
};

std::unique_ptr<ScriptedSearcher> scripted(ScriptedSearcher::Answer answer, Lines* log = nullptr) {
  return std::make_unique<ScriptedSearcher>(std::move(answer), log);
}

// Always the same answer.
std::unique_ptr<ScriptedSearcher> stubborn(Json answer, Lines* log = nullptr) {
  return scripted([config = Config(std::move(answer))](const auto&) { return config; }, log);
}

// What the error says when `answer` meets `space`; empty if it is taken.
std::string complaint(const SearchSpace& space, Json answer) {
  SuggestionSource source(space, {}, stubborn(std::move(answer)));
  try {
    (void)source.suggest(TrialId(0));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

const SearchSpace& conditional_grid() {
  static const SearchSpace space = {
      {"a", branch({{1, {{"b", grid_search({8, 9})}}}, {2, {{"b", grid_search({6, 7})}}}})}};
  return space;
}

TEST_CASE("SS-13: a conditional grid gives exactly the valid cells", "[SS-13]") {
  SuggestionSource source(conditional_grid(), {}, random_search());
  CHECK(source.total() == 4);
  CHECK(dumped(suggest_all(source)) ==
        Lines{R"({"a":1,"b":8})", R"({"a":1,"b":9})", R"({"a":2,"b":6})", R"({"a":2,"b":7})"});

  // What only one of the branches has is absent from the other.
  SuggestionSource uneven({{"a", branch({{1, {{"b", grid_search({8, 9})}}}, {2, {{"c", 5}}}})}}, {},
                          random_search());
  CHECK(dumped(suggest_all(uneven)) ==
        Lines{R"({"a":1,"b":8})", R"({"a":1,"b":9})", R"({"a":2,"c":5})"});
}

TEST_CASE("every cell comes once a sample, the last axis fastest", "[suggestion_source]") {
  SuggestionSource source(
      {{"g", grid_search({1, 2})}, {"x", uniform(0, 1)}, {"h", grid_search({"p", "q"})}},
      {.num_samples = 2}, random_search());
  CHECK(source.total() == 8);
  const std::vector<Config> configs = suggest_all(source);
  Lines cells;
  std::set<double> values;
  for (const Config& config : configs) {
    cells.push_back(std::to_string(config["g"].get<int>()) + config["h"].get<std::string>());
    values.insert(config["x"].get<double>());
  }
  CHECK(cells == Lines{"1p", "1q", "2p", "2q", "1p", "1q", "2p", "2q"});
  CHECK(values.size() == 8);
}

TEST_CASE("a space without a choice runs as often as asked", "[suggestion_source]") {
  SuggestionSource empty(SearchSpace(), {.num_samples = 3}, random_search());
  CHECK(dumped(suggest_all(empty)) == Lines{"{}", "{}", "{}"});
  SuggestionSource constant({{"a", 1}, {"b", uniform(2, 2)}}, {.num_samples = -1}, random_search());
  CHECK(constant.total() == std::nullopt);
  CHECK(suggest_all(constant, 50).size() == 50);
  SuggestionSource copies({{"g", grid_search({1, 2})}}, {.num_samples = 3}, random_search());
  CHECK(suggest_all(copies).size() == 6);
}

TEST_CASE("functions see what stands before them, and only active ones run",
          "[suggestion_source]") {
  Lines seen;
  const auto keys = [&seen](const Config& config) {
    seen.push_back(config.dump());
    return Json(seen.size());
  };
  SuggestionSource source(
      {{"z", 1},
       {"f", sample_from(keys)},
       {"a", choice({5})},
       {"o", branch({{"on", {{"g", sample_from(keys)}}}, {"off", {{"h", sample_from(keys)}}}})},
       {"later", 2}},
      {.points_to_evaluate = {{{"o", "on"}}}}, random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"a":5,"f":1,"g":2,"later":2,"o":"on","z":1})"});
  CHECK(seen == Lines{R"({"z":1})", R"({"a":5,"f":1,"o":"on","z":1})"});
}

TEST_CASE("a function's chance is keyed by seed, path and trial", "[suggestion_source]") {
  const auto noise = [](const Config&, Random& random) { return Json(random.uniform()); };
  const SearchSpace space = {{"s", {{"f", sample_from(noise)}}}, {"g", sample_from(noise)}};
  SuggestionSource source(space, {.seed = 3, .num_samples = 2}, random_search());
  const std::vector<Config> configs = suggest_all(source);
  for (std::uint64_t trial : {0, 1}) {
    CHECK(configs[trial]["s"]["f"].get<double>() == Random(3, "sample_from/s/f", trial).uniform());
    CHECK(configs[trial]["g"].get<double>() == Random(3, "sample_from/g", trial).uniform());
  }
}

TEST_CASE("a function that throws is named", "[suggestion_source]") {
  SuggestionSource source(
      {{"f", sample_from([](const Config& config) { return config["missing"].json(); })}}, {},
      random_search());
  CHECK_THROWS_WITH(
      source.suggest(TrialId(0)),
      StartsWith(R"(parameter "f": its sample_from function failed: )") && Contains("missing"));
}

TEST_CASE("a searcher's answer is checked", "[suggestion_source]") {
  const SearchSpace space = {
      {"n", randint(0, 5)},
      {"s", {{"x", quniform(0, 1, 0.1)}}},
      {"o", branch({{"k", {{"y", uniform(0, 1)}}}, {"l", {{"z", choice({1, 2})}}}})}};
  const Json good = {{"n", 3}, {"s", {{"x", 0.5}}}, {"o", "l"}, {"z", 2}};
  CHECK(complaint(space, good).empty());
  CHECK(complaint(space, {{"n", 3}, {"s/x", 0.5}, {"o", "l"}, {"z", 2}}).empty());

  Json bad = good;
  bad.erase("n");
  CHECK(complaint(space, bad) ==
        R"(searcher scripted gave no value for parameter "n", which is randint(0, 5))");
  bad = good;
  bad["n"] = 5;
  CHECK(
      complaint(space, bad) ==
      R"(searcher scripted gave parameter "n" the value 5 (an integer), must be in randint(0, 5))");
  bad["n"] = 3.0;
  CHECK_THAT(complaint(space, bad), Contains("the value 3 (a double)"));
  bad = good;
  bad["s"]["x"] = 0.55;
  CHECK_THAT(complaint(space, bad), Contains(R"(gave parameter "s/x" the value 0.55)"));
  bad = good;
  bad["o"] = "k";
  CHECK_THAT(complaint(space, bad), Contains(R"(gave no value for parameter "y")"));
  bad = good;
  bad["s"]["unknown"] = 1;
  CHECK_THAT(complaint(space, bad),
             Contains(R"(gave parameter "s/unknown", which is not in the search space)"));
}

TEST_CASE("what the searcher adds for inactive and fixed parameters is left out",
          "[suggestion_source]") {
  SuggestionSource source({{"g", grid_search({7})},
                           {"c", 1},
                           {"o", branch({{"k", {{"y", uniform(0, 1)}}}, {"l", {}}})}},
                          {}, stubborn({{"g", 8}, {"c", 2}, {"o", "l"}, {"y", 0.5}}));
  CHECK(dumped(suggest_all(source)) == Lines{R"({"c":1,"g":7,"o":"l"})"});
}

TEST_CASE("names that hold '/' stay as they are written", "[suggestion_source]") {
  SuggestionSource source({{"a/b", choice({1})}, {"s", {{"c/d", choice({2})}}}},
                          {.num_samples = 2, .points_to_evaluate = {{{"a", {{"b", 1}}}}}},
                          random_search());
  CHECK(dumped(suggest_all(source)) ==
        Lines{R"({"a/b":1,"s":{"c/d":2}})", R"({"a/b":1,"s":{"c/d":2}})"});
}

TEST_CASE("SE-07: points to evaluate come first, once, and count", "[SE-07]") {
  for (const bool is_grid : {false, true}) {
    SuggestionSource source(
        {{"a", randint(0, is_grid ? 5 : 100)}},
        {.num_samples = is_grid ? 1 : 5, .points_to_evaluate = {{{"a", 1}}, {{"a", 2}}}},
        is_grid ? grid() : random_search());
    CHECK(source.total() == 5);
    const std::vector<Config> configs = suggest_all(source);
    REQUIRE(configs.size() == 5);
    CHECK(configs[0]["a"].get<int>() == 1);
    CHECK(configs[1]["a"].get<int>() == 2);
    CHECK(distinct(configs).size() == 5);
  }
}

TEST_CASE("a point may be partial: the searcher and the grid fill the rest",
          "[suggestion_source]") {
  Lines log;
  SuggestionSource source(
      {{"g", grid_search({1, 2})}, {"x", uniform(0, 1)}, {"n", randint(0, 9)}},
      {.num_samples = 2, .points_to_evaluate = {{{"n", 4}}, {{"x", 0.5}, {"g", 2}, {"n", 7}}}},
      stubborn({{"x", 0.25}, {"n", 3}}, &log));
  CHECK(dumped(suggest_all(source)) ==
        Lines{R"({"g":1,"n":4,"x":0.25})", R"({"g":2,"n":7,"x":0.5})", R"({"g":1,"n":3,"x":0.25})",
              R"({"g":2,"n":3,"x":0.25})"});
  // The searcher is not asked for a point that leaves nothing open.
  CHECK(log ==
        Lines{"setup -", R"(ask 0.0 {"g":1,"n":4})", R"(ask 2.0 {"g":1})", R"(ask 3.0 {"g":2})"});
}

TEST_CASE("a point takes the turn of its cell", "[suggestion_source]") {
  SuggestionSource source(
      {{"g", grid_search({1, 2, 3})}, {"h", grid_search({0, 1})}},
      {.points_to_evaluate = {{{"g", 2}, {"h", 1}}, {{"h", 1}}, {{"g", 2}}, {{"h", 1}}}},
      random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"g":2,"h":1})", R"({"g":1,"h":1})",
                                             R"({"g":2,"h":0})", R"({"g":3,"h":1})",
                                             R"({"g":1,"h":0})", R"({"g":3,"h":0})"});
}

TEST_CASE("points take the types of their domains", "[suggestion_source]") {
  SuggestionSource source({{"x", uniform(0, 2)}, {"q", quniform(0, 1, 0.1)}},
                          {.points_to_evaluate = {{{"x", 1}, {"q", 0.1 + 0.2}}}}, random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"q":0.3,"x":1.0})"});
}

TEST_CASE("a whole configuration of an earlier run is a point", "[suggestion_source]") {
  SuggestionSource source(
      {{"a", randint(0, 9)}, {"c", "k"}, {"f", sample_from([](const Config&) { return Json(1); })}},
      {.points_to_evaluate = {{{"a", 4}, {"c", "k"}, {"f", 77}}}}, random_search());
  CHECK(dumped(suggest_all(source)) == Lines{R"({"a":4,"c":"k","f":77})"});
}

TEST_CASE("points outside the space are refused with their index", "[suggestion_source]") {
  const auto make = [](std::vector<Json> points) {
    SuggestionSource source({{"a", randint(0, 5)}, {"g", grid_search({1, 2})}},
                            {.points_to_evaluate = std::move(points)}, random_search());
  };
  CHECK_THROWS_AS(make({{{"a", 1}}, {{"a", 5}}}), std::invalid_argument);
  CHECK_THROWS_WITH(
      make({{{"a", 1}}, {{"a", 5}}}),
      R"(points_to_evaluate[1]: parameter "a" is 5 (an integer), must be in randint(0, 5))");
  CHECK_THROWS_WITH(
      make({{{"b", 1}}}),
      R"(points_to_evaluate[0]: parameter "b" is not in the search space; it has: "a", "g")");
  CHECK_THROWS_WITH(make({{{"g", 1}}, {{"g", 1}}}),
                    R"(points_to_evaluate[1]: {"g":1} has no turn left, since num_samples is 1; )"
                    "it must be at least the number of points that share a grid cell");
}

TEST_CASE("a duplicate is asked for again with the next attempt", "[suggestion_source]") {
  Lines log;
  const auto answer = [](const SuggestionRequest& request) {
    return Config(Json{{"x", request.attempt < 3 ? 0.5 : 0.1 * double(request.trial.value())}});
  };
  SuggestionSource source({{"x", uniform(0, 1)}}, {.num_samples = 2}, scripted(answer, &log));
  CHECK(dumped(suggest_all(source)) == Lines{R"({"x":0.5})", R"({"x":0.1})"});
  CHECK(log ==
        Lines{"setup -", "ask 0.0 {}", "ask 1.0 {}", "ask 1.1 {}", "ask 1.2 {}", "ask 1.3 {}"});
}

TEST_CASE("the request's chance is keyed by seed, trial and attempt", "[suggestion_source]") {
  std::vector<double> draws;
  const auto answer = [&draws](SuggestionRequest request) {
    draws.push_back(request.random.uniform());
    return Config(Json{{"n", request.attempt == 0 ? 0 : int(request.trial.value())}});
  };
  SuggestionSource source({{"n", randint(0, 9)}}, {.seed = 5, .num_samples = 2}, scripted(answer));
  (void)suggest_all(source);
  CHECK(draws == std::vector<double>{Random(5, "searcher", 0, 0).uniform(),
                                     Random(5, "searcher", 1, 0).uniform(),
                                     Random(5, "searcher", 1, 1).uniform()});
}

TEST_CASE("duplicates are kept if they may be", "[suggestion_source]") {
  SuggestionSource source({{"n", randint(0, 9)}}, {.num_samples = 4, .avoid_duplicates = false},
                          stubborn({{"n", 3}}));
  CHECK(distinct(suggest_all(source)).size() == 1);
}

TEST_CASE("a discrete space that is used up ends the search", "[suggestion_source]") {
  const SearchSpace space = {{"n", randint(0, 3)},
                             {"o", branch({{"k", {{"b", choice({1, 2})}}}, {"l", {}}})}};
  SuggestionSource source(space, {.num_samples = -1}, random_search());
  const std::vector<Config> configs = suggest_all(source);
  CHECK(configs.size() == 9);
  CHECK(distinct(configs).size() == 9);
  CHECK(std::holds_alternative<Exhausted>(source.suggest(TrialId(9))));
}

TEST_CASE("types tell configurations apart", "[suggestion_source]") {
  SuggestionSource source({{"n", choice({1, 1.0, true, "1", nullptr, 0.0, -0.0})}},
                          {.num_samples = 100}, random_search());
  CHECK(distinct(suggest_all(source)).size() == 7);
}

TEST_CASE("a cell that is used up is passed over, the others go on", "[suggestion_source]") {
  // Cell 1 has two configurations, cell 2 has any number.
  SuggestionSource source({{"a", branch({{1, {{"g", grid_search({0})}, {"n", randint(0, 2)}}},
                                         {2, {{"x", uniform(0, 1)}}}})}},
                          {.num_samples = 5}, random_search());
  CHECK(source.total() == 10);
  Lines cells;
  for (const Config& config : suggest_all(source)) cells.push_back(config["a"].json().dump());
  CHECK(cells == Lines{"1", "2", "1", "2", "2", "2", "2"});
}

TEST_CASE("the last free configurations are found though the searcher repeats itself",
          "[suggestion_source]") {
  Lines log;
  SuggestionSource source({{"n", randint(0, 5)}}, {.seed = 1, .num_samples = -1},
                          stubborn({{"n", 3}}, &log));
  const std::vector<Config> configs = suggest_all(source);
  CHECK(configs.front()["n"].get<int>() == 3);
  CHECK(distinct(configs).size() == 5);
  CHECK(configs.size() == 5);
  CHECK(log[2] == "ask 1.0 {}");
  CHECK(log[102] == "ask 1.100 {}");
  CHECK(log[103] == "ask 2.0 {}");
  // Which one is picked depends on the seed.
  std::set<int> second;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SuggestionSource other({{"n", randint(0, 5)}}, {.seed = seed, .num_samples = 2},
                           stubborn({{"n", 3}}));
    second.insert(suggest_all(other).at(1)["n"].get<int>());
  }
  CHECK(second == std::set<int>{0, 1, 2, 4});
}

TEST_CASE("where nothing can be listed a duplicate is taken in the end", "[suggestion_source]") {
  Lines log;
  SuggestionSource source({{"x", uniform(0, 1)}}, {.num_samples = 2}, stubborn({{"x", 0.5}}, &log));
  CHECK(suggest_all(source).size() == 2);
  CHECK(log.back() == "ask 1.1000 {}");
}

TEST_CASE("points count as seen, and run even if they repeat", "[suggestion_source]") {
  SuggestionSource source({{"n", randint(0, 3)}},
                          {.num_samples = 10, .points_to_evaluate = {{{"n", 1}}, {{"n", 1}}}},
                          random_search());
  const std::vector<Config> configs = suggest_all(source);
  CHECK(configs.size() == 4);
  CHECK(configs[1]["n"].get<int>() == 1);
  CHECK(distinct(configs).size() == 3);

  // A partial point runs even if all that it leaves open was there.
  SuggestionSource partial(
      {{"n", randint(0, 2)}, {"m", randint(0, 2)}},
      {.num_samples = 9, .points_to_evaluate = {{{"n", 1}}, {{"n", 1}}, {{"n", 1}}}},
      random_search());
  const std::vector<Config> all = suggest_all(partial);
  CHECK(all.size() == 5);
  CHECK(distinct(all).size() == 4);
}

TEST_CASE("equal draws are no duplicates where a function adds chance", "[suggestion_source]") {
  const auto noise = [](const Config&, Random& random) { return Json(random.uniform()); };
  const SearchSpace space = {{"n", choice({1, 2})}, {"f", sample_from(noise)}};
  SuggestionSource source(space, {.num_samples = 20}, random_search());
  CHECK(distinct(suggest_all(source)).size() == 20);
  // A function without chance gives no new configuration.
  const auto twice = [](const Config& config) { return Json(2 * config["n"].get<int>()); };
  SuggestionSource fixed({{"n", choice({1, 2})}, {"f", sample_from(twice)}}, {.num_samples = 20},
                         random_search());
  CHECK(suggest_all(fixed).size() == 2);
}

TEST_CASE("a searcher's waiting and ending are passed on", "[suggestion_source]") {
  int asked = 0;
  const auto answer = [&asked](const SuggestionRequest& request) -> Suggestion {
    if (++asked == 1) return Wait{};
    if (request.trial.value() == 2) return Exhausted{};
    return Config(Json{{"n", int(request.trial.value())}});
  };
  SuggestionSource source({{"n", randint(0, 9)}}, {.num_samples = -1}, scripted(answer));
  CHECK(std::holds_alternative<Wait>(source.suggest(TrialId(0))));
  CHECK(dumped(suggest_all(source)) == Lines{R"({"n":0})", R"({"n":1})"});
  CHECK(std::holds_alternative<Exhausted>(source.suggest(TrialId(2))));
}

TEST_CASE("the searcher is told what it wants to know", "[suggestion_source]") {
  Lines log;
  auto searcher = stubborn(Json::object(), &log);
  searcher->wants_results_ = false;
  searcher->objective_ = Objective{.metric = "own"};
  SuggestionSource source(SearchSpace(), {.objective = Objective{.metric = "loss"}},
                          std::move(searcher));
  source.on_trial_result(TrialId(0), Config(), Result(0.5));
  source.on_trial_completed(TrialId(0), Config(), Result(0.5));
  source.on_trial_failed(TrialId(1), Config(), true);
  CHECK(log == Lines{"setup own", "completed 0", "failed 1 infeasible"});

  Lines all;
  SuggestionSource curious(SearchSpace(), {.objective = Objective{.metric = "loss"}},
                           stubborn(Json::object(), &all));
  curious.on_trial_result(TrialId(0), Config(), Result(0.5, 3));
  CHECK(all == Lines{"setup loss", "result 0 3"});
}

TEST_CASE("what cannot work is refused before the first trial", "[suggestion_source]") {
  const SearchSpace space = {{"x", uniform(0, 1)}};
  CHECK_THROWS_WITH(SuggestionSource(space, {.num_samples = 0}, random_search()),
                    "num_samples is 0, must be at least 1, or -1 for no end");
  CHECK_THROWS_WITH(SuggestionSource(space, {.num_samples = -2}, random_search()),
                    "num_samples is -2, must be at least 1, or -1 for no end");
  CHECK_THROWS_AS(SuggestionSource(space, {}, nullptr), std::invalid_argument);
  auto needy = stubborn(Json::object());
  needy->needs_metric_ = true;
  CHECK_THROWS_WITH(SuggestionSource(space, {}, std::move(needy)),
                    "searcher scripted needs a metric and a mode, and there are none");
  SearchSpace vast;
  std::vector<Json> options;
  for (int i = 0; i < 256; ++i) options.emplace_back(i);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    vast.add(name, grid_search(options));
  }
  CHECK_THROWS_WITH(SuggestionSource(vast, {.num_samples = 1000}, random_search()),
                    "num_samples 1000 times 72057594037927936 grid cells are too many trials, "
                    "must be below 2^64");
  vast.add("h", grid_search(options));
  CHECK_THROWS_WITH(SuggestionSource(vast, {}, random_search()),
                    "the grid has too many configurations, must be below 2^64");
}

TEST_CASE("a large grid costs nothing until it is asked for", "[suggestion_source]") {
  SearchSpace space;
  std::vector<Json> options;
  for (int i = 0; i < 1000; ++i) options.emplace_back(i);
  for (const char* name : {"a", "b", "c", "d"}) space.add(name, grid_search(options));
  SuggestionSource source(space, {.points_to_evaluate = {{{"d", 1}}}}, random_search());
  CHECK(source.total() == 1'000'000'000'000);
  CHECK(dumped(suggest_all(source, 3)) == Lines{R"({"a":0,"b":0,"c":0,"d":1})",
                                                R"({"a":0,"b":0,"c":0,"d":0})",
                                                R"({"a":0,"b":0,"c":0,"d":2})"});
}

TEST_CASE("restore() goes on where save() was", "[suggestion_source]") {
  const auto make = [](std::unique_ptr<Searcher> searcher) {
    return SuggestionSource({{"g", grid_search({1, 2})}, {"n", randint(0, 3)}},
                            {.seed = 9, .num_samples = 5, .points_to_evaluate = {{{"n", 2}}}},
                            std::move(searcher));
  };
  SuggestionSource whole = make(random_search());
  const Lines expected = dumped(suggest_all(whole));
  CHECK(expected.size() == 6);
  for (std::uint64_t cut = 0; cut <= expected.size(); ++cut) {
    SuggestionSource first = make(random_search());
    Lines lines = dumped(suggest_all(first, cut));
    const Json state = Json::parse(first.save().dump());
    SuggestionSource second = make(random_search());
    second.restore(state);
    CHECK(second.save() == state);
    for (std::string& line : dumped(suggest_all(second, 100, cut))) lines.push_back(line);
    CHECK(lines == expected);
  }

  SuggestionSource first = make(stubborn({{"n", 0}}));
  (void)suggest_all(first, 3);  // the first is a point that leaves nothing to ask for
  SuggestionSource second = make(stubborn({{"n", 0}}));
  second.restore(first.save());
  CHECK(second.searcher().save() == 2);
}

}  // namespace
}  // namespace tune::engine
