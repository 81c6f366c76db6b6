#include <tune/searchers/gp.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/searchers/builtin.hpp>

#include "engine/suggestion_source.hpp"
#include "support/suggestions.hpp"

namespace tune {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A search that is told results by hand.
class Told {
 public:
  explicit Told(SearchSpace space, Mode mode = Mode::min, const GpOptions& options = {})
      : space_(std::move(space)), searcher_(gp(options)) {
    searcher_->setup({.space = &space_, .objective = Objective{"loss", mode}, .seed = 1});
  }

  void add(const Json& config, double target, std::int64_t iteration = 1, bool stopped = false) {
    const Config whole(config);
    Result result(target, iteration);
    result.stopped_by_scheduler = stopped;
    searcher_->on_trial_added(TrialId(next_), whole);
    searcher_->on_trial_completed(TrialId(next_++), whole, result);
  }
  Json ask() {
    const TrialId id(next_++);
    const Suggestion answer = searcher_->suggest(
        {.trial = id, .fixed = Config(Json::object()), .random = Random(1, "ask", id.value())});
    searcher_->on_trial_added(id, std::get<Config>(answer));
    asked_.push_back(id);
    return std::get<Config>(answer).json();
  }
  // Ten suggestions, all of the space, that are not all the same.
  void check_ten() {
    std::set<std::string> distinct;
    for (int i = 0; i < 10; ++i) {
      const Json config = ask();
      INFO(config);
      for (const auto& parameter : space_.parameters()) {
        CHECK(parameter.domain.contains(config.at(parameter.path)));
      }
      distinct.insert(config.dump());
    }
    CHECK(distinct.size() > 1);
    CHECK(searcher_->take_note().empty());  // the model was there
  }
  Searcher& searcher() { return *searcher_; }

 private:
  SearchSpace space_;
  std::unique_ptr<Searcher> searcher_;
  std::uint64_t next_ = 0;
  std::vector<TrialId> asked_;
};

SearchSpace unit_square() { return {{"x", uniform(0, 1)}, {"y", uniform(0, 1)}}; }

Json place(double x, double y) { return {{"x", x}, {"y", y}}; }

double branin(const Config& config) {
  const double x = 15 * config["x"].get<double>() - 5;
  const double y = 15 * config["y"].get<double>();
  const double a =
      y - 5.1 / (4 * std::numbers::pi * std::numbers::pi) * x * x + 5 / std::numbers::pi * x - 6;
  return a * a + 10 * (1 - 1 / (8 * std::numbers::pi)) * std::cos(x) + 10;
}

// The least value of `count` trials, one at a time.
template <class Value>
double least(const SearchSpace& space, std::uint64_t count, std::uint64_t seed,
             const Value& value) {
  engine::SuggestionSource source(
      space, {.objective = Objective{"loss"}, .seed = seed, .num_samples = -1}, gp());
  double best = infinity;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Suggestion answer = source.suggest(TrialId(i));
    const auto& config = std::get<Config>(answer);
    const double loss = value(config);
    source.on_trial_completed(TrialId(i), config, Result(loss));
    best = std::min(best, loss);
  }
  return best;
}

TEST_CASE("gp finds the least value of a smooth function in 40 trials", "[gp]") {
  for (const std::uint64_t seed : {1, 2, 3}) CHECK(least(unit_square(), 40, seed, branin) < 0.41);
}

TEST_CASE("gp begins in the middle of the space", "[gp]") {
  Told told({{"lr", loguniform(1e-4, 1e-2)}, {"n", randint(0, 9)}, {"o", choice({"a", "b"})}});
  const Json first = told.ask();
  CHECK(first.at("lr").get<double>() == Approx(1e-3));
  CHECK(first.at("n") == 4);
  CHECK(told.ask().at("lr") != first.at("lr"));
}

TEST_CASE("gp leaves the branch in which the first trials were best", "[gp]") {
  const SearchSpace space = {
      {"model", branch({{"flat", {{"a", uniform(0, 1)}}},
                        {"steep", {{"b", uniform(0, 1)}, {"c", uniform(0, 1)}}}})}};
  const auto value = [](const Config& config) {
    if (config["model"].get<std::string>() == "flat") {
      return 0.1 + 0.1 * std::abs(config["a"].get<double>() - 0.3);
    }
    return 3 * (std::pow(config["b"].get<double>() - 0.8, 2) +
                std::pow(config["c"].get<double>() - 0.7, 2));
  };
  for (const std::uint64_t seed : {1, 2, 3}) CHECK(least(space, 60, seed, value) < 0.01);
}

TEST_CASE("SE-03: values that are not finite, and huge ones, do not stop the model", "[SE-03]") {
  for (const Mode mode : {Mode::min, Mode::max}) {
    Told told(unit_square(), mode);
    const double values[] = {1, 2,   std::nan(""), infinity, -infinity, 1e300,
                             3, 1.5, 2.5,          4,        0.5,       2};
    for (std::size_t i = 0; i < std::size(values); ++i) {
      const double t = static_cast<double>(i) / 12;
      told.add(place(t, std::fmod(5 * t, 1.0)), values[i]);
    }
    told.check_ten();
  }
}

TEST_CASE("SE-03: minus infinity is the worst where values are maximised", "[SE-03]") {
  Told told({{"x", uniform(0, 1)}}, Mode::max, {.noise = 0.0});
  for (int i = 0; i <= 12; ++i) {
    told.add({{"x", i / 16.0}}, i == 12 ? -infinity : static_cast<double>(i));
  }
  const double next = told.ask().at("x").get<double>();
  CHECK((next > 8 / 16.0 && next < 12 / 16.0));  // beside the best, at 11 / 16
}

TEST_CASE("SE-04: equal points, equal values and points that nearly agree", "[SE-04]") {
  for (const std::optional<double> noise : {std::optional<double>(), std::optional(0.0)}) {
    Told same(unit_square(), Mode::min, {.noise = noise});
    for (int i = 0; i < 50; ++i) same.add(place(0.25, 0.5), 1 + 0.01 * (i % 3));
    same.check_ten();

    Told constant(unit_square(), Mode::min, {.noise = noise});
    for (int i = 0; i < 50; ++i) constant.add(place(i / 50.0, (7 * i % 50) / 50.0), 0);
    constant.check_ten();

    Told near(unit_square(), Mode::min, {.noise = noise});
    for (int i = 0; i < 23; ++i) near.add(place(i / 23.0, (5 * i % 23) / 23.0), i % 7);
    for (int i = 0; i < 40; ++i) near.add(place(0.3 + i * 2.5e-14, 0.6), 0.5);
    near.check_ten();
  }
}

TEST_CASE("PE-03: a history beyond the cap", "[PE-03]") {
  Told told(unit_square(), Mode::min, {.max_observations = 60});
  Random random(3, "history");
  for (int i = 0; i < 200; ++i) {
    const double x = random.uniform();
    const double y = random.uniform();
    told.add(place(x, y), std::pow(x - 0.5, 2) + std::pow(y - 0.5, 2));
  }
  told.check_ten();
  CHECK(told.searcher().save().at("model").at("rows").size() <= 63);
  CHECK(told.searcher().save().at("model").at("left_out").size() >= 137);
}

// `count` configurations, of trials whose results come at once.
std::vector<Config> search(const SearchSpace& space, std::uint64_t count) {
  engine::SuggestionSource source(space,
                                  {.objective = Objective{"loss"},
                                   .seed = 3,
                                   .num_samples = static_cast<std::int64_t>(count),
                                   .avoid_duplicates = false},
                                  gp());
  std::vector<Config> configs;
  for (std::uint64_t i = 0; i < count; ++i) {
    configs.push_back(std::get<Config>(source.suggest(TrialId(i))));
    source.on_trial_completed(TrialId(i), configs.back(), Result(Random(1, "loss", i).uniform()));
  }
  return configs;
}

TEST_CASE("SS-07: gp keeps the bounds of integers", "[SS-07]") {
  const SearchSpace space = {{"n", randint(0, 10)}, {"one", randint(1, 2)}, {"x", uniform(0, 1)}};
  for (const Config& config : search(space, 100)) {
    CHECK((config["n"].get<std::int64_t>() >= 0 && config["n"].get<std::int64_t>() < 10));
    CHECK(config["one"].get<std::int64_t>() == 1);
  }
}

TEST_CASE("SS-09: gp tells options of equal look apart, and tries each", "[SS-09]") {
  std::set<std::string> seen;
  for (const Config& config :
       search({{"o", choice({1, 1.0, true, "1"})}, {"x", uniform(0, 1)}}, 60)) {
    seen.insert(config["o"].json().dump());
  }
  CHECK(seen == std::set<std::string>{"1", "1.0", "true", "\"1\""});
}

TEST_CASE("SS-12: integers from gp stay integers", "[SS-12]") {
  for (const Config& config : search({{"depth", randint(3, 8)}, {"n", qrandint(10, 40, 10)}}, 40)) {
    CHECK(config["depth"].json().is_number_integer());
    CHECK(config["n"].get<std::int64_t>() % 10 == 0);
    CHECK(config["n"].json().dump().find('.') == std::string::npos);
  }
}

TEST_CASE("SS-16: gp takes normal domains", "[SS-16]") {
  for (const Config& config : search({{"z", normal(0, 1)}, {"x", uniform(0, 1)}}, 30)) {
    CHECK(std::isfinite(config["z"].get<double>()));
  }
}

TEST_CASE("SE-01: sixteen suggestions of gp without a result in between differ", "[SE-01]") {
  Told continuous({{"x", uniform(0, 1)}});
  Told whole({{"x", randint(0, 100)}});
  for (int i = 0; i < 10; ++i) {
    continuous.add({{"x", i / 10.0}}, std::abs(i - 6.3));
    whole.add({{"x", 10 * i}}, std::abs(i - 6.3));
  }
  std::set<double> places;
  std::set<int> integers;
  for (int i = 0; i < 16; ++i) {
    places.insert(continuous.ask().at("x").get<double>());
    integers.insert(whole.ask().at("x").get<int>());
  }
  CHECK(places.size() == 16);
  CHECK(*places.rbegin() - *places.begin() > 0.02);
  CHECK(integers.size() >= 12);
}

TEST_CASE("SE-09: gp with one start-up trial and no result yet", "[SE-09]") {
  Told told(unit_square(), Mode::min, {.startup_trials = 1});
  told.check_ten();
  told.add(place(0.5, 0.5), 1);
  told.check_ten();
}

TEST_CASE(
    "a trial that was stopped early counts as no better than the median of those that were not",
    "[gp]") {
  // Early values around 0.9 look best, but nobody knows where they would have ended.
  Told told({{"x", uniform(0, 1)}}, Mode::min, {.noise = 0.0});
  for (int i = 0; i < 8; ++i) told.add({{"x", i / 10.0}}, 1 + std::abs(i - 3.0), 9);
  for (int i = 0; i < 8; ++i) told.add({{"x", 0.85 + i / 60.0}}, 0.01, 1, true);
  CHECK(told.ask().at("x").get<double>() < 0.5);
}

TEST_CASE("gp goes on from its saved state and from the record with the same suggestions", "[gp]") {
  const SearchSpace space = {{"x", uniform(0, 1)}, {"k", choice({"a", "b"})}};
  const auto make = [&] {
    auto searcher = gp();
    searcher->setup({.space = &space, .objective = Objective{"loss", Mode::min}, .seed = 1});
    return searcher;
  };
  const auto ask = [&](Searcher& searcher, std::uint64_t id) {
    return std::get<Config>(searcher.suggest({.trial = TrialId(id),
                                              .fixed = Config(Json::object()),
                                              .random = Random(1, "searcher", id)}));
  };
  const auto end = [](Searcher& searcher, std::uint64_t id, const Config& config) {
    searcher.on_trial_completed(TrialId(id), config, Result(Random(5, "loss", id).uniform()));
  };
  const auto whole = make();
  const auto told_again = make();
  std::vector<Config> configs;
  for (std::uint64_t id = 0; id < 45; ++id) {
    configs.push_back(ask(*whole, id));
    whole->on_trial_added(TrialId(id), configs.back());
    told_again->on_trial_added(TrialId(id), configs.back());  // nobody asks it
    if (id < 3) continue;                                     // three run at a time
    end(*whole, id - 3, configs[id - 3]);
    end(*told_again, id - 3, configs[id - 3]);
  }
  const Json state = Json::parse(whole->save().dump());
  CHECK(told_again->save() == state);
  const auto restored = make();
  restored->restore(state);
  CHECK(restored->save() == state);
  for (std::uint64_t id = 45; id < 60; ++id) {
    const Config config = ask(*whole, id);
    CHECK(ask(*restored, id) == config);
    CHECK(ask(*told_again, id) == config);
    for (Searcher* searcher : {whole.get(), restored.get(), told_again.get()}) {
      searcher->on_trial_added(TrialId(id), config);
      end(*searcher, id, config);
    }
  }
}

TEST_CASE("gp keeps to a constraint that leaves little", "[gp]") {
  SearchSpace space = unit_square();
  space.require("corner", [](const Config& config) {
    return config["x"].get<double>() + config["y"].get<double>() > 1.6;
  });
  std::size_t count = 0;
  for (const Config& config : search(space, 30)) {
    ++count;
    CHECK(space.is_allowed(config.json()));
  }
  CHECK(count == 30);
}

TEST_CASE("gp refuses options out of range", "[gp]") {
  CHECK_THROWS_WITH(gp({.startup_trials = 0}), "gp: startup_trials must be at least 1, is 0");
  CHECK_THROWS_WITH(gp({.noise = -0.5}), Catch::StartsWith("gp: noise must be in [0, 1], is -0.5"));
  CHECK_THROWS_AS(gp({.noise = std::nan("")}), std::invalid_argument);
  CHECK_THROWS_WITH(gp({.max_observations = 9}), "gp: max_observations must be at least 10, is 9");
  register_builtin_searchers();
  const auto made = make_searcher("gp", {{"noise", 0.5}, {"startup_trials", 3}});
  CHECK(made->options() ==
        Json{{"name", "gp"}, {"startup_trials", 3}, {"noise", 0.5}, {"max_observations", 1000}});
  CHECK(make_searcher("gp", gp()->options())->options() == gp()->options());
  CHECK_THROWS_WITH(make_searcher("gp", {{"noise", "low"}}),
                    "gp: noise is \"low\", want a number or null");
}

}  // namespace
}  // namespace tune
