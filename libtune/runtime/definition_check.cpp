#include "definition_check.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <variant>

#include <tune/init.hpp>

#include "core/checkpoint_retention.hpp"
#include "core/number_text.hpp"
#include "core/objective.hpp"
#include "core/option_name.hpp"
#include "engine/placement.hpp"
#include "host.hpp"

namespace tune::runtime {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument(text); }

void require_at_least(const std::string& field, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  refuse(field + " must be at least " + std::to_string(least) + ", is " + std::to_string(value));
}

void require_count_or_minus_1(const std::string& field, std::int64_t value) {
  if (value >= 1 || value == -1) return;
  refuse(field + " must be at least 1, or -1 for no bound, is " + std::to_string(value));
}

void require_seconds(const std::string& field, std::chrono::duration<double> value) {
  if (value.count() >= 0) return;
  refuse(field + " must be at least 0 s, is " + core::number_text(value.count()) + " s");
}

void require_pause(const std::string& field, std::chrono::duration<double> pause) {
  if (pause.count() >= 0 && std::isfinite(pause.count())) return;
  refuse(field + " must be at least 0 s and finite, is " + core::number_text(pause.count()) + " s");
}

void check_failure_options(const FailureOptions& options) {
  require_at_least("failure.max_failures", options.max_failures, -1);
  require_pause("failure.retry_pause", options.retry_pause);
  require_pause("failure.max_retry_pause", options.max_retry_pause);
  require_at_least("failure.max_experiment_failures", options.max_experiment_failures, -1);
}

void check_trainable(const TrainableSpec& trainable) {
  if (trainable.name.empty()) refuse("trainable: it has no name");
  if (static_cast<bool>(trainable.make) == static_cast<bool>(trainable.function)) {
    refuse("trainable " + trainable.name + ": exactly one of make and function must be set");
  }
}

std::string mode_text(Mode mode) { return std::string(to_string(mode)); }

void check_objective(const std::string& who, bool needs_metric, const std::optional<Objective>& own,
                     const Experiment& experiment) {
  const std::optional<Objective> experiments = objective_of(experiment);
  const std::optional<Objective> objective = core::resolve(own, experiments);
  if (own && !objective) {
    refuse(who + " has mode " + mode_text(own->mode) +
           " but no metric, and the experiment has none either: set metric and mode");
  }
  if (needs_metric && !objective) {
    refuse(who + " needs a metric: set metric and mode of the experiment");
  }
  if (objective && experiments && objective->metric == experiments->metric &&
      objective->mode != experiments->mode) {
    refuse(who + " has metric " + core::value_text(objective->metric) + " with mode " +
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
    refuse("stop: {" + pair + "} stops a trial at or above the bound, but " + bound->field +
           " is minimised; to stop at or below it write tune::below(" + pair + ")");
  }
}

void check_objectives(const Experiment& experiment) {
  if (experiment.metric.empty() && experiment.mode) {
    refuse("mode is " + mode_text(*experiment.mode) + ", but metric is empty: set both or neither");
  }
  if (!experiment.metric.empty() && !experiment.mode) {
    refuse("metric is " + core::value_text(experiment.metric) +
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

void check_isolation(const TrainableSpec& trainable, const Experiment& experiment) {
  if (experiment.isolation == Isolation::threads) {
    if (experiment.step_timeout.count() > 0) {
      refuse("step_timeout is " + core::number_text(experiment.step_timeout.count()) +
             " s, but on threads a step that hangs cannot be killed: use Isolation::processes");
    }
    return;
  }
  if (trainable.key.empty()) {
    const std::string what = trainable.function ? "train function " : "trainable ";
    refuse(what + trainable.name +
           " is not registered, and has what a worker process cannot be given: register a function "
           "with TUNE_REGISTER_FUNCTION(name), or set isolation to Isolation::threads");
  }
  if (!detail::is_initialised()) {
    refuse(
        "trials run in worker processes, and this program did not call tune::init: let main() "
        "begin with tune::init(argc, argv), or set isolation to Isolation::threads");
  }
}

void check_resume_from(const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return;
  refuse("resume_from " + core::value_text(path) + ": " +
         (error && error != std::errc::no_such_file_or_directory
              ? error.message()
              : std::string("there is no such directory")));
}

void check_checkpoints(const TrainableSpec& trainable, const Experiment& experiment) {
  check_resume_from(experiment.resume_from);
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
    refuse("checkpoint.every is " + std::to_string(experiment.checkpoint.every) + ", but " + fault);
  }
  if (!experiment.resume_from.empty()) refuse("resume_from is set, but " + fault);
  if (experiment.checkpoint.at_end) refuse("checkpoint.at_end is set, but " + fault);
  if (experiment.scheduler->needs_checkpoints()) {
    refuse("scheduler " + name_in(experiment.scheduler->options()) + " needs checkpoints, but " +
           fault);
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
    refuse("verbosity must be 0, 1 or 2, is " + std::to_string(experiment.verbosity));
  }
  if (experiment.time_budget && !(experiment.time_budget->count() > 0)) {
    refuse("time_budget must be above 0 s, is " +
           core::number_text(experiment.time_budget->count()) + " s");
  }
  require_seconds("step_timeout", experiment.step_timeout);
  require_seconds("stop_grace", experiment.stop_grace);
  require_seconds("kill_grace", experiment.kill_grace);
}

void check_definition(const TrainableSpec& trainable, const Experiment& experiment) {
  check_trainable(trainable);
  check_numbers(experiment);
  check_objectives(experiment);
  check_checkpoints(trainable, experiment);
  check_isolation(trainable, experiment);
}

void check_resources(const Experiment& experiment, const ResourceAmounts& capacity) {
  if (experiment.resources.of) return;  // known only for each configuration
  const ResourceAmounts request(experiment.resources);
  if (request.amounts().empty() && experiment.max_concurrent == 0) {
    refuse("resources: a trial that asks for nothing needs max_concurrent to be set");
  }
  engine::Placement placement;
  placement.add_node(NodeId{0}, {}, capacity);
  if (placement.is_feasible(request)) return;
  std::string found = explain_capacity(experiment.local, request);
  if (!found.empty()) found = " (found here: " + found + ")";
  refuse("resources: " + placement.explain_infeasible(request) + found +
         "; the experiment's local says what this machine offers");
}

}  // namespace tune::runtime
