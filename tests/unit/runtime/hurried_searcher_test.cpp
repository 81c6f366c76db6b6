#include "runtime/hurried_searcher.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/random.hpp>

#include "support/gate.hpp"
#include "support/scripted_searcher.hpp"

namespace tune::runtime {
namespace {

using namespace std::chrono_literals;
using test::scripted;
using test::ScriptedSearcher;

const SearchSpace& unit_space() {
  static const SearchSpace space{{"x", uniform(0, 1)}};
  return space;
}

SuggestionRequest request_for(std::uint64_t trial, std::uint64_t attempt = 0) {
  return {TrialId(trial), Config(), attempt, Random(1, "searcher", trial, attempt)};
}

Config at_two() { return Config(Json{{"x", 2.0}}); }  // as no random draw gives it

bool is_its_own(const Suggestion& suggestion) { return std::get<Config>(suggestion) == at_two(); }

TEST_CASE("a searcher that answers in time is not disturbed", "[hurried_searcher]") {
  auto inner = scripted([](const auto&) { return at_two(); });
  ScriptedSearcher& same = *inner;
  same.traits.wants_results = false;
  const auto searcher = hurried(std::move(inner), 1h);
  searcher->setup({.space = &unit_space(), .objective = {}, .seed = 3});
  same.next_note = "begins";
  CHECK(is_its_own(searcher->suggest(request_for(0))));
  CHECK(searcher->take_note() == "begins");
  CHECK(searcher->take_note().empty());
  CHECK(searcher->options().at("name") == "scripted");
  CHECK_FALSE(searcher->wants_results());
  CHECK(searcher->save() == 1);
}

TEST_CASE("values are drawn at random while a searcher thinks for too long", "[hurried_searcher]") {
  test::Gate gate;
  std::vector<std::string> log;
  const auto searcher = hurried(scripted(
                                    [&gate](const SuggestionRequest& request) {
                                      if (request.trial == TrialId(0)) gate.wait();
                                      return at_two();
                                    },
                                    &log),
                                20ms);
  searcher->setup({.space = &unit_space(), .objective = {}, .seed = 3});
  const auto random = random_search();
  random->setup({.space = &unit_space(), .objective = {}, .seed = 3});
  for (std::uint64_t trial = 0; trial < 3; ++trial) {
    const auto config = std::get<Config>(searcher->suggest(request_for(trial)));
    CHECK(config == std::get<Config>(random->suggest(request_for(trial))));
    CHECK(searcher->take_note() ==
          "drawn at random: scripted took longer than suggest_budget, 0.02 s");
    searcher->on_trial_completed(TrialId(trial), config, Result(1));
  }
  CHECK(searcher->save().is_null());
  gate.open();
  std::uint64_t trial = 3;  // on a busy machine its next answers may come late, too
  while (!is_its_own(searcher->suggest(request_for(trial)))) ++trial;
  CHECK(log.at(0) == "setup -");
  CHECK(log.at(1) == "ask 0.0 {}");
  // What it was told meanwhile, in order; it was not asked for the trials that it could not know.
  CHECK(log.at(2) == "completed 0");
  CHECK(log.at(3) == "completed 1");
  CHECK(log.at(4) == "completed 2");
}

TEST_CASE("what a hurried searcher throws comes out", "[hurried_searcher]") {
  const auto searcher = hurried(
      scripted([](const auto&) -> Suggestion { throw std::runtime_error("singular"); }), 1h);
  searcher->setup({.space = &unit_space(), .objective = {}, .seed = 3});
  CHECK_THROWS_WITH(searcher->suggest(request_for(0)), "singular");
}

}  // namespace
}  // namespace tune::runtime
