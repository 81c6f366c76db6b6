#include "journal_schema.hpp"

#include <array>
#include <string>

namespace tune::store {
namespace {

// Columns that hold seconds are NULL for NaN, which SQLite cannot store; infinities it can.
constexpr const char* version_1 = R"sql(
CREATE TABLE experiment (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT NOT NULL,
  experiment_id TEXT NOT NULL,
  metric TEXT,
  mode TEXT,
  seed TEXT NOT NULL,
  definition TEXT NOT NULL,
  definition_nonfinite TEXT);

CREATE TABLE sessions (
  number INTEGER PRIMARY KEY,
  first_event INTEGER NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started REAL NOT NULL,
  ended REAL,
  reason TEXT,
  error TEXT,
  interrupted INTEGER,
  terminated_trials INTEGER,
  failed_trials INTEGER,
  unfinished_trials INTEGER);

CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  trial INTEGER,
  incarnation INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  body TEXT,
  decisions TEXT);

CREATE TABLE all_results (
  id INTEGER PRIMARY KEY,
  trial INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  training_iteration INTEGER NOT NULL,
  time_this_iter_s REAL,
  time_total_s REAL,
  timestamp REAL,
  reported_done INTEGER NOT NULL,
  done INTEGER NOT NULL,
  metrics TEXT NOT NULL,
  nonfinite TEXT,
  checkpoint TEXT,
  previous INTEGER);

CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  config TEXT NOT NULL,
  config_nonfinite TEXT,
  last_config TEXT,
  last_config_nonfinite TEXT,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  error TEXT NOT NULL,
  incarnation INTEGER NOT NULL,
  last_result INTEGER,
  event INTEGER NOT NULL);

CREATE TABLE starts (
  trial INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  event INTEGER NOT NULL,
  start_iteration INTEGER NOT NULL,
  node TEXT NOT NULL,
  node_ip TEXT NOT NULL,
  pid INTEGER NOT NULL,
  config TEXT,
  config_nonfinite TEXT,
  PRIMARY KEY (trial, incarnation)) WITHOUT ROWID;

CREATE TABLE checkpoints (
  trial INTEGER NOT NULL,
  directory TEXT NOT NULL,
  training_iteration INTEGER NOT NULL,
  time_total_s REAL,
  incarnation INTEGER NOT NULL,
  event INTEGER NOT NULL,
  files INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  kept INTEGER NOT NULL,
  PRIMARY KEY (trial, directory));

CREATE TABLE saves (
  trial INTEGER NOT NULL,
  name TEXT NOT NULL,
  idx INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  event INTEGER NOT NULL,
  value TEXT NOT NULL,
  nonfinite TEXT,
  directory TEXT,
  files INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  PRIMARY KEY (trial, name, idx));

CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  event INTEGER NOT NULL,
  trial INTEGER,
  kind TEXT NOT NULL,
  text TEXT NOT NULL);

CREATE TABLE snapshots (
  what TEXT PRIMARY KEY,
  event INTEGER NOT NULL,
  state TEXT NOT NULL) WITHOUT ROWID;

CREATE VIEW results AS
WITH RECURSIVE line AS (
  SELECT r.* FROM trials JOIN all_results r ON r.id = trials.last_result
  UNION ALL
  SELECT r.* FROM line JOIN all_results r ON r.id = line.previous)
SELECT trial, training_iteration, time_this_iter_s, time_total_s, timestamp, done, metrics,
       nonfinite, checkpoint, incarnation, id
FROM line;
)sql";

// Nothing refers to it in what version 1 wrote, so that a reader can do without it there.
constexpr const char* version_2 = R"sql(
CREATE TABLE large_values (
  hash TEXT PRIMARY KEY,
  value TEXT NOT NULL);
)sql";

// The n-th brings version n up to n + 1.
constexpr std::array<const char*, journal_schema_version> migrations = {version_1, version_2};

}  // namespace

void migrate(SQLite::Database& database, std::int64_t from) {
  database.exec("BEGIN IMMEDIATE");
  for (auto step = static_cast<std::size_t>(from); step < migrations.size(); ++step) {
    database.exec(migrations.at(step));
  }
  database.exec("PRAGMA application_id = " + std::to_string(journal_application_id));
  database.exec("PRAGMA user_version = " + std::to_string(journal_schema_version));
  database.exec("COMMIT");
}

void make_reading_indexes(SQLite::Database& database) {
  database.exec(R"sql(
BEGIN IMMEDIATE;
CREATE INDEX IF NOT EXISTS results_by_trial ON all_results (trial, training_iteration);
CREATE INDEX IF NOT EXISTS events_by_trial ON events (trial) WHERE trial IS NOT NULL;
CREATE INDEX IF NOT EXISTS messages_by_trial ON messages (trial) WHERE trial IS NOT NULL;
COMMIT)sql");
}

void drop_reading_indexes(SQLite::Database& database) {
  database.exec(
      "DROP INDEX IF EXISTS results_by_trial;"
      "DROP INDEX IF EXISTS events_by_trial;"
      "DROP INDEX IF EXISTS messages_by_trial");
}

}  // namespace tune::store
