#include "runtime/experiment_setup.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <tune/schedulers/fifo.hpp>
#include <tune/searchers/automatic.hpp>

#include "builtins.hpp"
#include "core/resources_json.hpp"
#include "definition_check.hpp"
#include "experiment_record.hpp"
#include "past_session.hpp"
#include "plugin_loader.hpp"
#include "report/progress_display.hpp"
#include "runtime/experiment_directory.hpp"
#include "runtime/host.hpp"
#include "runtime/hurried_searcher.hpp"
#include "runtime/left_overs.hpp"
#include "runtime/past_experiment.hpp"

namespace tune::runtime {
namespace {

Json describe_resources(const Resources& resources) {
  return resources.of ? Json("function") : core::to_json(resources);
}

Json describe_failure_options(const FailureOptions& options) {
  return {{"max_failures", options.max_failures},
          {"max_node_failures", options.max_node_failures},
          {"retry_pause", options.retry_pause.count()},
          {"max_retry_pause", options.max_retry_pause.count()},
          {"max_experiment_failures", options.max_experiment_failures},
          {"fail_fast", options.fail_fast}};
}

/// What experiment.json holds.
Json define(const TrainableSpec& trainable, const Experiment& experiment, std::uint64_t seed) {
  const auto objective = objective_of(experiment);
  Json definition = {
      {"tune_version", TUNE_VERSION},
      {"trainable", trainable.name},
      {"space", experiment.space.json()},
      {"metric", objective ? Json(objective->metric) : Json()},
      {"mode", objective ? Json(to_string(objective->mode)) : Json()},
      {"num_samples", experiment.num_samples},
      {"max_trials", experiment.max_trials},
      {"searcher", experiment.searcher->options()},
      {"scheduler", experiment.scheduler->options()},
      {"resources", describe_resources(experiment.resources)},
      {"stop", experiment.stop.json()},
      {"checkpoint", describe(experiment.checkpoint)},
      {"failure", describe_failure_options(experiment.failure)},
      {"seed", seed},
      {"max_concurrent", experiment.max_concurrent},
      {"time_budget", experiment.time_budget ? Json(experiment.time_budget->count()) : Json()},
      {"points_to_evaluate", experiment.points_to_evaluate},
      {"avoid_duplicates", experiment.avoid_duplicates},
      {"strict_metric", experiment.strict_metric},
      {"step_timeout", experiment.step_timeout.count()},
      {"isolation", experiment.isolation == Isolation::threads ? "threads" : "processes"},
      {"reuse_workers", experiment.reuse_workers},
      {"exporters", experiment.exporters},
      {"suggest_budget",
       experiment.suggest_budget ? Json(experiment.suggest_budget->count()) : Json()},
      {"stop_grace", experiment.stop_grace.count()},
      {"kill_grace", experiment.kill_grace.count()},
      {"node_timeout", experiment.node_timeout.count()},
      {"driver_grace", experiment.driver_grace.count()},
  };
  const std::vector<std::string> constraints = experiment.space.constraints();
  if (!constraints.empty()) definition["constraints"] = constraints;
  const std::vector<std::string> plugins = plugin_files();
  if (!plugins.empty()) definition["plugins"] = plugins;
  return definition;
}

ExperimentInfo describe_experiment(const TrainableSpec& trainable, const Experiment& experiment) {
  ExperimentInfo info;
  check_experiment_name(experiment.name);
  info.name = experiment.name.empty() ? default_experiment_name(trainable.name) : experiment.name;
  info.has_default_name = experiment.name.empty();
  info.path = resolve_storage(experiment.storage_path) / info.name;
  info.experiment_id = draw_experiment_id();
  info.objective = objective_of(experiment);
  info.seed = experiment.seed ? *experiment.seed : draw_seed();
  info.definition = define(trainable, experiment, info.seed);
  return info;
}

[[noreturn]] void refuse_contents(const ExperimentInfo& info, const std::string& reason) {
  throw std::invalid_argument("experiment directory " + info.path.string() + ": " + reason);
}

/// What the directory holds that this run may go on with, or nothing; else it is refused.
Contents usable_contents(const Experiment& experiment, const ExperimentInfo& info,
                         DirectoryClaim& claim, ExperimentSetup& setup) {
  const Contents contents = look_into(info.path);
  if (contents == Contents::nothing) return contents;
  if (experiment.resume == Resume::fresh) {
    const std::string aside = claim.move_aside().string();
    setup.notes.push_back("what was there before is now " + aside);
    setup.greeting = "the earlier run is now " + aside;
    return Contents::nothing;
  }
  if (experiment.resume == Resume::never) {
    refuse_contents(info,
                    "there are results in it already, and resume is never; give the experiment "
                    "another name, or resume it");
  }
  if (contents == Contents::other) {
    refuse_contents(info, "there are files in it and no " + std::string(store::journal_file) +
                              ", so it cannot be resumed; give the experiment another name, or "
                              "move the directory away");
  }
  return contents;
}

/// At which iteration a trial ends at the latest; empty if that is not known.
std::optional<std::int64_t> bound_iterations(const Experiment& experiment) {
  std::optional<double> bound;
  const auto lower = [&](double other) { bound = std::min(bound.value_or(other), other); };
  for (const StopCriteria::Rule& rule : experiment.stop.rules()) {
    const auto* field = std::get_if<StopCriteria::Bound>(&rule);
    if (field != nullptr && !field->below && field->field == "training_iteration") {
      lower(field->bound);
    }
  }
  const Json scheduler = experiment.scheduler->options();
  const auto max_t = scheduler.find("max_t");
  if (max_t != scheduler.end() && max_t->is_number() &&
      experiment.scheduler->time_attr() == "training_iteration") {
    lower(max_t->get<double>());
  }
  if (!bound || !(*bound >= 1) || *bound > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(*bound));
}

report::ExpectedWork expected_work(const Experiment& experiment,
                                   const engine::SuggestionSource& suggestions) {
  report::ExpectedWork work;
  if (const auto trials = engine::bound_trials(suggestions, experiment.max_trials)) {
    work.trials = static_cast<std::int64_t>(std::min<std::uint64_t>(*trials, INT64_MAX));
  }
  work.max_iterations = bound_iterations(experiment);
  work.time_budget = experiment.time_budget;
  return work;
}

/// The user's callbacks, and behind them the display, if there is to be one.
std::vector<std::shared_ptr<Callback>> callbacks_of(const Experiment& experiment) {
  std::vector<std::shared_ptr<Callback>> callbacks = experiment.callbacks;
  const bool has_reporter = std::any_of(
      callbacks.begin(), callbacks.end(), [](const std::shared_ptr<Callback>& callback) {
        return dynamic_cast<const ProgressReporter*>(callback.get()) != nullptr;
      });
  if (experiment.verbosity > 0 && !has_reporter) {
    callbacks.push_back(report::make_progress_display(experiment.verbosity));
  }
  return callbacks;
}

/// Makes the objects that run the experiment; takes searcher and scheduler.
engine::EngineOptions make_engine(const TrainableSpec& trainable, Experiment& experiment,
                                  ExperimentSetup& setup) {
  if (experiment.suggest_budget) {
    experiment.searcher = hurried(std::move(experiment.searcher), *experiment.suggest_budget);
  }
  setup.suggestions = engine::take_searcher(experiment, setup.info);
  setup.hub->expect(expected_work(experiment, *setup.suggestions));
  engine::EngineOptions options =
      engine::engine_options(trainable, experiment, setup.info, *setup.suggestions);
  setup.engine = std::make_unique<engine::Engine>(options, engine::take_scheduler(experiment));
  return options;
}

store::ExperimentRow row_of(const ExperimentInfo& info) {
  return {info.name, info.experiment_id, info.objective, info.seed, info.definition};
}

/// The journal's part of a session that begins.
void begin_session(ExperimentSetup& setup, const engine::EngineOptions& options,
                   std::int64_t number) {
  setup.begin.event.options = std::make_shared<const engine::EngineOptions>(options);
  const Host host = local_host();
  store::SessionRow session;
  session.number = number;
  session.first_event = setup.begin.last_event + 1;
  session.host = host.name;
  session.pid = host.pid;
  session.started =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  setup.journal->begin_session(session);
  setup.journal->commit();
}

void begin_new(const TrainableSpec& trainable, Experiment& experiment,
               const store::ChosenMode& mode, ExperimentSetup& setup) {
  const engine::EngineOptions options = make_engine(trainable, experiment, setup);
  setup.journal = store::Journal::create(setup.info.path, row_of(setup.info), mode.mode);
  begin_session(setup, options, 1);
}

void go_on(const TrainableSpec& trainable, Experiment& experiment, const store::ChosenMode& mode,
           ExperimentSetup& setup) {
  PastSession past(setup.info, experiment, define(trainable, experiment, setup.info.seed));
  setup.info = past.info();
  setup.past = past.reader();
  const engine::EngineOptions options = make_engine(trainable, experiment, setup);
  past.replay(options, *setup.engine, *setup.suggestions);
  setup.greeting = past.greeting();
  setup.notes.insert(setup.notes.end(), past.notes().begin(), past.notes().end());
  setup.is_complete = past.is_complete();
  if (setup.is_complete) return;
  setup.begin = past.begin();
  setup.reopened = past.reopened();
  setup.journal = store::Journal::open(setup.info.path, mode.mode);
  // Nothing goes before the journal is known to be whole.
  const OfRunning of_running = options.awaits_remote_nodes() ? OfRunning::keep : OfRunning::remove;
  for (std::string& line : clean_directories(*setup.past, setup.info.path, of_running)) {
    setup.notes.push_back(std::move(line));
  }
  setup.journal->set_experiment(row_of(setup.info));
  begin_session(setup, options, past.next_session());
}

ExperimentSetup set_up_as_it_is(const TrainableSpec& trainable, Experiment& experiment) {
  register_builtins();
  load_plugins(experiment.plugins);
  engine::refuse_taken(experiment);
  const engine::DefaultsFilled defaults(experiment, fifo(), automatic());
  check_definition(trainable, experiment);

  ExperimentSetup setup;
  setup.trainable = trainable;
  setup.plugins = plugin_files();
  setup.machine = local_machine(experiment.local);
  setup.labels = experiment.local.labels;
  check_resources(experiment, setup.machine.capacity);
  setup.info = describe_experiment(trainable, experiment);
  setup.checkpoint = experiment.checkpoint;
  setup.isolation = experiment.isolation;
  setup.times = {experiment.stop_grace, experiment.kill_grace, experiment.step_timeout};
  setup.reuse_workers = experiment.reuse_workers;
  setup.cluster = experiment.cluster;
  setup.node_timeout = experiment.node_timeout;
  setup.driver_grace = experiment.driver_grace;
  setup.exit_on_signal = experiment.exit_on_signal;
  setup.verbosity = experiment.verbosity;
  setup.show_output = experiment.show_output;
  setup.resume = experiment.resume;
  if (!experiment.resume_from.empty()) {
    setup.resume_from = std::filesystem::absolute(experiment.resume_from).lexically_normal();
  }
  setup.hub = std::make_shared<report::CallbackHub>(experiment.exporters, callbacks_of(experiment));
  // Whatever is refused leaves scheduler, searcher and disk as they were, for another try.
  DirectoryClaim claim(setup.info.path);
  const Contents contents = usable_contents(experiment, setup.info, claim, setup);
  const store::ChosenMode mode = store::choose_journal_mode(setup.info.path);
  if (!mode.reason.empty()) {
    setup.notes.push_back("the journal is written in " + std::string(to_string(mode.mode)) +
                          " mode: " + mode.reason);
  }
  if (contents == Contents::experiment) {
    go_on(trainable, experiment, mode, setup);
  } else {
    begin_new(trainable, experiment, mode, setup);
  }
  setup.lock.emplace(claim.keep());
  return setup;
}

}  // namespace

ExperimentSetup set_up(const TrainableSpec& trainable, Experiment& experiment,
                       const std::vector<Override>& overrides) {
  if (overrides.empty()) return set_up_as_it_is(trainable, experiment);
  apply_overrides(overrides, experiment);
  const std::string text = overrides_text(overrides);
  try {
    ExperimentSetup setup = set_up_as_it_is(trainable, experiment);
    setup.info.overrides = text;
    return setup;
  } catch (const std::invalid_argument& error) {
    // The fault may be in what the program sets, in what its user sets, or in both together.
    throw std::invalid_argument(std::string(error.what()) + " (the command line sets " + text +
                                ")");
  }
}

}  // namespace tune::runtime
