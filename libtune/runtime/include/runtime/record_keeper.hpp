#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/messages.hpp"
#include "store/journal.hpp"

namespace tune::runtime {

/// The entry of an event that the engine has handled, with the commands that came of it.
[[nodiscard]] JournalEvent journal_event(store::EventNumber number, Time time, engine::Event event,
                                         engine::Decisions decisions,
                                         const std::vector<engine::Command>& commands);

/// Kinds of messages in the journal: an exploit as core::exploit_json(), and `{"kept": 1}`, see
/// engine::RecordExploitsDropped. The first is how both begin, and no others.
inline constexpr std::string_view exploit_message = "exploit";
inline constexpr std::string_view exploits_dropped_message = "exploits_dropped";

/// Puts the records of an experiment into its journal, one after the other: each event, then what
/// came of it.
class RecordKeeper {
 public:
  explicit RecordKeeper(store::Journal& journal) : journal_(journal) {}

  /// @throws store::JournalError
  void put(const Record& record);
  /// True if since the last call a checkpoint was struck off, so that its files may go: before
  /// they do, the journal has to be safe from a crash of the machine, or that could bring it back.
  [[nodiscard]] bool take_needs_sync() { return std::exchange(needs_sync_, false); }

 private:
  void on(const JournalEvent& event);
  void on(const SnapshotTaken& snapshot);
  void on(const engine::RecordTrialAdded& record);
  void on(const TrialInfo& start);
  void on(const TrialAdopted& start);
  void on(const engine::RecordResult& record);
  void on(const engine::RecordCheckpoint& record);
  void on(const engine::RecordCheckpointDamaged& record);
  void on(const engine::DeleteCheckpoint& record);
  void on(const engine::RecordTrialState& record);
  void on(const engine::RecordSaved& record);
  void on(const engine::RecordSavedDropped& record);
  void on(const engine::RecordRestarted& record);
  void on(const engine::RecordExploit& record);
  void on(const engine::RecordExploitsDropped& record);
  void on(const engine::RecordExplanation& record);
  void on(const engine::RecordWarning& record);
  void on(const NodeNote& note);

  store::Journal& journal_;
  store::EventRow row_;           // reused
  store::EventNumber event_ = 0;  // the one that the records come of
  bool is_plain_ = false;         // it is a result that stands in its record,
  bool reported_done_ = false;    // and this it said
  bool needs_sync_ = false;
};

}  // namespace tune::runtime
