#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "journal_file.hpp"
#include "journal_statement.hpp"

namespace tune::store {

/// A connection that reads a journal, and the statements that it has prepared.
class ReadingConnection {
 public:
  /// @throws JournalError as JournalReader does
  explicit ReadingConnection(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] SQLite::Database& database() { return *database_; }

  /// What `step` gives. @throws JournalError with the path for what it throws.
  template <class Step>
  auto naming(Step step) {
    try {
      return step();
    } catch (const SQLite::Exception& error) {
      throw unreadable(path_, error, database_.get());
    } catch (const JournalError&) {
      throw;
    } catch (const std::exception& error) {
      throw JournalError(path_.string() + ": " + error.what());
    }
  }

 private:
  friend class Snapshotted;
  friend class Query;

  void open();
  void connect(int flags, const std::string& name);
  void open_unwritable();

  std::filesystem::path path_;
  std::unique_ptr<SQLite::Database> database_;
  std::map<std::string_view, std::vector<std::unique_ptr<SQLite::Statement>>> idle_;
  std::recursive_mutex mutex_;  // what takes a row may ask for others
  std::size_t depth_ = 0;       // of calls within calls: all of them see what the first one sees
};

/// While there is one, the connection is this thread's and sees one state of the journal.
class Snapshotted {
 public:
  explicit Snapshotted(ReadingConnection& connection);
  ~Snapshotted();
  Snapshotted(const Snapshotted&) = delete;
  Snapshotted& operator=(const Snapshotted&) = delete;

 private:
  ReadingConnection& connection_;
  std::unique_lock<std::recursive_mutex> lock_;
};

/// A statement that is prepared once and lent out. @pre there is a Snapshotted
class Query {
 public:
  /// @pre `sql` is never freed
  template <class... Values>
  Query(ReadingConnection& connection, const char* sql, const Values&... values)
      : connection_(connection), sql_(sql) {
    connection.naming([&] {
      lend();
      bind_values(*statement_, values...);
    });
  }
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  /// False after the last row.
  [[nodiscard]] bool step() {
    return connection_.naming([&] { return statement_->executeStep(); });
  }
  /// What `read` makes of the row that it stands at.
  template <class Read>
  auto row(Read read) {
    return connection_.naming([&] { return read(*statement_); });
  }

 private:
  void lend();

  ReadingConnection& connection_;
  std::string_view sql_;
  std::unique_ptr<SQLite::Statement> statement_;
};

}  // namespace tune::store
