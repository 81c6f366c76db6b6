#include "store/journal.hpp"

#include <sqlite3.h>

#include <string>
#include <system_error>
#include <utility>

#include <SQLiteCpp/Database.h>

#include <tune/error.hpp>

#include "durable.hpp"
#include "journal_file.hpp"
#include "journal_schema.hpp"
#include "journal_tables.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

// Readers make the writer wait in rollback mode alone; one that reads for longer breaks it off.
constexpr int writer_patience_ms = 60'000;

void set_checkpoint_on_close(SQLite::Database& database, bool is_on) {
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_on ? 0 : 1, nullptr);
}

void set_journal_mode(SQLite::Database& database, const char* mode) {
  const std::string pragma = std::string("PRAGMA journal_mode = ") + mode;
  const std::string now = database.execAndGet(pragma).getString();
  if (now != mode) {
    throw std::runtime_error(std::string("the journal mode ") + mode +
                             " cannot be had here, only " + now +
                             " (TUNE_JOURNAL_MODE=rollback works wherever file locks do)");
  }
}

void configure(SQLite::Database& database, JournalMode mode) {
  if (mode == JournalMode::wal) {
    set_journal_mode(database, "wal");
    // A commit is in the log, and so survives this process; sync() forces the log to the disk.
    database.exec("PRAGMA synchronous = NORMAL");
    // Pages that are written again and again, as those of the trials, are folded in once for many.
    database.exec("PRAGMA wal_autocheckpoint = 4000");
    database.exec("PRAGMA journal_size_limit = 67108864");
  } else {
    set_journal_mode(database, "truncate");
    database.exec("PRAGMA synchronous = FULL");
    database.exec("PRAGMA locking_mode = NORMAL");
  }
}

void sync_log(SQLite::Database& database) {
  // The log is all that a commit wrote, each part with its checksum: once it is on the disk, so
  // are the commits. To do it here costs one fsync for many commits, where synchronous = FULL costs
  // one each. Through SQLite's own descriptor: see size_of_file().
  sqlite3_file* log = nullptr;
  sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_JOURNAL_POINTER,
                       static_cast<void*>(&log));
  if (log == nullptr || log->pMethods == nullptr) return;
  const int status = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
  if (status != SQLITE_OK) {
    throw SQLite::Exception(std::string("cannot sync the log: ") + sqlite3_errstr(status), status);
  }
}

void refuse_leftovers(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) throw JournalError(path.string() + ": it is there already");
  // SQLite would take what a lost database left behind for the new one's.
  for (const char* ending : {"-wal", "-journal", "-shm"}) {
    const fs::path leftover = beside(path, ending);
    if (size_of_file(leftover) > 0 && ending != std::string_view("-shm")) {
      throw JournalError(path.string() + ": it is missing, but " + leftover.filename().string() +
                         " is there: without it the newest changes cannot be read; nothing was "
                         "changed");
    }
    fs::remove(leftover, error);
  }
}

// A whole database under another name: what was cut while it was made is never taken for one.
void make_database(const fs::path& path, const ExperimentRow& row) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA journal_mode = MEMORY");
  database.exec("PRAGMA synchronous = FULL");
  migrate(database, 0);
  JournalTables(database).set_experiment(row);
}

template <class Step>
void naming(const fs::path& path, const char* what, SQLite::Database* database, Step step) {
  try {
    step();
  } catch (const SQLite::Exception& error) {
    throw JournalError(path.string() + ": " + what + ": " + reason_of(error, database));
  } catch (const JournalError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw JournalError(path.string() + ": " + what + ": " + error.what());
  }
}

}  // namespace

class Journal::Implementation {
 public:
  Implementation(fs::path path, JournalMode mode) : path_(std::move(path)), mode_(mode) {
    require_journal_file(path_);
    naming(path_, "cannot open", nullptr, [&] {
      // One thread at a time, so SQLite need not lock at each call.
      database_ = std::make_unique<SQLite::Database>(
          path_.string(), SQLite::OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, writer_patience_ms);
    });
    naming(path_, "cannot open", database_.get(), [&] { prepare(); });
  }

  // Puts something in, within the transaction that the next commit() ends.
  template <class Put>
  void put(Put put) {
    guard([&] {
      begin();
      put(*tables_);
    });
  }

  void commit() {
    guard([&] {
      if (!is_open_) return;
      tables_->complete();
      commit_->exec();
      commit_->reset();
      is_open_ = false;
      is_synced_ = false;
    });
  }

  void sync() {
    guard([&] {
      // In rollback mode each commit has done it.
      if (mode_ == JournalMode::wal && !is_synced_) sync_log(*database_);
      is_synced_ = true;
    });
  }

  void finish() {
    commit();
    guard([&] {
      if (is_finished_) return;
      make_reading_indexes(*database_);
      if (mode_ == JournalMode::wal) fold_log();
      is_finished_ = true;
    });
  }

  [[nodiscard]] JournalMode mode() const { return mode_; }

 private:
  void prepare() {
    // Nothing is changed before it is known to be whole, not even by folding in the log.
    set_checkpoint_on_close(*database_, false);
    // Without memory that is shared, which may not work there, a log can be read by one alone.
    if (mode_ == JournalMode::rollback && has_wal_header(*database_)) {
      database_->exec("PRAGMA locking_mode = EXCLUSIVE");
    }
    const std::int64_t version = checked_version(*database_, path_);
    require_sound(*database_, path_);
    set_checkpoint_on_close(*database_, true);
    configure(*database_, mode_);
    if (version < journal_schema_version) migrate(*database_, version);
    begin_.emplace(*database_, "BEGIN IMMEDIATE");
    commit_.emplace(*database_, "COMMIT");
    tables_.emplace(*database_);
  }

  void begin() {
    if (is_open_) return;
    if (is_finished_) configure(*database_, mode_);
    is_finished_ = false;
    begin_->exec();
    begin_->reset();
    is_open_ = true;
  }

  // A file without a log is read anywhere, from a medium that cannot be written too. While somebody
  // reads, the log must stay.
  void fold_log() {
    database_->setBusyTimeout(0);
    try {
      database_->exec("PRAGMA wal_checkpoint(TRUNCATE)");
      set_journal_mode(*database_, "delete");
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_BUSY) throw;
    }
    database_->setBusyTimeout(writer_patience_ms);
  }

  template <class Step>
  void guard(Step step) {
    if (!failure_.empty()) throw JournalError(failure_);
    try {
      naming(path_, "cannot write", database_.get(), step);
    } catch (const std::exception& error) {
      failure_ = error.what();
      give_up();
      throw;
    }
  }

  // What was not committed goes, and closing writes nothing more.
  void give_up() {
    set_checkpoint_on_close(*database_, false);
    (void)database_->tryExec("ROLLBACK");  // which SQLite may have done by itself
  }

  fs::path path_;
  JournalMode mode_;
  std::unique_ptr<SQLite::Database> database_;
  std::optional<SQLite::Statement> begin_;
  std::optional<SQLite::Statement> commit_;
  std::optional<JournalTables> tables_;
  bool is_open_ = false;    // the transaction
  bool is_synced_ = false;  // what an earlier process committed may not be
  bool is_finished_ = false;
  std::string failure_;
};

std::unique_ptr<Journal> Journal::create(const fs::path& experiment, const ExperimentRow& row,
                                         JournalMode mode) {
  const fs::path path = journal_path(experiment);
  refuse_leftovers(path);
  const fs::path unfinished = beside(path, "-new");
  naming(path, "cannot make", nullptr, [&] {
    std::error_code error;
    fs::remove(unfinished, error);
    make_database(unfinished, row);
    fs::rename(unfinished, path, error);
    if (error) throw std::runtime_error(error.message());
    if (const auto synced = sync_directory(path.parent_path()); !synced) {
      throw std::runtime_error(synced.error().message);
    }
  });
  return open(experiment, mode);
}

std::unique_ptr<Journal> Journal::open(const fs::path& experiment, JournalMode mode) {
  return std::unique_ptr<Journal>(
      new Journal(std::make_unique<Implementation>(journal_path(experiment), mode)));
}

Journal::Journal(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Journal::~Journal() = default;

void Journal::begin_session(const SessionRow& session) {
  implementation_->put([&](JournalTables& tables) { tables.begin_session(session); });
}

void Journal::end_session(double ended, const ExperimentEnd& end) {
  implementation_->put([&](JournalTables& tables) { tables.end_session(ended, end); });
}

void Journal::set_experiment(const ExperimentRow& row) {
  implementation_->put([&](JournalTables& tables) { tables.set_experiment(row); });
}

void Journal::add(const EventRow& event) {
  implementation_->put([&](JournalTables& tables) { tables.add(event); });
}

void Journal::add_trial(TrialId id, const std::string& name, const Config& config,
                        EventNumber event) {
  implementation_->put([&](JournalTables& tables) { tables.add_trial(id, name, config, event); });
}

void Journal::add_start(const StartRow& start) {
  implementation_->put([&](JournalTables& tables) { tables.add_start(start); });
}

void Journal::add_result(const ResultRow& row) {
  implementation_->put([&](JournalTables& tables) { tables.add_result(row); });
}

void Journal::add_checkpoint(const CheckpointRow& row) {
  implementation_->put([&](JournalTables& tables) { tables.add_checkpoint(row); });
}

void Journal::doom_checkpoint(TrialId id, std::string_view directory) {
  implementation_->put([&](JournalTables& tables) { tables.doom_checkpoint(id, directory); });
}

void Journal::forget_checkpoint(TrialId id, std::string_view directory) {
  implementation_->put([&](JournalTables& tables) { tables.forget_checkpoint(id, directory); });
}

void Journal::add_saved(const SavedRow& row) {
  implementation_->put([&](JournalTables& tables) { tables.add_saved(row); });
}

void Journal::drop_saved(TrialId id, std::string_view name, std::int64_t index) {
  implementation_->put([&](JournalTables& tables) { tables.drop_saved(id, name, index); });
}

void Journal::set_state(TrialId id, std::uint32_t incarnation, TrialState state,
                        std::string_view reason, std::string_view error) {
  implementation_->put(
      [&](JournalTables& tables) { tables.set_state(id, incarnation, state, reason, error); });
}

void Journal::drop_results(TrialId id) {
  implementation_->put([&](JournalTables& tables) { tables.drop_results(id); });
}

void Journal::add_message(EventNumber event, std::optional<TrialId> trial, std::string_view kind,
                          std::string_view text) {
  implementation_->put(
      [&](JournalTables& tables) { tables.add_message(event, trial, kind, text); });
}

void Journal::set_snapshot(std::string_view what, EventNumber event, std::string_view state) {
  implementation_->put([&](JournalTables& tables) { tables.set_snapshot(what, event, state); });
}

void Journal::commit() { implementation_->commit(); }

void Journal::sync() { implementation_->sync(); }

void Journal::finish() { implementation_->finish(); }

JournalMode Journal::mode() const { return implementation_->mode(); }

}  // namespace tune::store
