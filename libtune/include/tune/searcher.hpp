#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/objective.hpp>
#include <tune/random.hpp>
#include <tune/result.hpp>
#include <tune/search_space.hpp>

namespace tune {

/// No suggestion until another result or end of a trial has come in.
struct Wait {};
/// No suggestion any more.
struct Exhausted {};
using Suggestion = std::variant<Config, Wait, Exhausted>;

/// What a searcher is told before its first suggestion.
struct SearcherSetup {
  /// The whole space, grid axes and branches included. Outlives the searcher.
  const SearchSpace* space = nullptr;
  /// What objective() says, else the experiment's; empty if there is no metric.
  std::optional<Objective> objective;
  std::uint64_t seed = 0;
  /// How many trials num_samples and the grid make; empty if there is no end. An experiment may end
  /// before, and go on to more another time.
  std::optional<std::uint64_t> trials = {};
};

/// What one suggestion is asked for.
struct SuggestionRequest {
  TrialId trial;
  /// Parameters already fixed: the grid cell, a point of the user. They win over the searcher's
  /// (also where a branch key decides which parameters exist).
  Config fixed;
  /// 0, then 1, 2, ... when the answer was a duplicate of an earlier trial.
  std::uint64_t attempt = 0;
  /// Keyed by (experiment seed, "searcher", trial, attempt).
  Random random;
};

/// Proposes configurations. The mirror image of TrialScheduler: all calls come from one thread, one
/// at a time; suggestions are asked for in the order of trial ids and only when a slot is free.
class Searcher {
 public:
  virtual ~Searcher();

  /// @throws std::invalid_argument naming a parameter or domain that it does not support.
  virtual void setup(const SearcherSetup& setup) = 0;
  /// A value for every parameter that is active and not fixed; grid axes are always fixed and
  /// `sample_from` parameters are not asked for.
  virtual Suggestion suggest(const SuggestionRequest& request) = 0;
  /// The whole configuration that a trial got, right after the suggestion for it: with what was
  /// fixed, and never one that was drawn again. When an experiment goes on another time it comes
  /// alone for the trials that are on record: nobody is asked for them again.
  virtual void on_trial_added(TrialId id, const Config& config);
  /// Only called if wants_results(); in order per trial.
  virtual void on_trial_result(TrialId id, const Config& config, const Result& result);
  /// `last` is its newest result, or one of iteration 0 if it had none; its target is the newest
  /// value of the metric. `last.stopped_by_scheduler` tells that the scheduler ended it, early or
  /// at its max_t.
  virtual void on_trial_completed(TrialId id, const Config& config, const Result& last);
  /// `infeasible`: the trial refused its configuration (InvalidConfig).
  virtual void on_trial_failed(TrialId id, const Config& config, bool infeasible);
  /// What there is to say of the suggestion just given, such as another method or a fall-back to a
  /// simpler one; it is recorded with the trial as an explanation. Said once: empty at the next
  /// call. The default says nothing.
  [[nodiscard]] virtual std::string take_note();
  [[nodiscard]] virtual bool wants_results() const;
  /// Its own metric and mode; none: the experiment's. An empty metric means the experiment's.
  [[nodiscard]] virtual std::optional<Objective> objective() const;
  /// True if it needs a metric to search by.
  [[nodiscard]] virtual bool needs_metric() const;
  /// True if every configuration shall be tried, each num_samples times (once if that is -1): then
  /// all parameters are enumerated like grid axes, and suggest() finds everything fixed.
  [[nodiscard]] virtual bool enumerates() const;
  /// True if its last answer is meant to be a configuration that was tried before: it is run, and
  /// no other is asked for.
  [[nodiscard]] virtual bool is_repetition() const;
  /// All state. A null value (the default) means that it is rebuilt by telling it all that is on
  /// record again, from the first trial on.
  [[nodiscard]] virtual Json save() const;
  virtual void restore(const Json& state);
  /// Name and options, for the recorded definition.
  [[nodiscard]] virtual Json options() const;
};

}  // namespace tune
