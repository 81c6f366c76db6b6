#include <tune/searchers/tpe.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/suggestion_source.hpp"
#include "support/suggestions.hpp"

namespace tune {
namespace {

using test::distinct;

// A search in which trials end one by one.
class TpeSearch {
 public:
  explicit TpeSearch(SearchSpace space, const TpeOptions& options = {}, Mode mode = Mode::min,
                     std::uint64_t seed = 1)
      : source_(std::move(space),
                {.objective = Objective{.metric = "loss", .mode = mode},
                 .seed = seed,
                 .num_samples = 100'000},
                tpe(options)) {}

  Config ask() { return std::get<Config>(source_.suggest(TrialId(next_++))); }
  void tell(const Config& config, double target, bool is_stopped = false,
            std::int64_t iteration = 1) {
    Result last(target, iteration);
    last.stopped_by_scheduler = is_stopped;
    source_.on_trial_completed(TrialId(next_ - 1), config, last);
  }
  void fail(const Config& config, bool infeasible) {
    source_.on_trial_failed(TrialId(next_ - 1), config, infeasible);
  }

  template <class Function>
  std::vector<Config> run(int trials, const Function& target) {
    std::vector<Config> configs;
    for (int i = 0; i < trials; ++i) {
      configs.push_back(ask());
      tell(configs.back(), target(configs.back()));
    }
    return configs;
  }

 private:
  engine::SuggestionSource source_;
  std::uint64_t next_ = 0;
};

double number(const Config& config, const char* name = "x") { return config[name].get<double>(); }

double first_number(const Config& config) { return number(config); }

// How many of the last `count` have `x` within `width` of `centre`.
std::ptrdiff_t count_near(const std::vector<Config>& configs, std::ptrdiff_t count, double centre,
                          double width) {
  return std::count_if(configs.end() - count, configs.end(), [&](const Config& config) {
    return std::abs(number(config) - centre) < width;
  });
}

TEST_CASE("tpe looks where values are good (Bergstra et al., section 4)", "[tpe]") {
  const auto bowl = [](const Config& config) { return std::pow(number(config) - 0.3, 2); };
  CHECK(count_near(TpeSearch({{"x", uniform(0, 1)}}).run(60, bowl), 30, 0.3, 0.1) > 20);
  // Each parameter by itself, too.
  CHECK(count_near(TpeSearch({{"x", uniform(0, 1)}}, {.multivariate = false}).run(60, bowl), 30,
                   0.3, 0.1) > 20);
  const auto hill = [](const Config& config) { return -std::pow(number(config) - 0.3, 2); };
  CHECK(count_near(TpeSearch({{"x", uniform(0, 1)}}, {}, Mode::max).run(60, hill), 30, 0.3, 0.1) >
        20);
}

TEST_CASE("SE-01: parallel suggestions of tpe differ", "[SE-01]") {
  const auto ask_sixteen = [](const SearchSpace& space) {
    TpeSearch search(space);
    search.run(10, [](const Config& config) {
      return std::pow(config["x"].json().get<double>() - 40, 2);
    });
    std::vector<Config> asked;
    for (int i = 0; i < 16; ++i) asked.push_back(search.ask());
    return distinct(asked).size();
  };
  CHECK(ask_sixteen({{"x", uniform(0, 100)}}) == 16);
  CHECK(ask_sixteen({{"x", randint(0, 100)}}) >= 12);
}

TEST_CASE("SE-01: trials that run are not good, and do not count as start-up", "[SE-01]") {
  // With many under way and none ended, all is random still: spread over the space.
  TpeSearch search({{"x", uniform(0, 1)}});
  for (int i = 0; i < 40; ++i) (void)search.ask();
  std::set<int> tenths;
  for (int i = 0; i < 60; ++i) tenths.insert(static_cast<int>(number(search.ask()) * 10));
  CHECK(tenths.size() == 10);

  // With results it settles; where they stay out, what runs does not draw it on.
  const auto count_tenths = [](const std::vector<Config>& configs) {
    std::set<int> found;
    for (const Config& config : configs) found.insert(static_cast<int>(number(config) * 10));
    return found.size();
  };
  TpeSearch told({{"x", uniform(0, 1)}});
  const auto bowl = [](const Config& config) { return std::pow(number(config) - 0.5, 2); };
  told.run(30, bowl);
  CHECK(count_tenths(told.run(30, bowl)) <= 6);
  TpeSearch pending({{"x", uniform(0, 1)}});
  pending.run(30, bowl);
  std::vector<Config> asked;
  for (int i = 0; i < 200; ++i) asked.push_back(pending.ask());
  CHECK(count_tenths(asked) >= 8);
}

TEST_CASE("SE-09: tpe with hardly any start-up", "[SE-09]") {
  for (const std::int64_t startup : {0, 1}) {
    for (const int asks : {1, 20}) {
      TpeSearch search({{"x", uniform(2, 3)}, {"n", randint(0, 4)}}, {.n_startup_trials = startup});
      for (const Config& config : search.run(asks, [](const Config&) { return 1.0; })) {
        CHECK((number(config) >= 2 && number(config) < 3));
      }
      TpeSearch parallel({{"x", uniform(2, 3)}}, {.n_startup_trials = startup});
      for (int i = 0; i < asks; ++i) {
        const Config config = parallel.ask();
        CHECK((number(config) >= 2 && number(config) < 3));
      }
    }
  }
}

TEST_CASE("SE-10: tpe with options of mixed type keeps a chance for each", "[SE-10]") {
  const std::vector<Json> options = {nullptr, "auto", 1, 2.5, true};
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TpeSearch search({{"o", choice(options)}, {"x", uniform(0, 1)}}, {.n_startup_trials = 3},
                     Mode::min, seed);
    const auto configs = search.run(40, [](const Config& config) {
      return number(config) + (config["o"].json() == "auto" ? 0 : 1);
    });
    CHECK(configs.size() == 40);
    for (const Config& config : configs) seen.insert(config["o"].json().dump());
    if (seen.size() == options.size()) break;
  }
  CHECK(seen.size() == options.size());
}

TEST_CASE("SS-07 and SS-12: integers under tpe keep bounds and type", "[SS-07][SS-12]") {
  TpeSearch search({{"n", randint(0, 10)},
                    {"one", randint(1, 2)},
                    {"depth", randint(3, 8)},
                    {"q", qrandint(10, 40, 10)},
                    {"x", uniform(0, 1)}});
  const auto configs = search.run(
      300, [](const Config& config) { return -config["n"].json().get<double>() + number(config); });
  for (const Config& config : configs) {
    CHECK(config["n"].json().is_number_integer());
    CHECK((config["n"].get<int>() >= 0 && config["n"].get<int>() <= 9));
    CHECK(config["one"].get<int>() == 1);
    CHECK((config["depth"].get<int>() >= 3 && config["depth"].get<int>() <= 7));
    CHECK(config["q"].get<int>() % 10 == 0);
    CHECK(config["q"].json().dump().find('.') == std::string::npos);
  }
}

TEST_CASE("SS-09: options that look equal stay apart under tpe", "[SS-09]") {
  TpeSearch search({{"o", choice({1, 1.0, true, "1"})}, {"x", uniform(0, 1)}});
  std::set<std::string> types;
  for (const Config& config : search.run(60, first_number)) {
    const Json& value = config["o"].json();
    types.insert(value.dump() + value.type_name() + (value.is_number_float() ? "f" : ""));
  }
  CHECK(types.size() == 4);
}

TEST_CASE("SS-16: tpe takes normal domains", "[SS-16]") {
  TpeSearch search({{"z", normal(0, 1)}, {"x", uniform(0, 1)}});
  for (const Config& config : search.run(40, first_number)) CHECK(config.contains("z"));
}

TEST_CASE("trials without a value, failed and refused ones are bad for tpe", "[tpe]") {
  for (const std::string how : {"nan", "inf", "failed", "infeasible"}) {
    INFO(how);
    TpeSearch search({{"x", uniform(0, 1)}});
    std::vector<Config> configs;
    for (int i = 0; i < 80; ++i) {
      configs.push_back(search.ask());
      const double x = number(configs.back());
      if (x >= 0.5) {
        search.tell(configs.back(), std::pow(x - 0.6, 2));
      } else if (how == "nan") {
        search.tell(configs.back(), std::numeric_limits<double>::quiet_NaN());
      } else if (how == "inf") {
        search.tell(configs.back(), -std::numeric_limits<double>::infinity());
      } else {
        search.fail(configs.back(), how == "infeasible");
      }
    }
    CHECK(count_near(configs, 40, 0.25, 0.25) < 10);
    CHECK(count_near(configs, 40, 0.6, 0.1) > 25);
  }
}

TEST_CASE("when all trials fail tpe goes on at random", "[tpe]") {
  TpeSearch search({{"x", uniform(0, 1)}});
  std::set<int> tenths;
  for (int i = 0; i < 100; ++i) {
    const Config config = search.ask();
    tenths.insert(static_cast<int>(number(config) * 10));
    search.fail(config, false);
  }
  CHECK(tenths.size() == 10);
}

TEST_CASE("trials stopped early rank by how far they came under tpe", "[tpe]") {
  TpeSearch search({{"x", uniform(0, 1)}});
  std::vector<Config> configs;
  for (int i = 0; i < 80; ++i) {
    configs.push_back(search.ask());
    const bool is_promising = number(configs.back()) < 0.3;
    // What is stopped after one iteration has the smaller loss.
    search.tell(configs.back(), is_promising ? 2 : 1, true, is_promising ? 9 : 1);
  }
  CHECK(count_near(configs, 40, 0.15, 0.15) > 25);
}

TEST_CASE("tpe does not settle in the branch that was good first", "[tpe]") {
  const SearchSpace space = {
      {"kind",
       branch({{"easy", {{"a", uniform(0, 1)}}},
               {"hard", {{"b", uniform(0, 1)}, {"c", uniform(0, 1)}, {"d", uniform(0, 1)}}}})}};
  const auto value = [](const Config& config) {
    if (config["kind"].json() == "easy") return 0.05 + std::pow(number(config, "a") - 0.5, 2);
    return 5 * (std::pow(number(config, "b") - 0.2, 2) + std::pow(number(config, "c") - 0.8, 2) +
                std::pow(number(config, "d") - 0.4, 2));
  };
  int found = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    double best = 1;
    for (const Config& config : TpeSearch(space, {}, Mode::min, seed).run(150, value)) {
      best = std::min(best, value(config));
    }
    found += best < 0.04 ? 1 : 0;
  }
  CHECK(found >= 9);
}

TEST_CASE("max_kernels keeps tpe's answers as good", "[tpe]") {
  const SearchSpace space = {{"x", uniform(0, 1)}, {"y", uniform(0, 1)}};
  const auto bowl = [](const Config& config) {
    return std::pow(number(config) - 0.3, 2) + std::pow(number(config, "y") - 0.6, 2);
  };
  for (const std::int64_t kernels : {0, 100}) {
    TpeSearch search(space, {.max_kernels = kernels});
    const auto configs = search.run(400, bowl);
    double sum = 0;
    for (auto config = configs.end() - 100; config != configs.end(); ++config) {
      sum += bowl(*config);
    }
    CHECK(sum / 100 < 0.01);
  }
}

TEST_CASE("tpe keeps to constraints and goes on to model what they allow", "[tpe]") {
  for (const bool multivariate : {true, false}) {
    SearchSpace space = {{"x", uniform(0, 1)}, {"y", uniform(0, 1)}};
    space.require("not both large",
                  [](const Config& config) { return number(config) + number(config, "y") < 1; });
    TpeSearch search(space, {.multivariate = multivariate});
    const auto configs =
        search.run(80, [](const Config& config) { return -number(config) - number(config, "y"); });
    double last = 0;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const double sum = number(configs[i]) + number(configs[i], "y");
      CHECK(sum < 1);
      if (i >= 50) last += sum / 30;
    }
    // By itself each parameter wants to be large, and only together are they forbidden.
    CHECK(last > (multivariate ? 0.9 : 0.7));
  }
}

TEST_CASE("tpe takes a space without anything to choose", "[tpe]") {
  TpeSearch search({{"x", 3.0}}, {.n_startup_trials = 0});
  CHECK(search.run(5, first_number).back()["x"].get<double>() == 3);
}

TEST_CASE("tpe refuses options out of range, naming them", "[tpe]") {
  CHECK_THROWS_WITH(tpe({.n_startup_trials = -1}),
                    "tpe: n_startup_trials must be at least 0, is -1");
  CHECK_THROWS_WITH(tpe({.n_ei_candidates = 0}), "tpe: n_ei_candidates must be at least 1, is 0");
  CHECK_THROWS_WITH(tpe({.gamma = 1}), "tpe: gamma must be above 0 and below 1, is 1");
  CHECK_THROWS_WITH(tpe({.prior_weight = 0}), "tpe: prior_weight must be above 0, is 0");
  CHECK_THROWS_WITH(tpe({.max_kernels = -2}), "tpe: max_kernels must be at least 0, is -2");
}

}  // namespace
}  // namespace tune
