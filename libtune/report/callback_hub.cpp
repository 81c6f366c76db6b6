#include "report/callback_hub.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "experiment_files.hpp"
#include "policy_files.hpp"
#include "report/exporters.hpp"

namespace tune::report {
namespace {

constexpr Progress::Seconds shortest_interval{0.05};

// Every callback has a name, even one whose name() throws.
std::string callback_name(const Callback& callback) {
  try {
    return callback.name();
  } catch (...) {
    return "(name() threw)";
  }
}

// What an exception of unknown type says.
std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

CallbackHub::CallbackHub(const std::vector<std::string>& exporters,
                         std::vector<std::shared_ptr<Callback>> callbacks)
    : files_(std::make_shared<FilePool>()) {
  for (auto name = exporters.begin(); name != exporters.end(); ++name) {
    if (std::find(exporters.begin(), name, *name) != name) {
      throw std::invalid_argument("exporters: \"" + *name + "\" is there twice");
    }
    exporters_.push_back(make_exporter(*name, files_));
  }
  for (std::shared_ptr<Callback>& callback : callbacks) {
    if (!callback) throw std::invalid_argument("callbacks: one of them is a null pointer");
    if (auto reporter = std::dynamic_pointer_cast<ProgressReporter>(callback)) {
      reporters_.push_back({std::move(reporter), listeners_.size()});
    }
    listeners_.push_back({std::move(callback)});
  }
}

CallbackHub::~CallbackHub() = default;

// Runs what writes to the storage, and keeps the first fault of it.
void CallbackHub::store(const std::function<void()>& write) {
  try {
    write();
  } catch (const std::exception& error) {
    if (!storage_error_) storage_error_ = error.what();
  }
}

void CallbackHub::log(std::initializer_list<DriverLog::Pair> pairs) {
  store([&] { log_->write(pairs); });
}

void CallbackHub::tell(const std::function<void(Callback&)>& call) {
  tell_exporters(call);
  tell_users_callbacks(call);
}

void CallbackHub::tell_exporters(const std::function<void(Callback&)>& call) {
  for (const std::shared_ptr<Exporter>& exporter : exporters_) {
    store([&] { call(*exporter); });
  }
}

void CallbackHub::tell_users_callbacks(const std::function<void(Callback&)>& call) {
  for (Listener& listener : listeners_) call_user(listener, call);
}

void CallbackHub::call_user(Listener& listener, const std::function<void(Callback&)>& call) {
  if (!listener.is_on) return;
  try {
    call(*listener.callback);
  } catch (...) {
    switch_off(listener, current_exception_text());
  }
}

void CallbackHub::switch_off(Listener& listener, const std::string& what) {
  listener.is_on = false;
  const std::string name = callback_name(*listener.callback);
  std::cerr << "tune: callback " << name << " threw and is switched off: " << what << std::endl;
  log({{"event", "callback_switched_off"}, {"callback", name}, {"error", what}});
}

void CallbackHub::experiment_started(ExperimentInfo experiment, Resumed resumed) {
  const bool is_resumed = resumed == Resumed::yes;
  experiment_ = std::move(experiment);
  if (reports_progress()) tracker_.experiment_started(experiment_);
  log_ = std::make_unique<DriverLog>(
      *files_, experiment_.path / "driver.log",
      is_resumed ? DriverLog::OldLines::keep : DriverLog::OldLines::drop);
  if (has_policy_files(experiment_.definition)) {
    policy_files_ = std::make_unique<PolicyFiles>(experiment_.path);
  }
  store([&] {
    std::filesystem::create_directories(experiment_.path);
    write_experiment_file(experiment_, std::nullopt);
  });
  log({{"event", is_resumed ? "experiment_resumed" : "experiment_started"},
       {"name", experiment_.name},
       {"path", experiment_.path.native()},
       {"seed", std::to_string(experiment_.seed)},
       {experiment_.overrides.empty() ? "" : "command_line", experiment_.overrides}});
  tell([&](Callback& callback) { callback.on_experiment_start(experiment_); });
}

void CallbackHub::trial_added(TrialId id, const std::string& name, const Config& config) {
  TrialInfo& trial = trials_[id].info;
  trial.id = id;
  trial.name = name;
  trial.path = experiment_.path / name;
  trial.config = config;
  if (reports_progress()) tracker_.trial_added(id, name, config);
}

// The trial of a record; null if the record comes too late.
CallbackHub::LiveTrial* CallbackHub::current(TrialId id, std::uint32_t incarnation) {
  const auto found = trials_.find(id);
  if (found == trials_.end() || incarnation < found->second.info.incarnation) return nullptr;
  return &found->second;
}

void CallbackHub::trial_started(TrialInfo trial) {
  LiveTrial* const live = current(trial.id, trial.incarnation);
  if (live == nullptr) return;
  TrialInfo& known = live->info;
  known = std::move(trial);
  known.path = experiment_.path / known.name;
  if (reports_progress()) tracker_.trial_started(known);
  store([&] { std::filesystem::create_directories(known.path); });
  log({{"trial", std::to_string(known.id.value())},
       {"event", "started"},
       {"incarnation", std::to_string(known.incarnation)},
       {"start_iteration", std::to_string(known.start_iteration)},
       {"node", known.node}});
  tell([&](Callback& callback) { callback.on_trial_start(known); });
}

void CallbackHub::result(TrialId id, std::uint32_t incarnation, const Result& result) {
  LiveTrial* const live = current(id, incarnation);
  if (live == nullptr) return;
  live->training_iteration = result.training_iteration;
  if (reports_progress()) tracker_.result(id, result);
  tell([&](Callback& callback) { callback.on_trial_result(live->info, result); });
}

void CallbackHub::checkpoint_stored(TrialId id, std::uint32_t incarnation,
                                    const std::string& directory_name,
                                    std::int64_t training_iteration) {
  const LiveTrial* const live = current(id, incarnation);
  if (live == nullptr) return;
  const TrialInfo& trial = live->info;
  const Checkpoint checkpoint{trial.path / directory_name, training_iteration};
  tell([&](Callback& callback) { callback.on_trial_checkpoint(trial, checkpoint); });
}

void CallbackHub::trial_state(TrialId id, std::uint32_t incarnation, TrialState state,
                              const std::string& reason, const std::string& error) {
  const LiveTrial* const live = current(id, incarnation);
  if (live == nullptr) return;
  const TrialInfo& trial = live->info;
  if (!error.empty()) {
    store([&] { append_failed_start(trial.path, incarnation, live->training_iteration, error); });
  }
  if (reports_progress()) tracker_.trial_state(id, state, reason, error);
  const bool will_retry = state == TrialState::pending && !error.empty();
  log({{"trial", std::to_string(id.value())},
       {"event", will_retry ? "failed" : to_string(state)},
       {"incarnation", std::to_string(incarnation)},
       {reason.empty() ? "" : "reason", reason},
       {error.empty() ? "" : "error", error}});

  const TrialEnd end{state, reason, error};
  if (state == TrialState::terminated) {
    tell([&](Callback& callback) { callback.on_trial_completed(trial, end); });
  } else if (state == TrialState::error || will_retry) {
    tell([&](Callback& callback) { callback.on_trial_failed(trial, end, will_retry); });
  }
  if (state == TrialState::terminated || state == TrialState::error) trials_.erase(id);
}

void CallbackHub::exploit(const core::Exploit& exploit) {
  store([&] { log_->write_exploit(exploit); });
  if (policy_files_) store([&] { policy_files_->add(exploit); });
}

void CallbackHub::exploits_dropped(TrialId id, std::uint64_t kept) {
  log({{"trial", std::to_string(id.value())},
       {"event", "exploits_dropped"},
       {"kept", std::to_string(kept)}});
  if (policy_files_) store([&] { policy_files_->drop(id, kept); });
}

void CallbackHub::warning(std::optional<TrialId> id, const std::string& text) {
  log({{id ? "trial" : "", id ? std::to_string(id->value()) : std::string()},
       {"event", "warning"},
       {"text", text}});
}

void CallbackHub::note(const std::string& text) { log({{"event", "note"}, {"text", text}}); }

void CallbackHub::experiment_ended(const ExperimentEnd& end) {
  log({{"event", "experiment_ended"},
       {"reason", end.reason},
       {end.error.empty() ? "" : "error", end.error},
       {end.interrupted ? "interrupted" : "", "true"},
       {"terminated", std::to_string(end.terminated_trials)},
       {"failed", std::to_string(end.failed_trials)},
       {"unfinished", std::to_string(end.unfinished_trials)}});
  if (reports_progress()) tracker_.experiment_ended(end);
  const auto tell_end = [&](Callback& callback) { callback.on_experiment_end(experiment_, end); };
  tell_exporters(tell_end);
  store([&] { files_->flush(); });  // the recorded end says that all the rest is there
  store([&] { write_experiment_file(experiment_, end); });
  tell_users_callbacks(tell_end);   // they may open the results
  store([&] { files_->flush(); });  // one of them may have been switched off
}

void CallbackHub::idle() {
  store([&] { files_->flush(); });
  tell([](Callback& callback) { callback.on_idle(); });
}

void CallbackHub::run_status(const RunStatus& status) { tracker_.run_status(status); }

std::optional<Progress::Seconds> CallbackHub::report_progress(Progress::Seconds now) {
  std::optional<Progress> progress;
  std::optional<Progress::Seconds> next;
  for (Reporter& reporter : reporters_) {
    Listener& listener = listeners_[reporter.listener];
    if (reporter.due <= now) {
      if (!progress) progress = tracker_.snapshot(now);
      call_user(listener, [&](Callback&) {
        reporter.reporter->report(*progress, false);
        // Written so that NaN is the shortest.
        const Progress::Seconds interval = reporter.reporter->interval();
        reporter.due = now + (interval > shortest_interval ? interval : shortest_interval);
      });
    }
    if (listener.is_on && (!next || reporter.due < *next)) next = reporter.due;
  }
  return next;
}

void CallbackHub::report_end(Progress::Seconds now) {
  if (!reports_progress()) return;
  const Progress progress = tracker_.snapshot(now);
  for (const Reporter& reporter : reporters_) {
    call_user(listeners_[reporter.listener],
              [&](Callback&) { reporter.reporter->report(progress, true); });
  }
}

}  // namespace tune::report
