#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/checkpoint.hpp>
#include <tune/objective.hpp>
#include <tune/result.hpp>
#include <tune/track.hpp>

#include "engine/events.hpp"
#include "engine/saved_values.hpp"
#include "past_run.hpp"
#include "report/callback_hub.hpp"
#include "runtime/experiment_directory.hpp"
#include "runtime/messages.hpp"
#include "standalone_journal.hpp"
#include "store/checkpoint_store.hpp"
#include "store/directory_lock.hpp"

namespace tune::runtime {

/// The journal and the files of a run outside an experiment: those of an experiment of one trial,
/// written by the same keeper, recorder and exporters, in place. Not for several threads.
class StandaloneRecords {
 public:
  /// Checks `options` and makes the directory, the journal and the first files; none is left if it
  /// throws. Or goes on with what is there; that stays as it is if it throws.
  /// @throws std::invalid_argument naming the field, its value and what is allowed, or the path;
  /// std::runtime_error naming the file that cannot be read or written.
  explicit StandaloneRecords(const track::Options& options);

  /// Writes what the trial told. When it returns all of it is in the journal, and the kernel has
  /// the rest. @throws std::runtime_error naming the path; from then on at each call.
  void write(const std::vector<engine::TrialMessage>& messages);
  /// @throws std::runtime_error if something could not be written before; nothing is written then.
  void require_storage() const;
  /// Writes the last that the trial told and how it ended, closes the files and gives the directory
  /// free. @throws std::runtime_error if not all could be written.
  void end(const std::vector<engine::TrialMessage>& last, const std::string& reason);

  [[nodiscard]] const ExperimentInfo& experiment() const { return experiment_; }
  [[nodiscard]] const TrialInfo& trial() const { return trial_; }
  /// Where the trial begins, besides its iteration.
  struct Start {
    double time_total_s = 0;
    std::optional<engine::CheckpointLocation> checkpoint;  ///< As it was stored.
    std::int64_t stored_until = -1;                        ///< See engine::Launch.
    std::vector<engine::SavedValue> saves;                 ///< See engine::Launch.
  };
  [[nodiscard]] const Start& start() const { return start_; }

 private:
  [[nodiscard]] Contents usable_contents(const track::Options& options, DirectoryClaim& claim);
  void begin_new();
  void go_on(const track::Options& options);
  void take_up(const PastRun& past, const track::Options& options);
  void add_start(bool is_first);
  void add_note(std::string text);
  void add(const engine::TrialMessage& message);
  void add_what_came_of(const engine::Reported& report);
  void add_what_came_of(const engine::CheckpointStored& report);
  void add_what_came_of(const engine::CheckpointFailed& report);
  void add_what_came_of(const engine::Warned& report);
  void add_what_came_of(const engine::Saved& report);
  void add_what_came_of(const engine::Started&) {}   // see add_start()
  void add_what_came_of(const engine::Ended&) {}     // see end()
  void add_what_came_of(const engine::WentBack&) {}  // the next result says it
  void add(Record record);
  void drop_checkpoints(const std::vector<bool>& kept);
  void drop_saves(const std::vector<engine::SavedValue>& dropped);
  void delete_later(const std::string& directory_name);
  [[nodiscard]] std::string storage_fault() const;
  void write_records();
  void delete_dropped();

  ExperimentInfo experiment_;
  TrialInfo trial_;
  Start start_;
  CheckpointOptions checkpoint_options_;
  std::optional<Objective> checkpoint_objective_;
  std::unique_ptr<report::CallbackHub> hub_;  // null once it has ended
  store::CheckpointStore store_;
  std::optional<store::DirectoryLock> lock_;    // outlives the journal
  std::unique_ptr<StandaloneJournal> journal_;  // null once it has ended
  std::string journal_fault_;                   // the first one
  std::vector<Record> records_;                 // in the journal, and not yet in the files
  std::uint64_t next_sequence_ = 0;             // of the trial's messages
  Result last_;
  struct KeptCheckpoint {
    std::string name;
    std::int64_t training_iteration = 0;
    double score = 0;
  };
  std::vector<KeptCheckpoint> checkpoints_;  // oldest first
  engine::SavedValues saves_;
  std::vector<std::string> dropped_;  // directories, recorded as deleted, and still there
};

}  // namespace tune::runtime
