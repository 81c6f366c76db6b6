#include "journal_connection.hpp"

#include <sqlite3.h>

#include <utility>

#include "journal_schema.hpp"
#include "large_values.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

// A writer in rollback mode keeps readers out while it commits.
constexpr int reader_patience_ms = 30'000;

// A name of the file for SQLite that says: nobody writes this, look for no log and lock nothing.
std::string immutable_uri(const fs::path& path) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (c == '%' || c == '?' || c == '#') {
      const auto code = static_cast<unsigned char>(c);
      uri += {'%', digits[code >> 4U], digits[code & 0xFU]};
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

ReadingConnection::ReadingConnection(fs::path path) : path_(std::move(path)) {
  require_journal_file(path_);
  naming([&] { open(); });
}

void ReadingConnection::connect(int flags, const std::string& name) {
  database_.reset();
  database_ =
      std::make_unique<SQLite::Database>(name, flags | SQLITE_OPEN_NOMUTEX, reader_patience_ms);
  const std::int64_t version = checked_version(*database_, path_);
  if (version < oldest_read_version) {
    throw JournalError(path_.string() + ": schema version " + std::to_string(version) +
                       ", of an older release: it is brought up to date when the experiment is "
                       "resumed");
  }
  add_whole_function(*database_);
}

void ReadingConnection::open() {
  try {
    connect(SQLite::OPEN_READONLY, path_.string());
  } catch (const SQLite::Exception& error) {
    const int code = error.getErrorCode();
    if (error.getExtendedErrorCode() == SQLITE_READONLY_ROLLBACK) {
      // A writer in rollback mode died: what it had begun is taken back, which only one who may
      // write can do.
      connect(SQLite::OPEN_READWRITE, path_.string());
      database_->exec("PRAGMA query_only = ON");
    } else if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) {
      open_unwritable();
    } else {
      throw;
    }
  }
}

// The directory cannot be written, so that the memory which those who use a log share cannot be
// made there.
void ReadingConnection::open_unwritable() {
  const fs::path log = beside(path_, "-wal");
  if (size_of_file(log) > 0) {
    throw std::runtime_error("the newest changes are in " + log.filename().string() +
                             ", which cannot be read in a directory that cannot be written: copy "
                             "both files elsewhere");
  }
  connect(SQLite::OPEN_READONLY | SQLite::OPEN_URI, immutable_uri(path_));
}

Snapshotted::Snapshotted(ReadingConnection& connection)
    : connection_(connection), lock_(connection.mutex_) {
  if (connection_.depth_ == 0) {
    connection_.naming([&] { connection_.database_->exec("BEGIN"); });
  }
  ++connection_.depth_;
}

Snapshotted::~Snapshotted() {
  if (--connection_.depth_ == 0) (void)connection_.database_->tryExec("ROLLBACK");
}

Query::~Query() {
  if (!statement_) return;
  (void)statement_->tryReset();
  connection_.idle_[sql_].push_back(std::move(statement_));
}

void Query::lend() {
  auto& idle = connection_.idle_[sql_];
  if (idle.empty()) {
    statement_ = std::make_unique<SQLite::Statement>(connection_.database(), std::string(sql_));
  } else {
    statement_ = std::move(idle.back());
    idle.pop_back();
  }
}

}  // namespace tune::store
