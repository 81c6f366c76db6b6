#include "runtime/callback_actor.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include <caf/all.hpp>

#include <tune/error.hpp>

#include "actor_faults.hpp"

namespace tune::runtime {
namespace {

/// The directory name of a trial begins with its id.
TrialId trial_of(const engine::CheckpointLocation& checkpoint) {
  return TrialId{std::stoull(checkpoint.trial_name)};
}

/// Passes one record on to the hub.
struct RecordCall {
  report::CallbackHub& hub;

  void operator()(const engine::RecordTrialAdded& r) const {
    hub.trial_added(r.trial, r.name, r.config);
  }
  void operator()(TrialInfo& trial) const { hub.trial_started(std::move(trial)); }
  void operator()(const engine::RecordResult& r) const {
    hub.result(r.trial, r.incarnation, r.result);
  }
  void operator()(const engine::RecordCheckpoint& r) const {
    hub.checkpoint_stored(r.trial, r.incarnation, r.directory_name, r.training_iteration);
  }
  void operator()(const engine::DeleteCheckpoint& r) const {
    hub.checkpoint_deleted(trial_of(r.checkpoint), r.checkpoint.directory_name);
  }
  void operator()(const engine::RecordTrialState& r) const {
    hub.trial_state(r.trial, r.incarnation, r.state, r.reason, r.error);
  }
  void operator()(const engine::RecordRestarted&) const {}
  void operator()(const engine::RecordExplanation& r) const { hub.explanation(r.trial, r.reason); }
  void operator()(const engine::RecordWarning& r) const { hub.warning(r.trial, r.text); }
  void operator()(const NodeNote& note) const { hub.note(note.text); }
};

/// Reports the progress when it is due, whether something happens or not.
class ProgressClock {
 public:
  ProgressClock(CallbackActor::pointer self, std::shared_ptr<report::CallbackHub> hub)
      : self_(self), hub_(std::move(hub)), begin_(self->clock().now()) {}

  void report() {
    const std::optional<Progress::Seconds> next = hub_->report_progress(elapsed());
    if (!next) return;
    const auto delay = std::clamp(*next - elapsed(), Progress::Seconds(0), longest_wait);
    self_->delayed_send(self_, std::chrono::duration_cast<std::chrono::nanoseconds>(delay),
                        ProgressDue{});
  }
  void report_end() { hub_->report_end(elapsed()); }

 private:
  // A reporter may ask for any interval; no clock overflows.
  static constexpr Progress::Seconds longest_wait{24.0 * 3600};

  [[nodiscard]] Progress::Seconds elapsed() const { return self_->clock().now() - begin_; }

  CallbackActor::pointer self_;
  std::shared_ptr<report::CallbackHub> hub_;  // with the actor's handlers
  caf::actor_clock::time_point begin_;
};

}  // namespace

CallbackActor::behavior_type serve_callbacks(CallbackActor::pointer self,
                                             std::shared_ptr<report::CallbackHub> hub,
                                             ExperimentInfo experiment) {
  watch_for_faults(self);
  hub->experiment_started(std::move(experiment));
  const auto progress = std::make_shared<ProgressClock>(self, hub);
  progress->report();
  const auto pause_is_due = std::make_shared<bool>(false);
  return {
      [=](RecordTurn& turn) {
        if (turn.status) hub->run_status(*turn.status);
        RecordTurnDone done{turn.records.size(), std::move(turn.acknowledgements), {}, {}};
        for (Record& record : turn.records) {
          std::visit(RecordCall{*hub}, record);
          if (const auto* deletion = std::get_if<engine::DeleteCheckpoint>(&record)) {
            done.deletions.push_back(*deletion);
          }
        }
        done.storage_error = hub->storage_error().value_or("");
        if (!std::exchange(*pause_is_due, true)) self->send(self, WritingPause{});
        return done;
      },
      [=](const WritingPause&) {
        *pause_is_due = false;
        hub->idle();
      },
      [=](const ProgressDue&) { progress->report(); },
      [=](const EndRecords& last) {
        for (const std::string& warning : last.warnings) hub->warning(std::nullopt, warning);
        hub->experiment_ended(last.end);
        progress->report_end();
        self->quit();
      },
  };
}

}  // namespace tune::runtime
