#include <tune/searchers/cma_es.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/searchers/builtin.hpp>
#include <tune/searchers/random.hpp>

#include "searcher_rig.hpp"

namespace tune::test {
namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

engine::SuggestionOptions seeded(std::uint64_t seed) { return {.seed = seed, .num_samples = -1}; }

SearchSpace cube(int parameters) {
  SearchSpace space;
  for (int i = 0; i < parameters; ++i) space.add("x" + std::to_string(i), uniform(-5, 10));
  return space;
}

double shifted_sphere(const Config& config) {
  double sum = 0;
  for (const auto& [name, value] : config.json().items()) {
    sum += std::pow(value.get<double>() - 1, 2);
  }
  return sum;
}

// The median over five seeds of the best of `trials`.
double median_best(const SearchSpace& space, const CmaEsOptions& options,
                   const SearcherRig::Loss& loss, std::size_t trials, std::size_t at_once = 1) {
  std::vector<double> bests;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SearcherRig rig(space, cma_es(options), seeded(seed));
    rig.run(trials, loss, at_once);
    bests.push_back(rig.best(loss));
  }
  std::sort(bests.begin(), bests.end());
  return bests[2];
}

TEST_CASE("CMA-ES finds a minimum, alone and with many trials at once", "[cma_es]") {
  CHECK(median_best(cube(5), {}, shifted_sphere, 250) < 1e-2);
  CHECK(median_best(cube(5), {.candidates = 1}, shifted_sphere, 500) < 1e-1);
  CHECK(median_best(cube(5), {}, shifted_sphere, 600, 32) < 1e-1);
}

TEST_CASE("CMA-ES keeps to the bounds, and finds a minimum on them", "[cma_es]") {
  const SearchSpace space = {{"x", loguniform(1e-3, 10)}, {"y", uniform(0, 1)}};
  const auto loss = [](const Config& config) {
    return std::log(config["x"].get<double>()) - config["y"].get<double>();
  };
  CHECK(median_best(space, {}, loss, 150) < std::log(1e-3) - 1 + 0.05);
}

TEST_CASE("CMA-ES maximises where the mode says so", "[cma_es]") {
  SearcherRig rig(
      cube(2), cma_es(),
      {.objective = Objective{.metric = "score", .mode = Mode::max}, .seed = 1, .num_samples = -1});
  rig.run(120, [](const Config& config) { return -shifted_sphere(config); });
  CHECK(rig.best(shifted_sphere) < 1e-2);
}

TEST_CASE("CMA-ES sees the order of losses alone, its model too", "[cma_es]") {
  const auto configs = [](const SearcherRig::Loss& loss) {
    SearcherRig rig(cube(3), cma_es());
    rig.run(60, loss);
    return rig.configs();
  };
  CHECK(configs(shifted_sphere) ==
        configs([](const Config& config) { return std::atan(shifted_sphere(config)) * 1e9; }));
}

TEST_CASE("SE-05: options are drawn by a rule of which the log is told once", "[SE-05]") {
  const SearchSpace space = {{"x", uniform(-1, 1)}, {"k", choice({"a", "b", "c"})}};
  const auto notes = [](const SearchSpace& searched) {
    engine::SuggestionSource source(
        searched, {.objective = Objective{.metric = "loss"}, .num_samples = -1}, cma_es());
    std::vector<std::string> said(3);
    for (std::uint64_t i = 0; i < 3; ++i) (void)source.suggest(TrialId(i), &said[i]);
    return said;
  };
  CHECK(notes(space) ==
        std::vector<std::string>{"cma_es has no order for the options of k: they are drawn by "
                                 "probabilities that follow the better trials",
                                 "", ""});
  CHECK(notes(cube(2)) == std::vector<std::string>(3));

  // The rule: the better option is drawn more and more often, the others never die out.
  const auto loss = [](const Config& config) {
    const double x = config["x"].get<double>();
    return x * x + (config["k"].get<std::string>() == "b" ? 0 : 1);
  };
  std::map<std::string, int> last;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SearcherRig rig(space, cma_es({.candidates = 1}), seeded(seed));
    rig.run(160, loss);
    for (std::size_t i = 80; i < 160; ++i) ++last[rig.configs()[i]["k"].get<std::string>()];
  }
  CHECK(last["b"] > 200);
  CHECK(last["a"] > 0);
  CHECK(last["c"] > 0);
}

TEST_CASE("SE-06: integers at the edges stay in range, and their values are learnt from",
          "[SE-06]") {
  const SearchSpace space = {{"num", randint(0, 16)}, {"denom", randint(1, 3)}};
  engine::SuggestionOptions options = seeded(28);
  options.avoid_duplicates = false;
  const auto loss = [](const Config& config) {
    return std::abs(config["num"].get<double>() / config["denom"].get<double>() - 15);
  };
  SearcherRig rig(space, cma_es(), options);
  rig.run(60, loss);
  REQUIRE(rig.configs().size() == 60);
  for (const Config& config : rig.configs()) {
    CHECK((config["num"].get<int>() >= 0 && config["num"].get<int>() <= 15));
    CHECK((config["denom"].get<int>() >= 1 && config["denom"].get<int>() <= 2));
  }
  CHECK(rig.best(loss) == 0);
  // The places in its state are the centres of the values.
  const Json saved = rig.source().save();
  for (const Json& member : saved.at("searcher").at("members")) {
    const auto place = member.at(1).get<std::vector<double>>();
    CHECK(place[0] * 16 - std::floor(place[0] * 16) == Approx(0.5));
    CHECK(place[1] * 2 - std::floor(place[1] * 2) == Approx(0.5));
  }
}

TEST_CASE("integers do not freeze at a value", "[cma_es]") {
  const SearchSpace space = {{"n", randint(0, 20)}, {"x", uniform(0, 1)}, {"y", uniform(0, 1)}};
  engine::SuggestionOptions options = seeded(3);
  options.avoid_duplicates = false;
  const auto flat_first = [](const Config& config) {
    // As long as x and y are not right n is of no account.
    const double x = config["x"].get<double>() - 0.2;
    const double y = config["y"].get<double>() - 0.9;
    return x * x + y * y + 1e-2 * std::abs(config["n"].get<int>() - 15);
  };
  SearcherRig rig(space, cma_es(), options);
  rig.run(400, flat_first);
  std::set<int> late;
  for (std::size_t i = 300; i < 400; ++i) late.insert(rig.configs()[i]["n"].get<int>());
  CHECK(late.size() > 1);
  CHECK(rig.best(flat_first) < 1e-3);
}

TEST_CASE("SE-03: values that are not finite are the worst, and leave the search going",
          "[SE-03]") {
  const double values[] = {1, 2, nan_value, infinity, -infinity, 1e300, 3, 2, nan_value, 5, 4, 1.5};
  for (const Mode mode : {Mode::min, Mode::max}) {
    SearcherRig rig(
        cube(2), cma_es(),
        {.objective = Objective{.metric = "loss", .mode = mode}, .seed = 1, .num_samples = -1});
    for (std::size_t i = 0; i < 12; ++i) {
      REQUIRE(rig.ask());
      rig.complete(i, values[i]);
    }
    std::set<std::string> distinct;
    for (int i = 0; i < 10; ++i) {
      REQUIRE(rig.ask());
      distinct.insert(rig.configs().back().dump());
      rig.complete(rig.configs().size() - 1, i % 2 == 0 ? infinity : -infinity);
    }
    CHECK(distinct.size() == 10);
  }
}

TEST_CASE("SE-04: values that are all the same leave the search going", "[SE-04]") {
  SearcherRig rig(cube(2), cma_es());
  rig.run(50, [](const Config&) { return 0.0; });
  std::set<std::string> distinct;
  for (int i = 0; i < 10; ++i) {
    REQUIRE(rig.ask());
    distinct.insert(rig.configs().back().dump());
  }
  CHECK(distinct.size() == 10);
}

TEST_CASE("failed trials and stopped ones stand behind those that completed", "[cma_es]") {
  // Half of the space fails, or is stopped with a value that looks better.
  for (const bool fails : {true, false}) {
    SearcherRig rig({{"x", uniform(0, 1)}, {"y", uniform(0, 1)}}, cma_es());
    for (std::size_t i = 0; i < 90; ++i) {
      REQUIRE(rig.ask());
      const double x = rig.configs().back()["x"].get<double>();
      if (x < 0.6) {
        fails ? rig.fail(i, i % 2 == 0) : rig.complete(i, -100, true, 3);
      } else {
        rig.complete(i, x, false, 9);
      }
    }
    int bad = 0;
    for (std::size_t i = 60; i < 90; ++i) bad += rig.configs()[i]["x"].get<double>() < 0.6 ? 1 : 0;
    CHECK(bad < 15);
    double best = 1;
    for (const Config& config : rig.configs()) {
      const double x = config["x"].get<double>();
      if (x >= 0.6) best = std::min(best, x);
    }
    CHECK(best < 0.61);
  }
}

TEST_CASE("a search in which all fails draws on", "[cma_es]") {
  SearcherRig rig(cube(2), cma_es());
  std::set<std::string> distinct;
  for (std::size_t i = 0; i < 40; ++i) {
    REQUIRE(rig.ask());
    distinct.insert(rig.configs().back().dump());
    rig.fail(i);
  }
  CHECK(distinct.size() == 40);
}

TEST_CASE("trials that end late, and any number at once, are learnt from", "[cma_es]") {
  SearcherRig rig(cube(3), cma_es());
  // One never ends; the others do three generations after they began.
  REQUIRE(rig.ask());
  for (std::size_t i = 1; i < 300; ++i) {
    REQUIRE(rig.ask());
    if (i > 20) rig.complete(i - 20, shifted_sphere(rig.configs()[i - 20]));
  }
  CHECK(rig.best(shifted_sphere) < 0.05);
}

TEST_CASE("conditional parameters: the branch is learnt, and what is not taken is not",
          "[cma_es]") {
  const SearchSpace space = {
      {"opt", branch({{"a", {{"p", uniform(0, 1)}}}, {"b", {{"q", uniform(0, 1)}}}})},
      {"x", uniform(0, 1)}};
  const auto loss = [](const Config& config) {
    const double x = config["x"].get<double>() - 0.3;
    if (config.contains("q")) return x * x + std::pow(config["q"].get<double>() - 0.8, 2);
    return x * x + 1 + config["p"].get<double>();
  };
  CHECK(median_best(space, {}, loss, 150) < 1e-3);
}

TEST_CASE("what a constraint refuses is drawn again, near where it was", "[cma_es]") {
  SearchSpace space = cube(3);
  int refused = 0;
  space.require("x0 below x1", [&refused](const Config& config) {
    const bool allowed = config["x0"].get<double>() < config["x1"].get<double>();
    refused += allowed ? 0 : 1;
    return allowed;
  });
  const auto loss = [](const Config& config) {
    return std::pow(config["x0"].get<double>() - 4, 2) +
           std::pow(config["x1"].get<double>() - 3, 2) + std::pow(config["x2"].get<double>(), 2);
  };
  CHECK(median_best(space, {}, loss, 200) < 0.51);  // 0.5 on the border
  CHECK(refused > 0);
}

TEST_CASE("CMA-ES starts at x0, with sigma0 around it", "[cma_es]") {
  SearcherRig rig(cube(2), cma_es({.sigma0 = 0.01, .x0 = {{"x0", 7.0}}}));
  for (int i = 0; i < 6; ++i) {
    REQUIRE(rig.ask());
    CHECK(rig.configs().back()["x0"].get<double>() == Approx(7).margin(0.75));
    CHECK(rig.configs().back()["x1"].get<double>() == Approx(2.5).margin(0.75));
  }
}

TEST_CASE("CMA-ES goes on from the trials of another search", "[cma_es]") {
  // The best of it lie along a valley: x0 near 8, x1 and x2 equal.
  CmaEsOptions options;
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const double x0 = -5 + 15 * random.uniform();
    const double x1 = -5 + 15 * random.uniform();
    const double x2 = -5 + 15 * random.uniform();
    options.source.push_back(
        {{{"x0", x0}, {"x1", x1}, {"x2", x2}}, std::pow(x0 - 8, 2) + 10 * std::pow(x1 - x2, 2)});
  }
  options.source.push_back({{{"x0", 0.0}, {"x1", 9.0}, {"x2", -5.0}}, nan_value});
  double away = 0;
  double across = 0;
  double along = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SearcherRig rig(cube(3), cma_es(options), seeded(seed));
    REQUIRE(rig.ask());
    const Config& config = rig.configs().back();
    away += std::abs(config["x0"].get<double>() - 8) / 60;
    across += std::abs(config["x1"].get<double>() - config["x2"].get<double>()) / 60;
    along += std::abs(config["x1"].get<double>() + config["x2"].get<double>() - 5) / 60;
  }
  CHECK(away < 3);
  CHECK(across < along / 2);
}

TEST_CASE("points of the user warm CMA-ES", "[cma_es]") {
  engine::SuggestionOptions options = seeded(1);
  options.points_to_evaluate = {{{"x0", 9.0}, {"x1", 9.0}}, {{"x0", 8.5}, {"x1", 9.0}}};
  SearcherRig rig(cube(2), cma_es(), options);
  const auto loss = [](const Config& config) {
    return std::pow(config["x0"].get<double>() - 9, 2) +
           std::pow(config["x1"].get<double>() - 9, 2) + 0.01;
  };
  rig.run(8, loss);
  double mean = 0;
  for (int i = 0; i < 10; ++i) {
    REQUIRE(rig.ask());
    mean += rig.configs().back()["x0"].get<double>() / 10;
  }
  CHECK(mean > 4);  // from the middle, 2.5
}

TEST_CASE("once converged CMA-ES starts elsewhere", "[cma_es]") {
  // A wide basin that ends at 1, and a narrow one with 0.
  const auto loss = [](const Config& config) {
    const double x = config["x0"].get<double>();
    return std::min(1 + 0.1 * (x - 2.5) * (x - 2.5), 4 * (x + 3) * (x + 3));
  };
  const auto spread = [&](CmaRestarts restarts) {
    SearcherRig rig(cube(1), cma_es({.restarts = restarts}), seeded(2));
    rig.run(900, loss);
    std::set<int> late;
    for (std::size_t i = 300; i < 900; ++i) {
      late.insert(static_cast<int>(rig.configs()[i]["x0"].get<double>() * 2));
    }
    return late.size();
  };
  CHECK(spread(CmaRestarts::none) < 5);
  CHECK(spread(CmaRestarts::ipop) > 10);
  CHECK(spread(CmaRestarts::bipop) > 10);
}

TEST_CASE("resumed from a state or from the record alone, CMA-ES goes on as it would have",
          "[cma_es]") {
  const SearchSpace space = {
      {"opt", branch({{"a", {{"p", uniform(0, 1)}}}, {"b", {{"q", randint(0, 9)}}}})},
      {"x", loguniform(1e-3, 1)},
      {"k", choice({1, 2, 3})}};
  const auto loss = [](const Config& config) {
    return config["x"].get<double>() + (config.contains("q") ? 0 : 1) + config["k"].get<int>();
  };
  for (const std::size_t before : {0, 5, 17, 40}) {
    SearcherRig whole(space, cma_es());
    whole.run(before, loss);
    SearcherRig restored(space, cma_es());
    restored.restore(whole);
    SearcherRig told(space, cma_es());
    for (std::size_t i = 0; i < before; ++i) {
      const Config& config = whole.configs()[i];
      told.source().take_suggestion(TrialId(i), config);
      told.source().on_trial_completed(TrialId(i), config, Result(loss(config)));
    }
    CHECK(told.source().save() == whole.source().save());
    CHECK(restored.source().save() == whole.source().save());
    whole.run(30, loss);
    restored.run(30, loss);
    CHECK(restored.configs() == whole.configs());
  }
}

TEST_CASE("SE-01: many suggestions without results in between differ", "[SE-01]") {
  SearcherRig rig({{"x", uniform(0, 1)}}, cma_es());
  rig.run(10, [](const Config& config) { return config["x"].get<double>(); });
  std::set<std::string> distinct;
  for (int i = 0; i < 16; ++i) {
    REQUIRE(rig.ask());
    distinct.insert(rig.configs().back().dump());
  }
  CHECK(distinct.size() == 16);
}

TEST_CASE("SS-07, SS-12: integers keep their type and bounds under CMA-ES", "[SS-07][SS-12]") {
  engine::SuggestionOptions options = seeded(1);
  options.avoid_duplicates = false;
  SearcherRig rig({{"n", randint(0, 10)},
                   {"one", randint(1, 2)},
                   {"depth", randint(3, 8)},
                   {"q", qrandint(10, 40, 10)}},
                  cma_es(), options);
  rig.run(500, [](const Config& config) { return -config["n"].get<double>(); });
  for (const Config& config : rig.configs()) {
    REQUIRE((config["n"].get<int>() >= 0 && config["n"].get<int>() <= 9));
    REQUIRE(config["one"].get<int>() == 1);
    REQUIRE(config["depth"].json().is_number_integer());
    REQUIRE((config["q"].get<int>() % 10 == 0 && config["q"].get<int>() <= 40));
  }
}

TEST_CASE("SS-16: CMA-ES supports every domain", "[SS-16]") {
  SearcherRig rig({{"z", normal(0, 1)},
                   {"x", uniform(0, 1)},
                   {"q", qnormal(0, 2, 0.5)},
                   {"l", qloguniform(1, 9, 2)},
                   {"o", ordinal({"s", "m", "l"})}},
                  cma_es());
  rig.run(60, [](const Config& config) { return std::abs(config["z"].get<double>() - 1); });
  for (const Config& config : rig.configs()) CHECK(config.json().size() == 5);
  CHECK(rig.best([](const Config& config) { return std::abs(config["z"].get<double>() - 1); }) <
        0.05);
}

TEST_CASE("with many parameters CMA-ES adapts variances alone", "[cma_es]") {
  SearcherRig rig(cube(120), cma_es());
  rig.run(60, shifted_sphere);
  CHECK(rig.source().save().at("searcher").at("distribution").at("diagonal") == true);
  CHECK(rig.source().save().at("searcher").at("distribution").at("shape").size() == 120);
}

TEST_CASE("CMA-ES refuses options out of range", "[cma_es]") {
  CHECK_THROWS_WITH(cma_es({.sigma0 = 0}), "cma_es: sigma0 must be above 0 and at most 1, is 0");
  CHECK_THROWS_AS(cma_es({.sigma0 = nan_value}), std::invalid_argument);
  CHECK_THROWS_WITH(cma_es({.population_size = 2}),
                    "cma_es: population_size must be at least 3, or 0, is 2");
  CHECK_THROWS_AS(cma_es({.candidates = 0}), std::invalid_argument);
  CHECK_THROWS_AS(cma_es({.x0 = {{"x", 1}}, .source = {{{{"x", 1}}, 1.0}}}), std::invalid_argument);
  register_builtin_searchers();
  CHECK_THROWS_WITH(make_searcher("cma_es", {{"restarts", "often"}}),
                    Catch::Contains("cma_es: restarts is \"often\", allowed are"));
  CHECK_THROWS_WITH(make_searcher("cma_es", {{"source", {{{"config", 3}}}}}),
                    Catch::Contains("cma_es: source has"));
  const auto made =
      make_searcher("cma_es", {{"sigma0", 0.1},
                               {"restarts", "bipop"},
                               {"source", {{{"config", {{"x", 0.5}}}, {"value", 2.0}}}}});
  CHECK(made->options().at("sigma0") == 0.1);
  CHECK(make_searcher("cma_es", made->options())->options() == made->options());
}

}  // namespace
}  // namespace tune::test
