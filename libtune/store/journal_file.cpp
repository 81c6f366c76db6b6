#include "journal_file.hpp"

#include <sqlite3.h>

#include <array>
#include <system_error>

#include <SQLiteCpp/Statement.h>

#include "journal_schema.hpp"
#include "journal_statement.hpp"

namespace tune::store {
namespace {

constexpr std::int64_t fully_checked_bytes = std::int64_t{64} << 20U;
// SQLite takes a file with less than that for an empty database.
constexpr std::uintmax_t smallest_page = 512;
// What is at the end of a long table, in the pages that were written last.
constexpr const char* newest_events =
    "SELECT sum(n) FROM (SELECT length(kind) + ifnull(length(body), 0) + "
    "ifnull(length(decisions), 0) AS n FROM events ORDER BY number DESC LIMIT 10000)";
constexpr const char* newest_results =
    "SELECT sum(n) FROM (SELECT length(metrics) + ifnull(length(nonfinite), 0) AS n "
    "FROM all_results ORDER BY id DESC LIMIT 10000)";

std::int64_t pragma_value(SQLite::Database& database, const char* pragma) {
  return database.execAndGet(pragma).getInt64();
}

// Empty: nothing.
std::string what_is_wrong(SQLite::Database& database) {
  const auto first_fault = [&](const char* check) {
    const std::string text = database.execAndGet(check).getString();
    return text == "ok" ? std::string() : text;
  };
  try {
    const std::int64_t size =
        pragma_value(database, "PRAGMA page_count") * pragma_value(database, "PRAGMA page_size");
    if (size <= fully_checked_bytes) return first_fault("PRAGMA quick_check(1)");
    for (const char* check : {"PRAGMA quick_check(experiment)", "PRAGMA quick_check(sessions)",
                              "PRAGMA quick_check(trials)", "PRAGMA quick_check(starts)",
                              "PRAGMA quick_check(checkpoints)", "PRAGMA quick_check(messages)",
                              "PRAGMA quick_check(snapshots)"}) {
      if (std::string fault = first_fault(check); !fault.empty()) return fault;
    }
    (void)database.execAndGet(newest_events);
    (void)database.execAndGet(newest_results);
    return {};
  } catch (const SQLite::Exception& error) {
    return error.what();
  }
}

// How far the events can be read, one after the other.
std::string readable_part(SQLite::Database& database) {
  std::int64_t last = 0;
  try {
    SQLite::Statement events(database,
                             "SELECT number, length(body), length(decisions) FROM events "
                             "ORDER BY number");
    while (events.executeStep()) last = integer_at(events, 0);
  } catch (const SQLite::Exception&) {
    // As far as it goes.
  }
  if (last == 0) return "no event can be read";
  return "events up to " + std::to_string(last) + " can be read";
}

std::string recover_advice(const std::filesystem::path& path) {
  return "`sqlite3 " + path.filename().string() +
         " .recover` shows what can still be read; nothing was changed";
}

// SQLite reads zeros where the last page was cut.
void require_whole(SQLite::Database& database, const std::filesystem::path& path) {
  if (size_of_file(beside(path, "-wal")) > 0) return;  // pages may be there alone
  const std::int64_t wanted =
      pragma_value(database, "PRAGMA page_count") * pragma_value(database, "PRAGMA page_size");
  const std::int64_t size = size_of_file(path);
  if (size >= wanted) return;
  throw JournalError(path.string() + ": damaged or cut: " + std::to_string(size) + " bytes, want " +
                     std::to_string(wanted) + "; " + recover_advice(path));
}

}  // namespace

namespace fs = std::filesystem;

JournalError::~JournalError() = default;

fs::path journal_path(const fs::path& experiment) {
  return (fs::absolute(experiment) / journal_file).lexically_normal();
}

fs::path beside(const fs::path& path, std::string_view ending) {
  return path.string() + std::string(ending);
}

std::int64_t size_of_file(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

std::string reason_of(const SQLite::Exception& error, SQLite::Database* database) {
  std::string text = error.what();
  const int system = database == nullptr ? 0 : sqlite3_system_errno(database->getHandle());
  const int code = error.getErrorCode();
  if (system != 0 && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_FULL)) {
    text += ": " + std::generic_category().message(system);
  }
  return text;
}

void require_journal_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw JournalError(path.string() + ": there is no such file");
  }
  if (!fs::is_regular_file(status)) throw JournalError(path.string() + ": it is no file");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) throw JournalError(path.string() + ": " + error.message());
  if (size >= smallest_page) return;
  std::string text = path.string() + ": " + std::to_string(size) + " bytes: it was cut";
  if (const auto log = size_of_file(beside(path, "-wal")); log > 0) {
    text += "; the newest changes may still be in " + beside(path, "-wal").filename().string() +
            ", " + std::to_string(log) + " bytes";
  }
  throw JournalError(text +
                     "; what the trials wrote themselves (result.json, checkpoints) can still be "
                     "read; nothing was changed");
}

std::int64_t checked_version(SQLite::Database& database, const fs::path& path) {
  std::int64_t application = 0;
  try {
    application = pragma_value(database, "PRAGMA application_id");
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() == SQLITE_NOTADB) {
      throw JournalError(path.string() +
                         ": it is no SQLite database, or its first page is damaged; nothing was "
                         "changed");
    }
    if (error.getErrorCode() == SQLITE_CORRUPT) {
      throw JournalError(path.string() + ": damaged or cut: " + error.what() + "; " +
                         recover_advice(path));
    }
    throw;
  }
  if (application != journal_application_id) {
    throw JournalError(path.string() + ": an SQLite database, but no journal of an experiment");
  }
  require_whole(database, path);
  const std::int64_t version = pragma_value(database, "PRAGMA user_version");
  if (version < 0 || version > journal_schema_version) {
    throw JournalError(path.string() + ": schema version " + std::to_string(version) +
                       ", of a newer release than this one, which reads up to " +
                       std::to_string(journal_schema_version));
  }
  return version;
}

void require_sound(SQLite::Database& database, const fs::path& path) {
  const std::string fault = what_is_wrong(database);
  if (fault.empty()) return;
  throw JournalError(path.string() + ": damaged: " + fault + "; " + readable_part(database) + "; " +
                     recover_advice(path));
}

JournalError unreadable(const fs::path& path, const SQLite::Exception& error,
                        SQLite::Database* database) {
  const std::string reason = reason_of(error, database);
  if (database == nullptr || error.getErrorCode() != SQLITE_CORRUPT) {
    return JournalError(path.string() + ": cannot read: " + reason);
  }
  return JournalError(path.string() + ": damaged: " + reason + "; " + readable_part(*database) +
                      "; " + recover_advice(path));
}

bool has_wal_header(SQLite::Database& database) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  std::array<char, 2> versions{};  // of the format, for writing and for reading: 2 is with a log
  constexpr int place = 18;
  return file != nullptr && file->pMethods != nullptr &&
         file->pMethods->xRead(file, versions.data(), static_cast<int>(versions.size()), place) ==
             SQLITE_OK &&
         versions[0] == 2;
}

}  // namespace tune::store
