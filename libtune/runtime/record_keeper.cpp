#include "runtime/record_keeper.hpp"

#include "engine/event_json.hpp"
#include "trial_of_path.hpp"

namespace tune::runtime {
namespace {

// True if all that a message says stands in the record of a result that came of it.
bool is_plain_result(const engine::TrialMessage& message,
                     const std::vector<engine::Command>& commands) {
  const auto* const reported = std::get_if<engine::Reported>(&message.report);
  if (reported == nullptr) return false;
  const engine::RecordResult* recorded = nullptr;
  for (const engine::Command& command : commands) {
    const auto* const result = std::get_if<engine::RecordResult>(&command);
    if (result == nullptr) continue;
    if (recorded != nullptr) return false;  // it made way for others, too
    recorded = result;
  }
  return recorded != nullptr && recorded->trial == message.trial &&
         recorded->incarnation == message.incarnation &&
         recorded->result.training_iteration == reported->result.training_iteration;
}

}  // namespace

JournalEvent journal_event(store::EventNumber number, Time time, engine::Event event,
                           engine::Decisions decisions,
                           const std::vector<engine::Command>& commands) {
  JournalEvent entry{number, time, std::move(event), std::move(decisions), false};
  auto* const message = std::get_if<engine::TrialMessage>(&entry.event);
  if (message != nullptr && is_plain_result(*message, commands)) {
    entry.is_plain_result = true;
    std::get<engine::Reported>(message->report).result.metrics = {};  // they need not travel twice
  }
  return entry;
}

void RecordKeeper::put(const Record& record) {
  std::visit([this](const auto& r) { on(r); }, record);
}

void RecordKeeper::on(const JournalEvent& event) {
  event_ = event.number;
  is_plain_ = event.is_plain_result;
  row_.number = event.number;
  row_.time_s = event.time.count();
  row_.body.clear();
  row_.decisions.clear();
  if (is_plain_) {
    const auto& message = std::get<engine::TrialMessage>(event.event);
    reported_done_ = std::get<engine::Reported>(message.report).result.done;
    row_.kind = engine::result_kind;
    row_.trial = message.trial;
    row_.incarnation = message.incarnation;
    row_.sequence = message.sequence;
  } else {
    engine::EventRecord record = engine::record_of(event.event);
    row_.kind = std::move(record.kind);
    row_.trial = record.trial;
    row_.incarnation = record.incarnation;
    row_.sequence = record.sequence;
    row_.body = engine::object_text(record.body);
  }
  if (!event.decisions.empty()) {
    row_.decisions = engine::object_text(engine::to_json(event.decisions));
  }
  journal_.add(row_);
}

void RecordKeeper::on(const SnapshotTaken& snapshot) {
  journal_.set_snapshot(snapshot.what, snapshot.event, engine::object_text(snapshot.state));
}

void RecordKeeper::on(const engine::RecordTrialAdded& record) {
  journal_.add_trial(record.trial, record.name, record.config, event_);
}

void RecordKeeper::on(const TrialInfo& start) {
  journal_.add_start({start, event_});
  journal_.set_state(start.id, start.incarnation, TrialState::running, {}, {});
}

void RecordKeeper::on(const TrialAdopted&) {}  // it is there

void RecordKeeper::on(const engine::RecordResult& record) {
  store::ResultRow row{record.trial, record.incarnation, record.result, record.result.done, {}};
  if (is_plain_) {
    row.reported_done = reported_done_;
    row.event = event_;
  }
  journal_.add_result(row);
}

void RecordKeeper::on(const engine::RecordCheckpoint& record) {
  store::CheckpointRow row;
  row.trial = record.trial;
  row.directory = record.directory_name;
  row.training_iteration = record.training_iteration;
  row.incarnation = record.incarnation;
  row.event = event_;
  row.files = static_cast<std::int64_t>(record.file_count);
  row.size_bytes = static_cast<std::int64_t>(record.size_bytes);
  journal_.add_checkpoint(row);
}

void RecordKeeper::on(const engine::RecordCheckpointDamaged& record) {
  journal_.doom_checkpoint(record.trial, record.directory_name);
}

void RecordKeeper::on(const engine::DeleteCheckpoint& record) {
  journal_.forget_checkpoint(trial_of_path(record.checkpoint.trial_name),
                             record.checkpoint.directory_name);
  needs_sync_ = true;
}

void RecordKeeper::on(const engine::RecordTrialState& record) {
  journal_.set_state(record.trial, record.incarnation, record.state, record.reason, record.error);
}

void RecordKeeper::on(const engine::RecordSaved& record) {
  const engine::SavedValue& saved = record.saved;
  store::SavedRow row;
  row.trial = record.trial;
  row.name = saved.name;
  row.index = saved.index;
  row.incarnation = record.incarnation;
  row.event = event_;
  row.value = *saved.value;
  row.directory = saved.directory_name;
  if (saved.files) {
    row.files = static_cast<std::int64_t>(saved.files->size());
    row.size_bytes = static_cast<std::int64_t>(core::total_size_bytes(*saved.files));
  }
  journal_.add_saved(row);
}

void RecordKeeper::on(const engine::RecordSavedDropped& record) {
  journal_.drop_saved(record.trial, record.name, record.index);
}

void RecordKeeper::on(const engine::RecordRestarted& record) {
  journal_.drop_results(record.trial);
}

void RecordKeeper::on(const engine::RecordExploit& record) {
  journal_.add_message(event_, record.exploit->trial, exploit_message,
                       engine::object_text(core::exploit_json(*record.exploit)));
}

void RecordKeeper::on(const engine::RecordExploitsDropped& record) {
  journal_.add_message(event_, record.trial, exploits_dropped_message,
                       Json{{"kept", record.kept}}.dump());
}

void RecordKeeper::on(const engine::RecordExplanation& record) {
  journal_.add_message(event_, record.trial, "explanation", record.reason);
}

void RecordKeeper::on(const engine::RecordWarning& record) {
  journal_.add_message(event_, record.trial, "warning", record.text);
}

void RecordKeeper::on(const NodeNote& note) {
  journal_.add_message(event_, std::nullopt, "note", note.text);
}

}  // namespace tune::runtime
