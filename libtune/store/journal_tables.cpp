#include "journal_tables.hpp"

#include <algorithm>
#include <utility>

#include "journal_schema.hpp"
#include "journal_statement.hpp"

namespace tune::store {
namespace {

// A configuration's text is kept once: a start, and the trial's last configuration, is NULL where
// it is the first one. Both have the parameters 1: trial, 2 and 3: the configuration.
constexpr const char* insert_start = R"sql(
INSERT INTO starts (trial, config, config_nonfinite, incarnation, event, start_iteration, node,
                    node_ip, pid)
SELECT ?1, iif(is_first, NULL, ?2), iif(is_first, NULL, ?3), ?4, ?5, ?6, ?7, ?8, ?9
FROM (SELECT EXISTS (SELECT 1 FROM trials WHERE id = ?1 AND config = ?2
                     AND config_nonfinite IS ?3) AS is_first))sql";

constexpr const char* set_start_of_trial = R"sql(
UPDATE trials SET
  last_config = iif(config = ?2 AND config_nonfinite IS ?3, NULL, ?2),
  last_config_nonfinite = iif(config = ?2 AND config_nonfinite IS ?3, NULL, ?3),
  incarnation = ?4
WHERE id = ?1)sql";

bool is_final(TrialState state) {
  return state == TrialState::terminated || state == TrialState::error;
}

std::int64_t first_free_own_id(SQLite::Database& database) {
  SQLite::Statement lowest(database, "SELECT min(id) FROM all_results");
  lowest.executeStep();
  return std::min<std::int64_t>(integer_at(lowest, 0), 0) - 1;  // NULL reads as 0
}

}  // namespace

JournalTables::JournalTables(SQLite::Database& database)
    : database_(database),
      event_(database, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
      result_(database,
              "INSERT INTO all_results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)"),
      trial_(database,
             "INSERT INTO trials (id, name, config, config_nonfinite, event, state, reason, error, "
             "incarnation) VALUES (?, ?, ?, ?, ?, 'pending', '', '', 0)"),
      start_(database, insert_start),
      start_of_trial_(database, set_start_of_trial),
      state_(database,
             "UPDATE trials SET incarnation = ?2, state = ?3, reason = ?4, error = ?5 "
             "WHERE id = ?1"),
      checkpoint_(database,
                  "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      checkpoint_of_result_(database, "UPDATE all_results SET checkpoint = ?2 WHERE id = ?1"),
      doom_(database, "UPDATE checkpoints SET kept = 0 WHERE trial = ? AND directory = ?"),
      forget_(database, "DELETE FROM checkpoints WHERE trial = ? AND directory = ?"),
      saved_(database, "INSERT OR REPLACE INTO saves VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      drop_saved_(database, "DELETE FROM saves WHERE trial = ? AND name = ? AND idx = ?"),
      message_(database, "INSERT INTO messages (event, trial, kind, text) VALUES (?, ?, ?, ?)"),
      snapshot_(database, "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)"),
      large_values_(database),
      chains_(database),
      next_own_id_(first_free_own_id(database)) {}

void JournalTables::begin_session(const SessionRow& session) {
  drop_reading_indexes(database_);
  SQLite::Statement insert(database_,
                           "INSERT INTO sessions (number, first_event, host, pid, started) "
                           "VALUES (?, ?, ?, ?, ?)");
  run_statement(insert, session.number, session.first_event, session.host, session.pid,
                session.started);
  if (session.end) end_session(session.ended.value_or(session.started), *session.end);
}

void JournalTables::end_session(double ended, const ExperimentEnd& end) {
  SQLite::Statement update(database_,
                           "UPDATE sessions SET ended = ?, reason = ?, error = ?, interrupted = ?, "
                           "terminated_trials = ?, failed_trials = ?, unfinished_trials = ? "
                           "WHERE number = (SELECT max(number) FROM sessions)");
  run_statement(update, ended, end.reason, end.error, end.interrupted, end.terminated_trials,
                end.failed_trials, end.unfinished_trials);
}

void JournalTables::set_experiment(const ExperimentRow& row) {
  SQLite::Statement replace(database_,
                            "INSERT OR REPLACE INTO experiment VALUES (1, ?, ?, ?, ?, ?, ?, ?)");
  std::optional<std::string> metric;
  std::optional<std::string> mode;
  if (row.objective) {
    metric = row.objective->metric;
    mode = to_string(row.objective->mode);
  }
  const core::ExactText definition = core::exact_text(row.definition);
  run_statement(replace, row.name, row.experiment_id, metric, mode, std::to_string(row.seed),
                definition.json, OrNull{definition.non_finite});
}

core::ExactText JournalTables::shrunk_text(const Json& value) {
  core::ExactText text = core::exact_text(value);
  if (auto shrunk = large_values_.shrunk(text.json)) text.json = std::move(*shrunk);
  return text;
}

void JournalTables::add(const EventRow& event) {
  const auto body = large_values_.shrunk(event.body);
  const auto decisions = large_values_.shrunk(event.decisions);
  run_statement(event_, event.number, event.time_s, event.kind, event.trial, event.incarnation,
                event.sequence, OrNull{body ? *body : event.body},
                OrNull{decisions ? *decisions : event.decisions});
}

void JournalTables::add_trial(TrialId id, const std::string& name, const Config& config,
                              EventNumber event) {
  const core::ExactText text = shrunk_text(config.json());
  run_statement(trial_, id, name, text.json, OrNull{text.non_finite}, event);
}

void JournalTables::add_start(const StartRow& start) {
  const TrialInfo& trial = start.trial;
  const core::ExactText text = shrunk_text(trial.config.json());
  const OrNull non_finite{text.non_finite};
  run_statement(start_, trial.id, text.json, non_finite, trial.incarnation, start.event,
                trial.start_iteration, trial.node, trial.node_ip, trial.pid);
  run_statement(start_of_trial_, trial.id, text.json, non_finite, trial.incarnation);
}

void JournalTables::add_result(const ResultRow& row) {
  const Result& result = row.result;
  const std::int64_t id = row.event ? *row.event : next_own_id_--;
  const auto previous = chains_.append(row.trial, id, result.training_iteration);
  metrics_.clear();
  non_finite_.clear();
  core::append_json_metrics(metrics_, result.metrics, non_finite_);
  const std::string non_finite = non_finite_.text();
  run_statement(result_, id, row.trial, row.incarnation, result.training_iteration,
                result.time_this_iter_s, result.time_total_s, result.timestamp, row.reported_done,
                result.done, metrics_, OrNull{non_finite}, previous);
}

void JournalTables::add_checkpoint(const CheckpointRow& row) {
  run_statement(checkpoint_, row.trial, row.directory, row.training_iteration, row.time_total_s,
                row.incarnation, row.event, row.files, row.size_bytes, row.is_kept);
  // Stored while the trial went on, it may be that of an earlier result than the last.
  const auto result = chains_.find(row.trial, row.training_iteration);
  if (result) run_statement(checkpoint_of_result_, *result, row.directory);
}

void JournalTables::doom_checkpoint(TrialId id, std::string_view directory) {
  run_statement(doom_, id, directory);
}

void JournalTables::forget_checkpoint(TrialId id, std::string_view directory) {
  run_statement(forget_, id, directory);
}

void JournalTables::add_saved(const SavedRow& row) {
  const core::ExactText text = shrunk_text(row.value);
  run_statement(saved_, row.trial, row.name, row.index, row.incarnation, row.event, text.json,
                OrNull{text.non_finite}, OrNull{row.directory}, row.files, row.size_bytes);
}

void JournalTables::drop_saved(TrialId id, std::string_view name, std::int64_t index) {
  run_statement(drop_saved_, id, name, index);
}

void JournalTables::set_state(TrialId id, std::uint32_t incarnation, TrialState state,
                              std::string_view reason, std::string_view error) {
  run_statement(state_, id, incarnation, to_string(state), reason, error);
  if (is_final(state)) chains_.release(id);
}

void JournalTables::drop_results(TrialId id) { chains_.drop(id); }

void JournalTables::add_message(EventNumber event, std::optional<TrialId> trial,
                                std::string_view kind, std::string_view text) {
  run_statement(message_, event, trial, kind, text);
}

void JournalTables::set_snapshot(std::string_view what, EventNumber event, std::string_view state) {
  run_statement(snapshot_, what, event, state);
}

void JournalTables::complete() { chains_.write(); }

}  // namespace tune::store
