#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/result_grid.hpp>

#include "store/journal.hpp"

namespace tune::store {

/// An event as it was put in; `result` is set where the event has no body of its own.
struct RecordedEvent {
  EventRow row;
  std::optional<ResultRow> result;
};

/// A state that was put in with Journal::set_snapshot().
struct Snapshot {
  EventNumber event = 0;
  std::string state;
};

/// A trial as its line stands now.
struct TrialRow {
  TrialId id;
  std::string name;
  Config config;       ///< The first one.
  Config last_config;  ///< Of its newest start.
  TrialState state = TrialState::pending;
  std::uint32_t incarnation = 0;
  std::string reason;
  std::string error;
  std::optional<Result> last;  ///< The newest result of its current line.
};

/// A result of a trial's current line.
struct LineResult {
  std::uint32_t incarnation = 0;  ///< Of the start that brought it.
  Result result;
  std::string checkpoint;  ///< The directory of the checkpoint of that iteration; often empty.
};

/// A message that was put in with Journal::add_message().
struct MessageRow {
  EventNumber event = 0;
  std::optional<TrialId> trial = {};
  std::string kind;
  std::string text;
};

/// Reads the journal of an experiment, whether it is being written or not; never writes. Each call
/// sees what is committed when it begins, and nothing of what is committed while it goes on. Safe
/// from several threads: they take turns. What takes a row may call the reader, too, but should be
/// quick: in rollback mode a writer waits for it.
///
/// Errors are thrown as JournalError with the path and the reason.
class JournalReader final {
 public:
  /// @throws JournalError naming the file if there is none, if it is empty, damaged, no journal, or
  /// of a newer version.
  explicit JournalReader(const std::filesystem::path& experiment);
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  [[nodiscard]] ExperimentRow experiment() const;
  [[nodiscard]] std::vector<SessionRow> sessions() const;
  [[nodiscard]] EventNumber last_event() const;    ///< 0: none.
  [[nodiscard]] double last_event_time_s() const;  ///< 0 if there is none.
  /// In order; all of them, without holding more than one in memory.
  void for_each_event(const std::function<void(const RecordedEvent&)>& take) const;
  /// The events of one kind.
  [[nodiscard]] std::vector<EventRow> events_of_kind(std::string_view kind) const;
  [[nodiscard]] std::vector<TrialId> trial_ids() const;
  [[nodiscard]] TrialCounts trial_counts() const;
  /// In the order of their ids.
  void for_each_trial(const std::function<void(const TrialRow&)>& take) const;
  /// Empty if there is none of that id.
  [[nodiscard]] std::optional<TrialRow> trial(TrialId id) const;
  /// The results of a trial's current line, in order. Takes time in proportion to them alone, and
  /// 8 bytes of memory for each.
  void for_each_result(TrialId id, const std::function<void(const LineResult&)>& take) const;
  /// All results of a trial that were ever taken, in the order in which they came: those that are
  /// in its line no more, too. Takes time in proportion to the results of all trials while there
  /// are no indexes, see docs/journal.md.
  void for_each_taken_result(TrialId id, const std::function<void(const LineResult&)>& take) const;
  /// In the order of their incarnations.
  [[nodiscard]] std::vector<StartRow> starts(TrialId id) const;
  /// The kept ones and those that may go, in the order in which they were stored.
  [[nodiscard]] std::vector<CheckpointRow> checkpoints(TrialId id) const;
  /// By name, and of each the oldest first.
  [[nodiscard]] std::vector<SavedRow> saves(TrialId id) const;
  /// Those whose kind begins so, in the order in which they were put in.
  void for_each_message(const std::function<void(const MessageRow&)>& take,
                        std::string_view kind_prefix = {}) const;
  [[nodiscard]] std::optional<Snapshot> snapshot(std::string_view what) const;
  /// All calls in `read` see the same state of the journal.
  void in_one_state(const std::function<void()>& read) const;
  /// What a full check of the file by SQLite finds wrong with it, a line each; none: it is whole.
  [[nodiscard]] std::vector<std::string> check() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tune::store
