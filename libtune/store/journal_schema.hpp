#pragma once

#include <cstdint>

#include <SQLiteCpp/Database.h>

namespace tune::store {

/// In the header of every journal, by which `file` and SQLite's own tools tell it: "tune".
inline constexpr std::int64_t journal_application_id = 0x74756e65;
/// What `PRAGMA user_version` says of the tables that this code writes.
inline constexpr std::int64_t journal_schema_version = 2;
/// The oldest version that is read as it is, by one that only reads.
inline constexpr std::int64_t oldest_read_version = 1;

/// Brings the tables from version `from` up to journal_schema_version, all at once or not at all.
/// Version 0 is an empty database.
void migrate(SQLite::Database& database, std::int64_t from);

/// Indexes for questions about one trial. They halve the speed of writing, so they are only there
/// while nobody writes.
void make_reading_indexes(SQLite::Database& database);
void drop_reading_indexes(SQLite::Database& database);

}  // namespace tune::store
