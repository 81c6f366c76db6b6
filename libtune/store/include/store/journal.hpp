#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tune/callback.hpp>
#include <tune/error.hpp>
#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

namespace tune::store {

/// The name of the journal within an experiment's directory.
inline constexpr const char* journal_file = "experiment.db";

/// The number of an event, from 1 in the order in which the engine saw them.
using EventNumber = std::int64_t;

/// An event as the engine saw it.
struct EventRow {
  EventNumber number = 0;
  double time_s = 0;  ///< Engine time.
  std::string kind;   ///< "result", "suggestion", "node_joined", ...
  std::optional<TrialId> trial = {};
  std::uint32_t incarnation = 0;  ///< With a trial: which start of it spoke; 0: nobody.
  std::uint64_t sequence = 0;     ///< The number of its message within that start.
  /// JSON text, all else that the event holds. Empty: the result of this number has it all.
  std::string body = {};
  /// JSON text, what was decided by code outside the engine while it handled the event; often
  /// empty.
  std::string decisions = {};
};

/// A result of the current line, as the engine took it.
struct ResultRow {
  TrialId trial;
  std::uint32_t incarnation = 0;
  Result result;               ///< `done` as it was decided.
  bool reported_done = false;  ///< `done` as the training code said it.
  /// The event that brought it, if that event has no body of its own; each event may be that of one
  /// result.
  std::optional<EventNumber> event = {};
};

struct CheckpointRow {
  TrialId trial;
  std::string directory;  ///< Within the trial's directory.
  std::int64_t training_iteration = 0;
  double time_total_s = 0;
  std::uint32_t incarnation = 0;
  EventNumber event = 0;
  std::int64_t files = 0;
  std::int64_t size_bytes = 0;
  /// False once it may go: its files may be there or not.
  bool is_kept = true;
};

/// A value that training code saved under a name.
struct SavedRow {
  TrialId trial;
  std::string name;
  std::int64_t index = 0;  ///< How many iterations were reported before it.
  std::uint32_t incarnation = 0;
  EventNumber event = 0;
  Json value;
  std::string directory;  ///< Within the trial's directory; empty: there are no files.
  std::int64_t files = 0;
  std::int64_t size_bytes = 0;
};

struct StartRow {
  TrialInfo trial;  ///< `path` is not kept: it follows from the experiment's directory.
  EventNumber event = 0;
};

/// One time that the experiment was run.
struct SessionRow {
  std::int64_t number = 0;  ///< From 1.
  EventNumber first_event = 0;
  std::string host;
  std::int64_t pid = 0;
  double started = 0;                ///< Seconds since 1970.
  std::optional<double> ended = {};  ///< Empty while it runs, or if it was killed.
  std::optional<ExperimentEnd> end = {};
};

/// How a journal's file is written.
enum class JournalMode {
  /// A write-ahead log beside it: readers never wait. Needs memory shared by all who use the file,
  /// which network file systems do not have.
  wal,
  /// A rollback journal: safe wherever file locks work; readers and the writer take turns.
  rollback,
};
[[nodiscard]] std::string_view to_string(JournalMode mode);

struct ChosenMode {
  JournalMode mode = JournalMode::wal;
  std::string reason = {};  ///< Why it is not the usual one, for the log.
};
/// The mode that is safe in `directory`: `rollback` on a network file system.
/// $TUNE_JOURNAL_MODE ("wal" or "rollback") overrides it.
/// @throws std::invalid_argument for another value of the variable.
[[nodiscard]] ChosenMode choose_journal_mode(const std::filesystem::path& directory);

/// What a journal says of its experiment besides its events.
struct ExperimentRow {
  std::string name;
  std::string experiment_id;
  std::optional<Objective> objective;
  std::uint64_t seed = 0;
  Json definition;
};

/// A journal cannot be read or written. The text has the path and the reason.
class JournalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~JournalError() override;
};

/// The journal of an experiment: `experiment.db` in its directory, an SQLite database. The one
/// writer. See docs/journal.md for the schema.
///
/// What is put in becomes visible to readers, and safe from the death of this process, with
/// commit(), all at once; sync() makes it safe from the death of the machine as well. Errors are
/// thrown as JournalError, with the path and SQLite's reason; after one nothing more is written,
/// what was not committed is lost, and each further call throws it again. Not for several threads
/// at once.
///
/// While there is one, or a JournalReader, nothing else in this process may open the file, not even
/// to copy it: closing it again would drop the locks that SQLite has on it.
class Journal {
 public:
  /// Makes a new one. @throws JournalError, also if there is one.
  [[nodiscard]] static std::unique_ptr<Journal> create(const std::filesystem::path& experiment,
                                                       const ExperimentRow& row, JournalMode mode);
  /// Opens one to go on; brings an older schema up to date. Goes back to the last complete
  /// transaction, if a write was cut.
  /// @throws JournalError naming the file if there is none, if it is empty, damaged, no journal, or
  /// of a newer version.
  [[nodiscard]] static std::unique_ptr<Journal> open(const std::filesystem::path& experiment,
                                                     JournalMode mode);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void begin_session(const SessionRow& session);
  /// How the last session ended.
  void end_session(double ended, const ExperimentEnd& end);
  /// Replaces what is known of the experiment (its definition may have grown).
  void set_experiment(const ExperimentRow& row);

  /// @pre numbers grow
  void add(const EventRow& event);
  void add_trial(TrialId id, const std::string& name, const Config& config, EventNumber event);
  void add_start(const StartRow& start);
  /// A result at or before the last iteration of its trial takes the place of all from there on.
  void add_result(const ResultRow& row);
  /// One of the same trial and directory takes the place of the older one.
  void add_checkpoint(const CheckpointRow& row);
  void doom_checkpoint(TrialId id, std::string_view directory);
  /// It is gone from the disk.
  void forget_checkpoint(TrialId id, std::string_view directory);
  /// One of the same trial, name and index takes the place of the older one.
  void add_saved(const SavedRow& row);
  void drop_saved(TrialId id, std::string_view name, std::int64_t index);
  /// `incarnation` is that of the trial's newest start.
  void set_state(TrialId id, std::uint32_t incarnation, TrialState state, std::string_view reason,
                 std::string_view error);
  /// The trial has no results any more: it starts anew.
  void drop_results(TrialId id);
  /// `kind`: "explanation", "warning", "note".
  void add_message(EventNumber event, std::optional<TrialId> trial, std::string_view kind,
                   std::string_view text);
  /// The state of `what` ("scheduler", "searcher") after `event`; takes the place of an older one.
  void set_snapshot(std::string_view what, EventNumber event, std::string_view state);

  /// Makes all that was put in since the last commit the journal's, or none of it.
  void commit();
  /// Forces what is committed to the disk.
  void sync();
  /// Makes reading by trial quick, for a journal that nobody is going to write for a while, and
  /// folds the write-ahead log into the file, unless somebody reads it. Commits what is not. About
  /// 1 s for a million results.
  void finish();
  [[nodiscard]] JournalMode mode() const;

 private:
  class Implementation;
  explicit Journal(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tune::store
