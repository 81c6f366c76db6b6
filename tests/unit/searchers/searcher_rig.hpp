#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <tune/searcher.hpp>

#include "engine/suggestion_source.hpp"

namespace tune::test {

/// An experiment without its trials: asks a searcher for configurations, and ends them with what a
/// function says.
class SearcherRig {
 public:
  using Loss = std::function<double(const Config&)>;

  SearcherRig(SearchSpace space, std::unique_ptr<Searcher> searcher,
              engine::SuggestionOptions options = {.seed = 1, .num_samples = -1})
      : source_(std::move(space), with_metric(std::move(options)), std::move(searcher)) {}

  /// Adds a trial. False if there is no further configuration now.
  bool ask() {
    Suggestion suggestion = source_.suggest(TrialId(configs_.size()));
    if (!std::holds_alternative<Config>(suggestion)) return false;
    configs_.push_back(std::get<Config>(std::move(suggestion)));
    return true;
  }

  void complete(std::uint64_t trial, double loss, bool stopped_by_scheduler = false,
                std::int64_t iteration = 1) {
    Result result(loss, iteration);
    result.stopped_by_scheduler = stopped_by_scheduler;
    source_.on_trial_completed(TrialId(trial), configs_[trial], result);
  }

  void fail(std::uint64_t trial, bool infeasible = false) {
    source_.on_trial_failed(TrialId(trial), configs_[trial], infeasible);
  }

  /// `trials` more, `at_once` at a time.
  void run(std::size_t trials, const Loss& loss, std::size_t at_once = 1) {
    for (std::size_t done = 0; done < trials;) {
      const std::size_t first = configs_.size();
      while (configs_.size() - first < at_once && done < trials && ask()) ++done;
      if (configs_.size() == first) return;
      for (std::size_t i = first; i < configs_.size(); ++i) complete(i, loss(configs_[i]));
    }
  }

  [[nodiscard]] double best(const Loss& loss) const {
    double best = std::numeric_limits<double>::infinity();
    for (const Config& config : configs_) best = std::min(best, loss(config));
    return best;
  }

  [[nodiscard]] const std::vector<Config>& configs() const { return configs_; }
  [[nodiscard]] engine::SuggestionSource& source() { return source_; }
  /// Goes on where `other` is: from its saved state, or by being told its trials and no results.
  void restore(const SearcherRig& other) {
    source_.restore(Json::parse(other.source_.save().dump()));
    configs_ = other.configs_;
  }

 private:
  static engine::SuggestionOptions with_metric(engine::SuggestionOptions options) {
    if (!options.objective) options.objective = Objective{.metric = "loss", .mode = Mode::min};
    return options;
  }

  engine::SuggestionSource source_;
  std::vector<Config> configs_;
};

}  // namespace tune::test
