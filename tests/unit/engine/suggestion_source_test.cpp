#include "engine/suggestion_source.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/grid.hpp>
#include <tune/searchers/random.hpp>

#include "support/scripted_searcher.hpp"
#include "support/suggestions.hpp"

namespace tune::engine {
namespace {

using test::dumped;
using test::scripted;
using test::stubborn;
using test::suggest_all;
using Lines = std::vector<std::string>;

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
  searcher->traits.wants_results = false;
  searcher->traits.objective = Objective{.metric = "own"};
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

TEST_CASE("a searcher with a mode alone goes by the experiment's metric", "[suggestion_source]") {
  auto searcher = stubborn(Json::object());
  searcher->traits.needs_metric = true;
  searcher->traits.objective = Objective{.metric = "", .mode = Mode::max};
  const SuggestionSource source(SearchSpace(), {.objective = Objective{.metric = "score"}},
                                std::move(searcher));
  const auto& told = dynamic_cast<const test::ScriptedSearcher&>(source.searcher()).told_objective;
  REQUIRE(told);
  CHECK(told->metric == "score");
  CHECK(told->mode == Mode::max);

  auto alone = stubborn(Json::object());
  alone->traits.needs_metric = true;
  alone->traits.objective = Objective{.metric = "", .mode = Mode::max};
  CHECK_THROWS_WITH(SuggestionSource(SearchSpace(), {}, std::move(alone)),
                    "searcher scripted needs a metric and a mode, and there are none");
}

TEST_CASE("what cannot work is refused before the first trial", "[suggestion_source]") {
  const SearchSpace space = {{"x", uniform(0, 1)}};
  CHECK_THROWS_WITH(SuggestionSource(space, {.num_samples = 0}, random_search()),
                    "num_samples is 0, must be at least 1, or -1 for no end");
  CHECK_THROWS_WITH(SuggestionSource(space, {.num_samples = -2}, random_search()),
                    "num_samples is -2, must be at least 1, or -1 for no end");
  CHECK_THROWS_AS(SuggestionSource(space, {}, nullptr), std::invalid_argument);
  auto needy = stubborn(Json::object());
  needy->traits.needs_metric = true;
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

/// Spaces with all that a suggestion's turn depends on.
SuggestionSource source_of(int kind) {
  switch (kind) {
    case 0:
      return {{{"g", grid_search({1, 2, 3})}, {"x", uniform(0, 1)}},
              {.num_samples = 4, .points_to_evaluate = {{{"g", 2}, {"x", 0.5}}, {{"x", 0.25}}}},
              random_search()};
    case 1:  // few configurations, so that duplicates are redrawn and cells used up
      return {
          {{"g", grid_search({1, 2})}, {"n", randint(0, 3)}}, {.num_samples = 9}, random_search()};
    case 2:
      return {{{"a", choice({1, 2, 3})}, {"b", choice({"x", "y"})}}, {.num_samples = 2}, grid()};
    default:
      return {{{"c", 7}, {"n", randint(0, 40)}, {"f", sample_from([](const Config& c) {
                                                   return Json(c["n"].get<int>() * 2);
                                                 })}},
              {.num_samples = 30},
              random_search()};
  }
}

TEST_CASE("suggestions on record stand for those that were asked for", "[suggestion_source]") {
  const int kind = GENERATE(0, 1, 2, 3);
  CAPTURE(kind);
  SuggestionSource whole = source_of(kind);
  const std::vector<Config> all = suggest_all(whole);
  for (std::size_t known = 0; known <= all.size(); ++known) {
    CAPTURE(known);
    SuggestionSource source = source_of(kind);
    for (std::size_t i = 0; i < known; ++i) source.take_suggestion(TrialId(i), all[i]);
    for (std::size_t i = known; i < all.size(); ++i) {
      const Suggestion next = source.suggest(TrialId(i));
      REQUIRE(std::holds_alternative<Config>(next));
      CHECK(std::get<Config>(next) == all[i]);
    }
    CHECK(std::holds_alternative<Exhausted>(source.suggest(TrialId(all.size()))));
    CHECK(source.save() == whole.save());
  }
}

TEST_CASE("a searcher hears of each trial, asked for or on record", "[suggestion_source]") {
  class Listener final : public Searcher {
   public:
    explicit Listener(Lines& heard) : heard_(heard) {}
    [[nodiscard]] bool needs_metric() const override { return false; }
    void setup(const SearcherSetup&) override {}
    Suggestion suggest(const SuggestionRequest& request) override {
      heard_.push_back("asked " + std::to_string(request.trial.value()));
      return Config(Json{{"n", 1}});
    }
    void on_trial_added(TrialId id, const Config& config) override {
      heard_.push_back("added " + std::to_string(id.value()) + " " + config.dump());
    }

   private:
    Lines& heard_;
  };
  Lines heard;
  SuggestionSource source({{"n", randint(0, 9)}, {"c", 5}},
                          {.num_samples = 3, .avoid_duplicates = false},
                          std::make_unique<Listener>(heard));
  source.take_suggestion(TrialId(0), Config(Json{{"n", 4}, {"c", 5}}));
  (void)source.suggest(TrialId(1));
  CHECK(heard == Lines{R"(added 0 {"c":5,"n":4})", "asked 1", R"(added 1 {"c":5,"n":1})"});
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

TEST_CASE("a searcher is told how many trials there will be", "[suggestion_source]") {
  const auto told = [](const SearchSpace& space, std::int64_t num_samples) {
    auto searcher = stubborn({{"x", 0.5}});
    const auto& same = *searcher;
    const SuggestionSource source(space, {.num_samples = num_samples}, std::move(searcher));
    return same.told_trials;
  };
  CHECK(told({{"x", uniform(0, 1)}}, 7) == 7u);
  CHECK(told({{"x", uniform(0, 1)}, {"g", grid_search({1, 2, 3})}}, 7) == 21u);
  CHECK(told({{"x", uniform(0, 1)}}, -1) == std::nullopt);
}

TEST_CASE("what a searcher has to say comes with its configuration, once", "[suggestion_source]") {
  auto searcher = stubborn({{"x", 0.5}});
  auto& same = *searcher;
  SuggestionSource source({{"x", uniform(0, 1)}}, {.num_samples = 3, .avoid_duplicates = false},
                          std::move(searcher));
  same.next_note = "begins";
  std::string note;
  (void)source.suggest(TrialId(0), &note);
  CHECK(note == "begins");
  (void)source.suggest(TrialId(1), &note);
  CHECK(note.empty());
}

// Keeps the default: nothing to save, told everything again.
class Forgetful final : public Searcher {
 public:
  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest&) override { return Config(Json{{"x", 0.5}}); }
};

TEST_CASE("there is no state to save without the searcher's", "[suggestion_source]") {
  SuggestionSource source({{"x", uniform(0, 1)}}, {.objective = Objective{"loss"}},
                          std::make_unique<Forgetful>());
  (void)source.suggest(TrialId(0));
  CHECK(source.save().is_null());
}

bool is_rising(const Config& config) { return config["a"].get<int>() < config["b"].get<int>(); }

SearchSpace rising_space(Domain a, Domain b) {
  SearchSpace space{{"a", std::move(a)}, {"b", std::move(b)}};
  space.require("a is below b", is_rising);
  return space;
}

TEST_CASE("configurations that a constraint forbids are not tried", "[suggestion_source]") {
  SuggestionSource drawn(rising_space(randint(0, 1000), randint(0, 1000)), {.num_samples = 200},
                         random_search());
  const std::vector<Config> configs = suggest_all(drawn);
  CHECK(configs.size() == 200);
  for (const Config& config : configs) CHECK(is_rising(config));
}

TEST_CASE("grids pass over what a constraint forbids", "[suggestion_source]") {
  const std::vector<std::string> rising = {R"({"a":0,"b":1})", R"({"a":0,"b":2})",
                                           R"({"a":1,"b":2})"};
  SuggestionSource axes(rising_space(grid_search({0, 1, 2}), grid_search({0, 1, 2})), {},
                        random_search());
  CHECK(dumped(suggest_all(axes)) == rising);
  SuggestionSource all(rising_space(randint(0, 3), randint(0, 3)), {}, grid());
  CHECK(dumped(suggest_all(all)) == rising);
}

TEST_CASE("a constrained space that is used up ends the search", "[suggestion_source]") {
  SuggestionSource source(rising_space(randint(0, 3), randint(0, 3)), {.num_samples = -1},
                          random_search());
  std::vector<std::string> tried = dumped(suggest_all(source));
  std::sort(tried.begin(), tried.end());
  CHECK(tried ==
        std::vector<std::string>{R"({"a":0,"b":1})", R"({"a":0,"b":2})", R"({"a":1,"b":2})"});
}

TEST_CASE("a small allowed part of a large space is found", "[suggestion_source]") {
  SearchSpace space{{"x", uniform(0, 1)}, {"n", 3}};
  space.require("narrow", [](const Config& config) {
    return config["x"].get<double>() < 0.001 && config["n"].get<int>() == 3;
  });
  SuggestionSource source(space, {.num_samples = 20}, random_search());
  CHECK(suggest_all(source).size() == 20);
}

TEST_CASE("a space without any allowed configuration is an error, not an empty search",
          "[suggestion_source]") {
  const auto never = [](const Config&) { return false; };
  SearchSpace wide{{"x", uniform(0, 1)}};
  SearchSpace small{{"a", grid_search({1, 2})}};
  wide.require("never", never);
  small.require("never", never);
  SuggestionSource first(wide, {}, random_search());
  CHECK_THROWS_WITH(first.suggest(TrialId(0)),
                    "none of 100000 configurations drawn with {} is allowed by constraint "
                    "\"never\"");
  SuggestionSource second(small, {}, random_search());
  CHECK_THROWS_WITH(second.suggest(TrialId(0)),
                    "no configuration of the search space is allowed by constraint \"never\"");
}

TEST_CASE("a grid cell without an allowed configuration is passed over, and that is said",
          "[suggestion_source]") {
  SearchSpace space{{"g", grid_search({1, 2})}, {"x", uniform(0, 1)}};
  space.require("not 1", [](const Config& config) { return config["g"].get<int>() != 1; });
  SuggestionSource source(space, {.num_samples = 2}, random_search());
  std::string note;
  const auto first = std::get<Config>(source.suggest(TrialId(0), &note));
  CHECK(first["g"].get<int>() == 2);
  CHECK(
      note ==
      "none of 100000 configurations drawn with {\"g\":1} is allowed by constraint \"not 1\", this "
      "grid cell is passed over");
  CHECK(suggest_all(source, 1000, 1).size() == 1);
}

TEST_CASE("a point of the user that a constraint forbids is refused before the start",
          "[suggestion_source]") {
  const SearchSpace space = rising_space(randint(0, 3), randint(0, 3));
  const auto with_point = [&](const Json& point) {
    return SuggestionSource(space, {.points_to_evaluate = {point}}, random_search());
  };
  CHECK_THROWS_WITH(with_point({{"a", 2}, {"b", 1}}),
                    "points_to_evaluate[0]: {\"a\":2,\"b\":1} is not allowed by constraint "
                    "\"a is below b\"");
  // What it leaves open is filled in as the constraint allows; where that cannot be it is said.
  SuggestionSource open = with_point({{"a", 1}});
  CHECK(std::get<Config>(open.suggest(TrialId(0))).dump() == R"({"a":1,"b":2})");
  SuggestionSource closed = with_point({{"a", 2}});
  CHECK_THROWS_WITH(closed.suggest(TrialId(0)),
                    Catch::StartsWith("no configuration with {\"a\":2} is allowed by"));
}

TEST_CASE("a constraint that throws is named, with the configuration", "[suggestion_source]") {
  SearchSpace space{{"x", randint(3, 4)}};
  space.require("reads y", [](const Config& config) { return config["y"].get<int>() > 0; });
  SuggestionSource source(space, {}, random_search());
  CHECK_THROWS_WITH(source.suggest(TrialId(0)),
                    Catch::StartsWith("constraint \"reads y\" threw for {\"x\":3}: "));
}

}  // namespace
}  // namespace tune::engine
