#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include "store/journal.hpp"

namespace tune::store {

/// The journal's path in an experiment's directory, absolute.
[[nodiscard]] std::filesystem::path journal_path(const std::filesystem::path& experiment);
/// `path` with an ending of SQLite's, "-wal" say.
[[nodiscard]] std::filesystem::path beside(const std::filesystem::path& path,
                                           std::string_view ending);
/// Empty if there is no such file. Without opening it: to close a second descriptor of a database
/// would drop the locks that SQLite has on it in this process.
[[nodiscard]] std::int64_t size_of_file(const std::filesystem::path& path);

/// SQLite's reason, with that of the system behind it if it has one.
[[nodiscard]] std::string reason_of(const SQLite::Exception& error, SQLite::Database* database);

/// @throws JournalError if there is no such file or it is empty.
void require_journal_file(const std::filesystem::path& path);
/// The schema's version. @throws JournalError if it is no journal, or of a newer version;
/// SQLite::Exception if it cannot be read.
[[nodiscard]] std::int64_t checked_version(SQLite::Database& database,
                                           const std::filesystem::path& path);
/// Whether its tables hold together: all of a file up to 64 MB, of a larger one all but the older
/// part of its two long tables, events and results. About 0.1 s for 64 MB.
/// @throws JournalError that says what is wrong and what can still be read.
void require_sound(SQLite::Database& database, const std::filesystem::path& path);
/// The error of one who cannot read on; of a damaged file it says what can still be read.
[[nodiscard]] JournalError unreadable(const std::filesystem::path& path,
                                      const SQLite::Exception& error, SQLite::Database* database);
/// Whether the file's header says that it is written with a write-ahead log.
[[nodiscard]] bool has_wal_header(SQLite::Database& database);

}  // namespace tune::store
