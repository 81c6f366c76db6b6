#include <tune/searchers/automatic.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/searchers/random.hpp>

#include "engine/suggestion_source.hpp"

namespace tune {
namespace {

using engine::SuggestionSource;

SearchSpace line_space(int parameters) {
  SearchSpace space;
  for (int i = 0; i < parameters; ++i) space.add("x" + std::to_string(i), uniform(0, 1));
  return space;
}

double distance_to(const Config& config, double to) {
  double sum = 0;
  for (const auto& [name, value] : config.json().items()) {
    sum += (value.get<double>() - to) * (value.get<double>() - to);
  }
  return sum;
}

// Runs `trials` one after the other; what was said, with the trial before it.
std::vector<std::string> notes_of(SuggestionSource& source, std::uint64_t trials,
                                  std::uint64_t first = 0) {
  std::vector<std::string> notes;
  for (std::uint64_t i = first; i < trials; ++i) {
    std::string note;
    const auto config = std::get<Config>(source.suggest(TrialId(i), &note));
    if (!note.empty()) notes.push_back(std::to_string(i) + " " + note);
    source.on_trial_completed(TrialId(i), config, Result(distance_to(config, 0.3)));
  }
  return notes;
}

TEST_CASE("automatic says what it does, and when it does otherwise", "[automatic]") {
  SuggestionSource source(line_space(2), {.objective = Objective{"loss"}, .num_samples = -1},
                          automatic({.gp_trials = 12}));
  CHECK(notes_of(source, 20) ==
        std::vector<std::string>{"0 automatic: gp, since there are 2 parameters",
                                 "12 automatic: tpe from here on, after 12 trials"});
}

TEST_CASE("automatic takes tpe for very many parameters", "[automatic]") {
  SuggestionSource source(line_space(101), {.objective = Objective{"loss"}, .num_samples = -1},
                          automatic());
  CHECK(notes_of(source, 12) ==
        std::vector<std::string>{"0 automatic: tpe, since there are 101 parameters"});
}

TEST_CASE("without a metric automatic is random search", "[automatic]") {
  SuggestionSource source(line_space(2), {.seed = 4, .num_samples = -1}, automatic());
  SuggestionSource other(line_space(2), {.seed = 4, .num_samples = -1}, random_search());
  CHECK_FALSE(source.searcher().wants_results());
  for (std::uint64_t i = 0; i < 5; ++i) {
    std::string note;
    CHECK(std::get<Config>(source.suggest(TrialId(i), &note)) ==
          std::get<Config>(other.suggest(TrialId(i))));
    CHECK(note == (i == 0 ? "automatic: random, since there is no metric" : ""));
  }
}

TEST_CASE("automatic goes on from its state on either side of the change", "[automatic]") {
  const engine::SuggestionOptions options{.objective = Objective{"loss"}, .num_samples = -1};
  for (const std::uint64_t saved_at : {0, 5, 11, 12, 13, 17}) {
    SuggestionSource whole(line_space(2), options, automatic({.gp_trials = 12}));
    (void)notes_of(whole, saved_at);
    const Json state = Json::parse(whole.save().dump());
    SuggestionSource resumed(line_space(2), options, automatic({.gp_trials = 12}));
    resumed.restore(state);
    CHECK(resumed.save() == state);
    CHECK(notes_of(resumed, 20, saved_at) == notes_of(whole, 20, saved_at));
    CHECK(std::get<Config>(resumed.suggest(TrialId(20))) ==
          std::get<Config>(whole.suggest(TrialId(20))));
  }
}

TEST_CASE("automatic needs far fewer trials than chance", "[automatic]") {
  SuggestionSource source(line_space(4), {.objective = Objective{"loss"}, .num_samples = -1},
                          automatic());
  double best = 1;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto config = std::get<Config>(source.suggest(TrialId(i)));
    best = std::min(best, distance_to(config, 0.3));
    source.on_trial_completed(TrialId(i), config, Result(distance_to(config, 0.3)));
  }
  CHECK(best < 1e-3);  // 40 random points come to some 0.03
}

TEST_CASE("options of automatic that cannot work are refused", "[automatic]") {
  CHECK_THROWS_WITH(automatic({.gp_trials = -1}), "automatic: gp_trials must be at least 0, is -1");
  CHECK_THROWS_WITH(automatic({.gp_parameters = -3}),
                    "automatic: gp_parameters must be at least 0, is -3");
}

}  // namespace
}  // namespace tune
