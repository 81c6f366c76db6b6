#include "store/journal_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/json_text.hpp"
#include "journal_connection.hpp"

namespace tune::store {
namespace {

// The columns of a result, in the order in which read_result() takes them.
#define TUNE_RESULT_COLUMNS                                                                    \
  "r.training_iteration, r.time_this_iter_s, r.time_total_s, r.timestamp, r.done, r.metrics, " \
  "r.nonfinite"
constexpr int result_columns = 7;

Result read_result(SQLite::Statement& row, int first) {
  Result result;
  result.training_iteration = integer_at(row, first);
  result.time_this_iter_s = number_at(row, first + 1);
  result.time_total_s = number_at(row, first + 2);
  result.timestamp = number_at(row, first + 3);
  result.done = integer_at(row, first + 4) != 0;
  result.metrics = core::metrics_of_text(text_at(row, first + 5), text_at(row, first + 6));
  return result;
}

Config read_config(SQLite::Statement& row, int column) {
  return Config(core::json_of_text(text_at(row, column), text_at(row, column + 1)));
}

std::optional<TrialId> read_optional_trial(SQLite::Statement& row, int column) {
  if (is_null_at(row, column)) return {};
  return trial_at(row, column);
}

constexpr const char* select_events =
    "SELECT e.number, e.time, e.kind, e.trial, e.incarnation, e.sequence, whole(e.body), "
    "whole(e.decisions), r.id, r.trial, r.incarnation, r.reported_done, " TUNE_RESULT_COLUMNS
    " FROM events e LEFT JOIN all_results r ON r.id = e.number ORDER BY e.number";
constexpr const char* select_events_of_kind =
    "SELECT number, time, kind, trial, incarnation, sequence, whole(body), "
    "whole(decisions) FROM events "
    "WHERE kind = ? ORDER BY number";

EventRow read_event(SQLite::Statement& row) {
  return {.number = integer_at(row, 0),
          .time_s = number_at(row, 1),
          .kind = text_at(row, 2),
          .trial = read_optional_trial(row, 3),
          .incarnation = incarnation_at(row, 4),
          .sequence = static_cast<std::uint64_t>(integer_at(row, 5)),
          .body = text_at(row, 6),
          .decisions = text_at(row, 7)};
}

RecordedEvent read_recorded_event(SQLite::Statement& row) {
  RecordedEvent event{.row = read_event(row), .result = {}};
  if (is_null_at(row, 8)) return event;
  event.result = ResultRow{.trial = trial_at(row, 9),
                           .incarnation = incarnation_at(row, 10),
                           .result = read_result(row, 12),
                           .reported_done = integer_at(row, 11) != 0,
                           .event = integer_at(row, 8)};
  return event;
}

#define TUNE_SELECT_TRIALS                                                                        \
  "SELECT t.id, t.name, t.state, t.incarnation, t.reason, t.error, whole(t.config), "             \
  "t.config_nonfinite, whole(t.last_config), t.last_config_nonfinite, r.id, " TUNE_RESULT_COLUMNS \
  " FROM trials t LEFT JOIN all_results r ON r.id = t.last_result"
constexpr const char* select_trials = TUNE_SELECT_TRIALS " ORDER BY t.id";
constexpr const char* select_trial = TUNE_SELECT_TRIALS " WHERE t.id = ?";
#undef TUNE_SELECT_TRIALS

TrialRow read_trial(SQLite::Statement& row) {
  TrialRow trial{.id = trial_at(row, 0),
                 .name = text_at(row, 1),
                 .config = read_config(row, 6),
                 .last_config = {},
                 .state = trial_state_from_string(text_at(row, 2)),
                 .incarnation = incarnation_at(row, 3),
                 .reason = text_at(row, 4),
                 .error = text_at(row, 5),
                 .last = {}};
  trial.last_config = is_null_at(row, 8) ? trial.config : read_config(row, 8);
  if (!is_null_at(row, 10)) trial.last = read_result(row, 11);
  return trial;
}

constexpr const char* select_last_result = "SELECT last_result FROM trials WHERE id = ?";
constexpr const char* select_previous = "SELECT previous FROM all_results WHERE id = ?";
constexpr const char* select_result =
    "SELECT " TUNE_RESULT_COLUMNS ", r.incarnation, r.checkpoint FROM all_results r WHERE r.id = ?";
constexpr const char* select_taken_results =
    "SELECT " TUNE_RESULT_COLUMNS
    ", r.incarnation, r.checkpoint FROM all_results r WHERE r.trial = ? "
    "ORDER BY r.incarnation, r.training_iteration";

LineResult read_line_result(SQLite::Statement& row) {
  return {.incarnation = incarnation_at(row, result_columns),
          .result = read_result(row, 0),
          .checkpoint = text_at(row, result_columns + 1)};
}
#undef TUNE_RESULT_COLUMNS

constexpr const char* select_sessions =
    "SELECT number, first_event, host, pid, started, ended, reason, error, interrupted, "
    "terminated_trials, failed_trials, unfinished_trials FROM sessions ORDER BY number";

SessionRow read_session(SQLite::Statement& row) {
  SessionRow session{.number = integer_at(row, 0),
                     .first_event = integer_at(row, 1),
                     .host = text_at(row, 2),
                     .pid = integer_at(row, 3),
                     .started = number_at(row, 4),
                     .ended = {},
                     .end = {}};
  if (is_null_at(row, 6)) return session;
  session.ended = number_at(row, 5);
  session.end = ExperimentEnd{.terminated_trials = integer_at(row, 9),
                              .failed_trials = integer_at(row, 10),
                              .unfinished_trials = integer_at(row, 11),
                              .reason = text_at(row, 6),
                              .error = text_at(row, 7),
                              .interrupted = integer_at(row, 8) != 0};
  return session;
}

constexpr const char* select_starts =
    "SELECT s.event, s.incarnation, s.start_iteration, s.node, s.node_ip, s.pid, t.name, "
    "whole(s.config), s.config_nonfinite, whole(t.config), t.config_nonfinite "
    "FROM starts s JOIN trials t ON t.id = s.trial WHERE s.trial = ? ORDER BY s.incarnation";

StartRow read_start(SQLite::Statement& row, TrialId id) {
  StartRow start;
  start.event = integer_at(row, 0);
  start.trial.id = id;
  start.trial.incarnation = incarnation_at(row, 1);
  start.trial.start_iteration = integer_at(row, 2);
  start.trial.node = text_at(row, 3);
  start.trial.node_ip = text_at(row, 4);
  start.trial.pid = integer_at(row, 5);
  start.trial.name = text_at(row, 6);
  start.trial.config = read_config(row, is_null_at(row, 7) ? 9 : 7);
  return start;
}

constexpr const char* select_checkpoints =
    "SELECT directory, training_iteration, time_total_s, incarnation, event, files, size_bytes, "
    "kept FROM checkpoints WHERE trial = ? ORDER BY rowid";

CheckpointRow read_checkpoint(SQLite::Statement& row, TrialId id) {
  return {.trial = id,
          .directory = text_at(row, 0),
          .training_iteration = integer_at(row, 1),
          .time_total_s = number_at(row, 2),
          .incarnation = incarnation_at(row, 3),
          .event = integer_at(row, 4),
          .files = integer_at(row, 5),
          .size_bytes = integer_at(row, 6),
          .is_kept = integer_at(row, 7) != 0};
}

constexpr const char* select_saves =
    "SELECT name, idx, incarnation, event, whole(value), nonfinite, directory, files, size_bytes "
    "FROM saves WHERE trial = ? ORDER BY name, idx";

SavedRow read_saved(SQLite::Statement& row, TrialId id) {
  return {.trial = id,
          .name = text_at(row, 0),
          .index = integer_at(row, 1),
          .incarnation = incarnation_at(row, 2),
          .event = integer_at(row, 3),
          .value = core::json_of_text(text_at(row, 4), text_at(row, 5)),
          .directory = text_at(row, 6),
          .files = integer_at(row, 7),
          .size_bytes = integer_at(row, 8)};
}

ExperimentRow read_experiment(SQLite::Statement& row) {
  ExperimentRow experiment;
  experiment.name = text_at(row, 0);
  experiment.experiment_id = text_at(row, 1);
  if (!is_null_at(row, 2)) {
    const Mode mode = text_at(row, 3) == to_string(Mode::max) ? Mode::max : Mode::min;
    experiment.objective = Objective{.metric = text_at(row, 2), .mode = mode};
  }
  experiment.seed = std::stoull(text_at(row, 4));
  experiment.definition = core::json_of_text(text_at(row, 5), text_at(row, 6));
  return experiment;
}

// All rows of a query, each as `read` makes it.
template <class Row, class Read>
std::vector<Row> read_all(Query& query, Read read) {
  std::vector<Row> rows;
  while (query.step()) rows.push_back(query.row(read));
  return rows;
}

}  // namespace

class JournalReader::Implementation : public ReadingConnection {
 public:
  using ReadingConnection::ReadingConnection;

  /// The ids of the results of the trial's current line, in order.
  std::vector<std::int64_t> line(TrialId id) {
    std::vector<std::int64_t> ids;
    Query last(*this, select_last_result, id);
    if (!last.step()) return ids;
    Query previous(*this, select_previous);
    const auto to_next = [](SQLite::Statement& row) -> std::optional<std::int64_t> {
      if (is_null_at(row, 0)) return {};
      return integer_at(row, 0);
    };
    for (auto next = last.row(to_next); next;) {
      ids.push_back(*next);
      next = previous.row([&](SQLite::Statement& statement) {
        run_to_row(statement, *next);
        return to_next(statement);
      });
    }
    std::reverse(ids.begin(), ids.end());
    return ids;
  }

  /// Makes a statement stand at the row of this id.
  static void run_to_row(SQLite::Statement& statement, std::int64_t id) {
    statement.reset();
    bind_values(statement, id);
    if (!statement.executeStep()) {
      throw std::runtime_error("damaged: there is no result " + std::to_string(id));
    }
  }
};

JournalReader::JournalReader(const std::filesystem::path& experiment)
    : implementation_(std::make_unique<Implementation>(journal_path(experiment))) {}

JournalReader::~JournalReader() = default;

ExperimentRow JournalReader::experiment() const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_,
              "SELECT name, experiment_id, metric, mode, seed, definition, definition_nonfinite "
              "FROM experiment");
  if (!query.step()) {
    throw JournalError(implementation_->path().string() + ": damaged: it names no experiment");
  }
  return query.row(read_experiment);
}

std::vector<SessionRow> JournalReader::sessions() const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_sessions);
  return read_all<SessionRow>(query, read_session);
}

EventNumber JournalReader::last_event() const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, "SELECT ifnull(max(number), 0) FROM events");
  (void)query.step();
  return query.row([](SQLite::Statement& row) { return integer_at(row, 0); });
}

double JournalReader::last_event_time_s() const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, "SELECT time FROM events ORDER BY number DESC LIMIT 1");
  if (!query.step()) return 0;
  return query.row([](SQLite::Statement& row) { return number_at(row, 0); });
}

void JournalReader::for_each_event(const std::function<void(const RecordedEvent&)>& take) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_events);
  while (query.step()) take(query.row(read_recorded_event));
}

std::vector<EventRow> JournalReader::events_of_kind(std::string_view kind) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_events_of_kind, kind);
  return read_all<EventRow>(query, read_event);
}

std::vector<TrialId> JournalReader::trial_ids() const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, "SELECT id FROM trials ORDER BY id");
  return read_all<TrialId>(query, [](SQLite::Statement& row) { return trial_at(row, 0); });
}

TrialCounts JournalReader::trial_counts() const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, "SELECT state, count(*) FROM trials GROUP BY state");
  TrialCounts counts;
  while (query.step()) {
    query.row([&](SQLite::Statement& row) {
      counts.of(trial_state_from_string(text_at(row, 0))) = integer_at(row, 1);
    });
  }
  return counts;
}

void JournalReader::for_each_trial(const std::function<void(const TrialRow&)>& take) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_trials);
  while (query.step()) take(query.row(read_trial));
}

std::optional<TrialRow> JournalReader::trial(TrialId id) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_trial, id);
  if (!query.step()) return {};
  return query.row(read_trial);
}

void JournalReader::for_each_result(TrialId id,
                                    const std::function<void(const LineResult&)>& take) const {
  const Snapshotted snapshot(*implementation_);
  const std::vector<std::int64_t> ids = implementation_->line(id);
  Query query(*implementation_, select_result);
  for (const std::int64_t result : ids) {
    take(query.row([&](SQLite::Statement& row) {
      Implementation::run_to_row(row, result);
      return read_line_result(row);
    }));
  }
}

// Incarnations come one after the other, and so do the iterations of each.
void JournalReader::for_each_taken_result(
    TrialId id, const std::function<void(const LineResult&)>& take) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_taken_results, id);
  while (query.step()) take(query.row(read_line_result));
}

std::vector<StartRow> JournalReader::starts(TrialId id) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_starts, id);
  return read_all<StartRow>(query, [id](SQLite::Statement& row) { return read_start(row, id); });
}

std::vector<CheckpointRow> JournalReader::checkpoints(TrialId id) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_checkpoints, id);
  return read_all<CheckpointRow>(query,
                                 [id](SQLite::Statement& row) { return read_checkpoint(row, id); });
}

std::vector<SavedRow> JournalReader::saves(TrialId id) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, select_saves, id);
  return read_all<SavedRow>(query, [id](SQLite::Statement& row) { return read_saved(row, id); });
}

void JournalReader::for_each_message(const std::function<void(const MessageRow&)>& take,
                                     std::string_view kind_prefix) const {
  const Snapshotted snapshot(*implementation_);
  const std::string pattern = std::string(kind_prefix) + '*';
  Query query(*implementation_,
              "SELECT event, trial, kind, text FROM messages WHERE kind GLOB ? ORDER BY id",
              std::string_view(pattern));
  while (query.step()) {
    take(query.row([](SQLite::Statement& row) {
      return MessageRow{.event = integer_at(row, 0),
                        .trial = read_optional_trial(row, 1),
                        .kind = text_at(row, 2),
                        .text = text_at(row, 3)};
    }));
  }
}

std::optional<Snapshot> JournalReader::snapshot(std::string_view what) const {
  const Snapshotted snapshot(*implementation_);
  Query query(*implementation_, "SELECT event, state FROM snapshots WHERE what = ?", what);
  if (!query.step()) return {};
  return query.row([](SQLite::Statement& row) {
    return Snapshot{.event = integer_at(row, 0), .state = text_at(row, 1)};
  });
}

void JournalReader::in_one_state(const std::function<void()>& read) const {
  const Snapshotted snapshot(*implementation_);
  read();
}

std::vector<std::string> JournalReader::check() const {
  const Snapshotted snapshot(*implementation_);
  std::vector<std::string> faults;
  try {
    Query query(*implementation_, "PRAGMA integrity_check");
    faults = read_all<std::string>(query, [](SQLite::Statement& row) { return text_at(row, 0); });
  } catch (const JournalError& error) {
    return {error.what()};
  }
  if (faults == std::vector<std::string>{"ok"}) return {};
  return faults;
}

}  // namespace tune::store
