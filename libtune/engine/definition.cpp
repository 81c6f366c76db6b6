#include "engine/definition.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <variant>

#include "core/checkpoint_retention.hpp"
#include "core/number_text.hpp"
#include "core/objective.hpp"
#include "core/option_name.hpp"

namespace tune::engine {
namespace {

[[noreturn]] void refuse_definition(const std::string& text) { throw std::invalid_argument(text); }

void require_at_least(const std::string& field, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  refuse_definition(field + " must be at least " + std::to_string(least) + ", is " +
                    std::to_string(value));
}

void require_count_or_minus_1(const std::string& field, std::int64_t value) {
  if (value >= 1 || value == -1) return;
  refuse_definition(field + " must be at least 1, or -1 for no bound, is " + std::to_string(value));
}

void require_seconds(const std::string& field, std::chrono::duration<double> value) {
  if (value.count() >= 0) return;
  refuse_definition(field + " must be at least 0 s, is " + core::number_text(value.count()) + " s");
}

void require_pause(const std::string& field, std::chrono::duration<double> pause) {
  if (pause.count() >= 0 && std::isfinite(pause.count())) return;
  refuse_definition(field + " must be at least 0 s and finite, is " +
                    core::number_text(pause.count()) + " s");
}

void check_failure_options(const FailureOptions& options) {
  require_at_least("failure.max_failures", options.max_failures, -1);
  require_at_least("failure.max_node_failures", options.max_node_failures, -1);
  require_pause("failure.retry_pause", options.retry_pause);
  require_pause("failure.max_retry_pause", options.max_retry_pause);
  require_at_least("failure.max_experiment_failures", options.max_experiment_failures, -1);
}

std::string mode_text(Mode mode) { return std::string(to_string(mode)); }

void check_objective(const std::string& who, bool needs_metric, const std::optional<Objective>& own,
                     const Experiment& experiment) {
  const std::optional<Objective> experiments = objective_of(experiment);
  const std::optional<Objective> objective = core::resolve(own, experiments);
  if (own && !objective) {
    refuse_definition(who + " has mode " + mode_text(own->mode) +
                      " but no metric, and the experiment has none either: set metric and mode");
  }
  if (needs_metric && !objective) {
    refuse_definition(who + " needs a metric: set metric and mode of the experiment");
  }
  if (objective && experiments && objective->metric == experiments->metric &&
      objective->mode != experiments->mode) {
    refuse_definition(who + " has metric " + core::value_text(objective->metric) + " with mode " +
                      mode_text(objective->mode) + ", but the experiment has it with mode " +
                      mode_text(experiments->mode));
  }
  // A metric that somebody minimises gets better below a bound.
  if (!objective || objective->mode != Mode::min) return;
  for (const StopCriteria::Rule& rule : experiment.stop.rules()) {
    const auto* bound = std::get_if<StopCriteria::Bound>(&rule);
    if (bound == nullptr || bound->below || bound->field != objective->metric) continue;
    const std::string pair =
        core::value_text(bound->field) + ", " + core::number_text(bound->bound);
    refuse_definition("stop: {" + pair + "} stops a trial at or above the bound, but " +
                      bound->field + " is minimised; to stop at or below it write tune::below(" +
                      pair + ")");
  }
}

}  // namespace

std::optional<Objective> objective_of(const Experiment& experiment) {
  if (experiment.metric.empty()) return std::nullopt;
  return Objective{experiment.metric, experiment.mode.value_or(Mode::min)};
}

std::string name_in(const Json& options) { return core::option_name(options, "of the program"); }

void check_checkpoint_options(const CheckpointOptions& options) {
  require_at_least("checkpoint.every", options.every, 0);
  require_at_least("checkpoint.keep", options.keep, 1);
  require_at_least("checkpoint.keep_best", options.keep_best, 0);
}

void check_numbers(const Experiment& experiment) {
  require_count_or_minus_1("num_samples", experiment.num_samples);
  require_count_or_minus_1("max_trials", experiment.max_trials);
  check_checkpoint_options(experiment.checkpoint);
  check_failure_options(experiment.failure);
  require_at_least("max_concurrent", experiment.max_concurrent, 0);
  if (experiment.verbosity < 0 || experiment.verbosity > 2) {
    refuse_definition("verbosity must be 0, 1 or 2, is " + std::to_string(experiment.verbosity));
  }
  if (experiment.time_budget && !(experiment.time_budget->count() > 0)) {
    refuse_definition("time_budget must be above 0 s, is " +
                      core::number_text(experiment.time_budget->count()) + " s");
  }
  if (experiment.suggest_budget && !(experiment.suggest_budget->count() > 0)) {
    refuse_definition("suggest_budget must be above 0 s, is " +
                      core::number_text(experiment.suggest_budget->count()) + " s");
  }
  require_seconds("step_timeout", experiment.step_timeout);
  require_seconds("stop_grace", experiment.stop_grace);
  require_seconds("kill_grace", experiment.kill_grace);
  require_seconds("infeasible_timeout", experiment.infeasible_timeout);
  require_seconds("driver_grace", experiment.driver_grace);
  // A node answers a few times within it.
  constexpr std::chrono::duration<double> least_node_timeout(0.1);
  if (!(experiment.node_timeout >= least_node_timeout)) {
    refuse_definition("node_timeout must be at least 0.1 s, is " +
                      core::number_text(experiment.node_timeout.count()) + " s");
  }
}

void check_objectives(const Experiment& experiment) {
  if (experiment.metric.empty() && experiment.mode) {
    refuse_definition("mode is " + mode_text(*experiment.mode) +
                      ", but metric is empty: set both or neither");
  }
  if (!experiment.metric.empty() && !experiment.mode) {
    refuse_definition("metric is " + core::value_text(experiment.metric) +
                      ", but mode is not set: tune::Mode::min or tune::Mode::max");
  }
  const TrialScheduler& scheduler = *experiment.scheduler;
  check_objective("scheduler " + name_in(scheduler.options()), scheduler.needs_metric(),
                  scheduler.objective(), experiment);
  const Searcher& searcher = *experiment.searcher;
  check_objective("searcher " + name_in(searcher.options()), searcher.needs_metric(),
                  searcher.objective(), experiment);
  (void)core::objective_of(experiment.checkpoint, objective_of(experiment));
  for (const StopCriteria::Rule& rule : experiment.stop.rules()) {
    if (const auto* trial = std::get_if<PlateauOptions>(&rule)) {
      (void)core::metric_of(*trial, objective_of(experiment));
    } else if (const auto* all = std::get_if<ExperimentPlateauOptions>(&rule)) {
      (void)core::objective_of(*all, objective_of(experiment));
    }
  }
}

void check_checkpoints(const TrainableSpec& trainable, const Experiment& experiment) {
  if (trainable.checkpoints) return;
  const std::string fault =
      trainable.function
          ? "train function " + trainable.name +
                " saves no checkpoints; one that does says so where it is registered: "
                "{.checkpoints = true}"
          : "trainable " + trainable.name +
                " saves no checkpoints: it does not override both save_checkpoint and "
                "load_checkpoint";
  if (experiment.checkpoint.every > 0) {
    refuse_definition("checkpoint.every is " + std::to_string(experiment.checkpoint.every) +
                      ", but " + fault);
  }
  if (!experiment.resume_from.empty()) refuse_definition("resume_from is set, but " + fault);
  if (experiment.checkpoint.at_end) refuse_definition("checkpoint.at_end is set, but " + fault);
  if (experiment.scheduler->needs_checkpoints()) {
    refuse_definition("scheduler " + name_in(experiment.scheduler->options()) +
                      " needs checkpoints, but " + fault);
  }
}

std::optional<std::uint64_t> bound_trials(const SuggestionSource& suggestions,
                                          std::int64_t max_trials) {
  std::optional<std::uint64_t> total = suggestions.total();
  if (max_trials < 0) return total;
  const auto bound = static_cast<std::uint64_t>(max_trials);
  return total ? std::min(*total, bound) : bound;
}

EngineOptions engine_options(const TrainableSpec& trainable, const Experiment& experiment,
                             const ExperimentInfo& info, const SuggestionSource& suggestions) {
  EngineOptions options;
  options.objective = info.objective;
  options.searcher_objective = suggestions.searcher().objective();
  options.searcher_wants_results = suggestions.searcher().wants_results();
  options.strict_metric = experiment.strict_metric;
  options.max_trials = bound_trials(suggestions, experiment.max_trials);
  // Each counts as a trial, so that a run with a bound on those never gets here; one without gives
  // up at 1,000.
  options.max_infeasible = 10 * options.max_trials.value_or(100);
  options.max_concurrent = experiment.max_concurrent;
  options.resources = experiment.resources;
  options.stop = experiment.stop;
  options.checkpoint = experiment.checkpoint;
  options.trainable_checkpoints = trainable.checkpoints;
  options.max_failures = experiment.failure.max_failures;
  options.max_node_failures = experiment.failure.max_node_failures;
  options.retry_pause = experiment.failure.retry_pause;
  options.max_retry_pause = experiment.failure.max_retry_pause;
  options.max_experiment_failures = experiment.failure.max_experiment_failures;
  options.fail_fast = experiment.failure.fail_fast;
  options.seed = info.seed;
  options.time_budget = experiment.time_budget;
  options.infeasible_timeout = experiment.infeasible_timeout;
  options.driver_grace = experiment.driver_grace;
  options.fixed_cluster = experiment.cluster.listen.empty();
  return options;
}

SuggestionOptions suggestion_options(const Experiment& experiment, const ExperimentInfo& info) {
  SuggestionOptions options;
  options.objective = info.objective;
  options.seed = info.seed;
  options.num_samples = experiment.num_samples;
  options.points_to_evaluate = experiment.points_to_evaluate;
  options.avoid_duplicates = experiment.avoid_duplicates;
  return options;
}

}  // namespace tune::engine
