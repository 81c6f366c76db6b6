#include <cmath>

#include "engine_implementation.hpp"

// What ran on remote nodes when the driver died. Its node keeps it for driver_grace, and so does
// the engine of the next session: to scheduler and searcher it runs, but nothing can be said to it.

namespace tune::engine {
namespace {

// Of one trial, in the moment before its driver died.
constexpr std::uint32_t most_unrecorded_starts = 16;

}  // namespace

// What a decision has ended already does not come back; nor does a gang, whose parts may have been
// on several nodes.
bool Engine::Implementation::may_come_back(const TrialRecord& record) const {
  const Run& run = *record.run;
  const bool is_wanted = record.want != TrialRecord::Want::stop && !record.exploit;
  return options_.awaits_remote_nodes() && is_wanted && run.grant.workers.empty() &&
         (run.is_adrift || remote_nodes_.contains(run.grant.node));
}

std::vector<TrialId> Engine::Implementation::adrift() const {
  std::vector<TrialId> adrift;
  for (const auto& [id, record] : records_) {
    if (record.run && record.run->is_adrift) adrift.push_back(id);
  }
  return adrift;
}

void Engine::Implementation::begin_driver_grace() {
  if (adrift().empty()) return;
  adrift_until_ = context_.now() + options_.driver_grace;
  if (std::isfinite(adrift_until_.count())) emit(SetTimer{driver_grace_timer, adrift_until_});
}

void Engine::Implementation::end_driver_grace() {
  if (context_.now() < adrift_until_) return;  // of an earlier session
  take_back(adrift());
}

void Engine::Implementation::adopt(const NodeJoined& event) {
  std::vector<TrialId> refused;
  for (const HeldRun& held : event.held) {
    TrialRecord* const record = find(held.trial);
    if (record == nullptr || !record->run || !record->run->is_adrift ||
        record->run->incarnation != held.incarnation) {
      continue;
    }
    if (!adopt(*record, event.node, held)) refused.push_back(held.trial);
  }
  take_back(refused);  // nobody else has them
}

bool Engine::Implementation::adopt(TrialRecord& record, NodeId node, const HeldRun& held) {
  Run& run = *record.run;
  // What it told in between was put on record, and that record is lost.
  if (run.inbox.next() < held.first) return false;
  Placement::Grant grant = run.grant;
  grant.node = node;
  if (!placement_.take(grant)) return false;
  run.grant = std::move(grant);
  run.is_adrift = run.stop_sent = run.pause_sent = false;
  const Trial& trial = *record.trial;
  emit(Adopt{held.trial, run.incarnation, node, run.inbox.next()});
  emit(RecordTrialAdopted{
      {held.trial, trial.name(), trial.config(), run.incarnation, run.training_iteration, node}});
  if (record.want != TrialRecord::Want::run) {
    carry_out(record);
  } else {
    run.horizon = horizon_of(record);
    emit(Proceed{held.trial, run.incarnation, node, run.horizon});
  }
  return true;
}

// The start alone: what becomes of the trial is the caller's.
void Engine::Implementation::give_up_adrift(TrialRecord& record) {
  end_run(record);
  distrust_names(record);
}

void Engine::Implementation::interrupt_adrift() {
  for (const TrialId id : adrift()) {
    TrialRecord& record = records_.at(id);
    keep_clone(record);
    give_up_adrift(record);
    leave_unfinished(record);
  }
}

// A node that outlived the driver may run starts of this trial that never got on record: no later
// one gets their numbers, nor the names of their checkpoints.
void Engine::Implementation::begin_session_of(TrialRecord& record) {
  const bool is_first = std::exchange(record.session, session_) != session_;
  if (!is_first || session_ < 2 || !options_.awaits_remote_nodes()) return;
  record.trial->set_incarnation(record.trial->incarnation() + most_unrecorded_starts);
  distrust_names(record);
}

}  // namespace tune::engine
