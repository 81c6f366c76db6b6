#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tune/callback.hpp>
#include <tune/checkpoint.hpp>
#include <tune/experiment.hpp>
#include <tune/objective.hpp>
#include <tune/trainable.hpp>

#include "engine/engine.hpp"
#include "engine/suggestion_source.hpp"

namespace tune::engine {

// What a definition becomes, the same on every stage.

/// The experiment's objective; empty without a metric.
[[nodiscard]] std::optional<Objective> objective_of(const Experiment& experiment);

/// The name in options(), for messages.
[[nodiscard]] std::string name_in(const Json& options);

// Each refuses a definition that cannot work, as far as its fields alone show it. Scheduler and
// searcher are those that will serve: the defaults are filled in.
// @throws std::invalid_argument naming the field, its value and what is allowed.

/// Looks at each number by itself.
void check_numbers(const Experiment& experiment);
void check_checkpoint_options(const CheckpointOptions& options);
/// Metrics and modes of experiment, scheduler, searcher and stop criteria, against each other.
void check_objectives(const Experiment& experiment);
/// What needs checkpoints, if the trainable saves none.
void check_checkpoints(const TrainableSpec& trainable, const Experiment& experiment);

/// How many trials there will be; empty: no end is known.
[[nodiscard]] std::optional<std::uint64_t> bound_trials(const SuggestionSource& suggestions,
                                                        std::int64_t max_trials);
[[nodiscard]] SuggestionOptions suggestion_options(const Experiment& experiment,
                                                   const ExperimentInfo& info);
[[nodiscard]] EngineOptions engine_options(const TrainableSpec& trainable,
                                           const Experiment& experiment, const ExperimentInfo& info,
                                           const SuggestionSource& suggestions);

/// Fills in the defaults of scheduler and searcher for as long as the definition is looked at.
class DefaultsFilled {
 public:
  DefaultsFilled(Experiment& experiment, std::unique_ptr<TrialScheduler> scheduler,
                 std::unique_ptr<Searcher> searcher);
  ~DefaultsFilled();
  DefaultsFilled(const DefaultsFilled&) = delete;
  DefaultsFilled& operator=(const DefaultsFilled&) = delete;

 private:
  Experiment& experiment_;
  const bool has_own_scheduler_;
  const bool has_own_searcher_;
};

// A scheduler or searcher serves one run. In its place the experiment keeps an object that a second
// run refuses: it must not quietly go on without it.

/// @throws std::invalid_argument if a run has taken the scheduler or the searcher.
void refuse_taken(const Experiment& experiment);
[[nodiscard]] std::unique_ptr<TrialScheduler> take_scheduler(Experiment& experiment);
/// Made of the experiment's searcher, which is taken only if the definition fits it.
/// @throws as SuggestionSource does; the experiment is as it was then.
[[nodiscard]] std::unique_ptr<SuggestionSource> take_searcher(Experiment& experiment,
                                                              const ExperimentInfo& info);

}  // namespace tune::engine
