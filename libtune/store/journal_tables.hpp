#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "core/json_text.hpp"
#include "large_values.hpp"
#include "result_chains.hpp"
#include "store/journal.hpp"

namespace tune::store {

/// Writes the rows of a journal: what Journal does, within a transaction that another began. All of
/// it throws SQLite::Exception.
class JournalTables {
 public:
  explicit JournalTables(SQLite::Database& database);

  void begin_session(const SessionRow& session);
  void end_session(double ended, const ExperimentEnd& end);
  void set_experiment(const ExperimentRow& row);
  void add(const EventRow& event);
  void add_trial(TrialId id, const std::string& name, const Config& config, EventNumber event);
  void add_start(const StartRow& start);
  void add_result(const ResultRow& row);
  void add_checkpoint(const CheckpointRow& row);
  void doom_checkpoint(TrialId id, std::string_view directory);
  void forget_checkpoint(TrialId id, std::string_view directory);
  void add_saved(const SavedRow& row);
  void drop_saved(TrialId id, std::string_view name, std::int64_t index);
  void set_state(TrialId id, std::uint32_t incarnation, TrialState state, std::string_view reason,
                 std::string_view error);
  void drop_results(TrialId id);
  void add_message(EventNumber event, std::optional<TrialId> trial, std::string_view kind,
                   std::string_view text);
  void set_snapshot(std::string_view what, EventNumber event, std::string_view state);
  /// What must be in the tables before they are committed.
  void complete();

 private:
  core::ExactText shrunk_text(const Json& value);

  SQLite::Database& database_;  // for statements that are rare
  SQLite::Statement event_;
  SQLite::Statement result_;
  SQLite::Statement trial_;
  SQLite::Statement start_;
  SQLite::Statement start_of_trial_;
  SQLite::Statement state_;
  SQLite::Statement checkpoint_;
  SQLite::Statement checkpoint_of_result_;
  SQLite::Statement doom_;
  SQLite::Statement forget_;
  SQLite::Statement saved_;
  SQLite::Statement drop_saved_;
  SQLite::Statement message_;
  SQLite::Statement snapshot_;
  LargeValues large_values_;
  ResultChains chains_;
  std::int64_t next_own_id_;  // of a result that no event has the number of; below 0
  std::string metrics_;       // kept, as is the next, for the memory they have
  core::NonFinite non_finite_;
};

}  // namespace tune::store
