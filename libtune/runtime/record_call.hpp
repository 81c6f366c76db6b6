#pragma once

#include <utility>

#include "report/callback_hub.hpp"
#include "runtime/messages.hpp"

namespace tune::runtime {

/// Passes a record that is in the journal on to the hub.
struct RecordCall {
  report::CallbackHub& hub;

  void operator()(const engine::RecordTrialAdded& r) const {
    hub.trial_added(r.trial, r.name, r.config);
  }
  void operator()(TrialInfo& trial) const { hub.trial_started(std::move(trial)); }
  void operator()(TrialAdopted& start) const { hub.trial_started(std::move(start.trial)); }
  void operator()(const engine::RecordResult& r) const {
    hub.result(r.trial, r.incarnation, r.result);
  }
  void operator()(const engine::RecordCheckpoint& r) const {
    hub.checkpoint_stored(r.trial, r.incarnation, r.directory_name, r.training_iteration);
  }
  void operator()(const engine::DeleteCheckpoint&) const {}  // no export has it
  void operator()(const engine::RecordCheckpointDamaged&) const {}
  void operator()(const engine::RecordTrialState& r) const {
    hub.trial_state(r.trial, r.incarnation, r.state, r.reason, r.error);
  }
  // What the journal alone keeps.
  void operator()(const JournalEvent&) const {}
  void operator()(const SnapshotTaken&) const {}
  void operator()(const engine::RecordExplanation&) const {}
  void operator()(const engine::RecordSaved&) const {}
  void operator()(const engine::RecordSavedDropped&) const {}
  void operator()(const engine::RecordRestarted& r) const { hub.trial_restarted(r.trial); }
  void operator()(const engine::RecordExploit& r) const { hub.exploit(*r.exploit); }
  void operator()(const engine::RecordExploitsDropped& r) const {
    hub.exploits_dropped(r.trial, r.kept);
  }
  void operator()(const engine::RecordWarning& r) const { hub.warning(r.trial, r.text); }
  void operator()(const NodeNote& note) const { hub.note(note.text); }
};

}  // namespace tune::runtime
