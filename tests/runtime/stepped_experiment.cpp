#include "stepped_experiment.hpp"

#include <fstream>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/past_experiment.hpp"

namespace tune::test {
namespace {

constexpr NodeId only_node{0};
constexpr std::uint64_t time_budget_timer = 0;  // the others are of trials

/// Only a name: what trains is the loop.
TrainableSpec stand_in() {
  TrainableSpec spec;
  spec.name = "stepped";
  spec.function = [](const Config&) {};
  spec.checkpoints = true;
  return spec;
}

template <class T, class... Alternatives>
constexpr bool is_in(const std::variant<Alternatives...>*) {
  return (std::is_same_v<T, Alternatives> || ...);
}

}  // namespace

SteppedExperiment::SteppedExperiment(Experiment& experiment, SteppedOptions options)
    : options_(std::move(options)),
      checkpoint_(experiment.checkpoint),
      setup_(runtime::set_up(stand_in(), experiment)),
      store_(setup_.info.path),
      last_event_(setup_.begin.last_event) {
  if (setup_.journal) keeper_ = std::make_unique<runtime::RecordKeeper>(*setup_.journal);
}

SteppedExperiment::~SteppedExperiment() = default;

ResultGrid SteppedExperiment::run() {
  if (setup_.is_complete) return ResultGrid::open(setup_.info.path);
  setup_.hub->experiment_started(setup_.info,
                                 setup_.past ? report::Resumed::yes : report::Resumed::no);
  if (setup_.past) runtime::restore_trials(*setup_.past, setup_.reopened, *setup_.hub);
  setup_.past.reset();
  handle(setup_.begin.event);
  handle(engine::NodeJoined{only_node, "here", setup_.machine.capacity});
  while (!end_) handle_next();
  setup_.journal->end_session(0, *end_);
  setup_.journal->commit();
  setup_.journal->finish();
  setup_.hub->experiment_ended(*end_);
  if (const auto& error = setup_.hub->storage_error()) throw std::runtime_error(*error);
  return ResultGrid::open(setup_.info.path);
}

void SteppedExperiment::handle_next() {
  if (time_is_up_at_ && next_time() >= *time_is_up_at_) {
    time_is_up_at_.reset();
    handle(engine::TimerFired{time_budget_timer});
  } else if (options_.interrupt_after > 0 && commits_ == options_.interrupt_after) {
    handle(engine::StopRequested{"somebody presses a key", /*interrupts=*/true});
  } else if (!events_.empty()) {
    engine::Event next = std::move(events_.front());
    events_.pop_front();
    handle(std::move(next));
  } else if (!step()) {
    throw std::logic_error("nothing happens any more: " + setup_.engine->waiting_reason());
  }
}

Time SteppedExperiment::next_time() const {
  return Time(0.25) * static_cast<double>(last_event_ + 1);
}

void SteppedExperiment::handle(engine::Event event) {
  const Time now = next_time();
  std::vector<engine::Command> commands;
  setup_.engine->handle(event, now, commands);
  keeper_->put(runtime::journal_event(++last_event_, now, std::move(event),
                                      setup_.engine->take_decisions(), commands));
  for (engine::Command& command : commands) keep(command);
  take_snapshots();
  setup_.journal->commit();
  options_.after_commit(++commits_);
  for (runtime::Record& record : std::exchange(records_, {})) runtime::pass_on(record, *setup_.hub);
  setup_.hub->idle();
  for (engine::Command& command : commands) carry_out(command);
}

// As the driver does.
void SteppedExperiment::keep(engine::Command& command) {
  std::visit(
      [this](auto& c) {
        using C = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<C, engine::RecordTrialStarted>) {
          TrialInfo info;
          info.id = c.start.trial;
          info.name = c.start.name;
          info.config = c.start.config;
          info.incarnation = c.start.incarnation;
          info.start_iteration = c.start.start_iteration;
          info.node = "here";
          records_.emplace_back(std::move(info));
        } else if constexpr (is_in<C>(static_cast<const runtime::Record*>(nullptr))) {
          records_.emplace_back(c);
        } else {
          return;
        }
        keeper_->put(records_.back());
      },
      command);
}

void SteppedExperiment::take_snapshots() {
  if (options_.snapshot_every == 0 || last_event_ % options_.snapshot_every != 0) return;
  keeper_->put(runtime::SnapshotTaken{"scheduler", last_event_, setup_.engine->scheduler().save()});
}

void SteppedExperiment::carry_out(engine::Command& command) {
  if (const auto* ask = std::get_if<engine::AskSearcher>(&command)) {
    engine::SuggestionReady ready{ask->trial, Wait{}};
    std::visit([&](auto&& answer) { ready.suggestion = std::forward<decltype(answer)>(answer); },
               setup_.suggestions->suggest(ask->trial));
    events_.emplace_back(std::move(ready));
  } else if (const auto* told = std::get_if<engine::TellSearcherResult>(&command)) {
    setup_.suggestions->on_trial_result(told->trial, told->config, told->result);
  } else if (const auto* completed = std::get_if<engine::TellSearcherCompleted>(&command)) {
    setup_.suggestions->on_trial_completed(completed->trial, completed->config, completed->last);
  } else if (const auto* failed = std::get_if<engine::TellSearcherFailed>(&command)) {
    setup_.suggestions->on_trial_failed(failed->trial, failed->config, failed->infeasible);
  } else if (const auto* start = std::get_if<engine::Launch>(&command)) {
    launch(*start);
  } else if (const auto* proceed = std::get_if<engine::Proceed>(&command)) {
    Running* trial = find(proceed->trial, proceed->incarnation);
    if (trial != nullptr) trial->launch.horizon = proceed->horizon;
  } else if (const auto* stop = std::get_if<engine::Stop>(&command)) {
    if (Running* trial = find(stop->trial, stop->incarnation)) {
      trial->stop = true;
      trial->save_at_stop = stop->save;
    }
  } else if (const auto* pause = std::get_if<engine::Pause>(&command)) {
    if (Running* trial = find(pause->trial, pause->incarnation)) trial->pause = true;
  } else if (const auto* due = std::get_if<engine::Save>(&command)) {
    if (Running* trial = find(due->trial, due->incarnation)) trial->save_due = true;
  } else if (const auto* doomed = std::get_if<engine::DeleteCheckpoint>(&command)) {
    (void)store_.remove(doomed->checkpoint.trial_name, doomed->checkpoint.directory_name);
  } else if (const auto* timer = std::get_if<engine::SetTimer>(&command)) {
    if (timer->timer == time_budget_timer) time_is_up_at_ = timer->at;
  } else if (const auto* finish = std::get_if<engine::Finish>(&command)) {
    end_ = finish->end;
  }
}

SteppedExperiment::Running* SteppedExperiment::find(TrialId id, std::uint32_t incarnation) {
  const auto found = trials_.find(id);
  if (found == trials_.end() || found->second.launch.incarnation != incarnation) return nullptr;
  return &found->second;
}

void SteppedExperiment::launch(const engine::Launch& launch) {
  Running& trial = trials_[launch.trial] = {};
  trial.launch = launch;
  trial.iteration = launch.start_iteration;
  tell(trial, engine::Started{});
  if (!launch.checkpoint) return;
  const auto& [name, directory] = *launch.checkpoint;
  const auto whole = store_.verify(name, directory, *launch.checkpoint_files);
  if (!whole) throw std::logic_error(whole.error().message);
  std::int64_t iteration = 0;
  std::ifstream(store_.path(name, directory) / "state") >> iteration >> trial.state;
  trial.saved = launch.start_iteration;
  if (launch.adopt_as) return adopt(trial);
  // What is in one that was adopted is of the donor's time.
  if (!directory.starts_with(engine::checkpoint_directory_name(launch.start_iteration))) {
    throw std::logic_error("a checkpoint of another time");
  }
}

// Another trial's checkpoint becomes one of its own.
void SteppedExperiment::adopt(Running& trial) {
  const engine::Launch& launch = trial.launch;
  const auto& [name, directory] = *launch.checkpoint;
  auto made = store_.adopt(name, directory, launch.checkpoint_files.get(), launch.trial_name,
                           *launch.adopt_as);
  if (!made) throw std::logic_error(made.error().message);
  tell_stored(trial, *launch.adopt_as, std::move(made).value());
}

// One trial goes on until it waits; false if all of them wait.
bool SteppedExperiment::step() {
  for (auto& [id, trial] : trials_) {
    const bool waits = trial.last && trial.launch.horizon.is_reached(*trial.last);
    if (trial.stop) {
      if (trial.save_at_stop) save(trial);
      end_trial(trial, engine::EndKind::stopped);
    } else if (trial.pause) {
      save(trial);
      end_trial(trial, engine::EndKind::paused);
    } else if (trial.save_due) {
      save(trial);
    } else if (waits) {
      continue;
    } else if (trial.iteration == options_.steps) {
      end_trial(trial, engine::EndKind::finished);
    } else {
      train(trial);
    }
    return true;
  }
  return false;
}

void SteppedExperiment::train(Running& trial) {
  ++trial.iteration;
  trial.state = options_.step(trial.launch.config, trial.state, trial.iteration);
  Result result;
  result.metrics = {{"loss", trial.state}};
  result.training_iteration = trial.iteration;
  result.time_this_iter_s = 0.5;
  result.time_total_s = 0.5 * static_cast<double>(trial.iteration);
  result.timestamp = 1e9;
  trial.last = result;
  tell(trial, engine::Reported{std::move(result)});
  if (checkpoint_.every > 0 && trial.iteration % checkpoint_.every == 0) save(trial);
}

void SteppedExperiment::save(Running& trial) {
  trial.save_due = false;
  if (trial.saved == trial.iteration) return;
  const std::string name = engine::own_checkpoint_name(trial.launch, trial.iteration);
  auto pending = store_.begin(trial.launch.trial_name, name);
  if (!pending) throw std::logic_error(pending.error().message);
  std::ofstream out(pending.value().path() / "state");
  out.precision(17);
  out << trial.iteration << ' ' << trial.state;
  out.close();
  auto manifest = pending.value().commit();
  if (!manifest) throw std::logic_error(manifest.error().message);
  trial.saved = trial.iteration;
  tell_stored(trial, name, std::move(manifest).value());
}

void SteppedExperiment::tell_stored(Running& trial, const std::string& name,
                                    core::CheckpointManifest files) {
  tell(trial, engine::CheckpointStored{
                  name, trial.iteration, 0.5 * static_cast<double>(trial.iteration),
                  std::make_shared<const core::CheckpointManifest>(std::move(files))});
}

void SteppedExperiment::tell(Running& trial, engine::TrialReport report) {
  events_.emplace_back(engine::TrialMessage{trial.launch.trial, trial.launch.incarnation,
                                            trial.sequence++, std::move(report)});
}

void SteppedExperiment::end_trial(Running& trial, engine::EndKind kind) {
  tell(trial, engine::Ended{kind, {}});
  trials_.erase(trial.launch.trial);
}

}  // namespace tune::test
