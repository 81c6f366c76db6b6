#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace tune::bench {

/// A statement in the hands of SQLite's own interface.
class RawStatement {
 public:
  RawStatement(sqlite3* database, const char* sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(database, sql, -1, &made, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(database));
    }
    statement_.reset(made);
  }
  RawStatement& bind(int place, std::int64_t value) {
    sqlite3_bind_int64(get(), place, value);
    return *this;
  }
  RawStatement& bind(int place, double value) {
    sqlite3_bind_double(get(), place, value);
    return *this;
  }
  RawStatement& bind(int place, const std::string& value) {
    sqlite3_bind_text(get(), place, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    return *this;
  }
  /// False once there is no further row.
  bool step() {
    const int status = sqlite3_step(get());
    if (status == SQLITE_ROW) return true;
    if (status != SQLITE_DONE) throw std::runtime_error(sqlite3_errstr(status));
    sqlite3_reset(get());
    return false;
  }
  [[nodiscard]] sqlite3_stmt* get() { return statement_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// The file of a journal, written with nothing between the caller and SQLite: the limit.
class RawJournal {
 public:
  /// @pre a journal was made there and closed
  explicit RawJournal(const std::filesystem::path& file) : database_(open(file)) {
    for (const char* pragma :
         {"PRAGMA journal_mode = wal", "PRAGMA synchronous = NORMAL",
          "PRAGMA wal_autocheckpoint = 4000", "PRAGMA journal_size_limit = 67108864"}) {
      exec(pragma);
    }
  }
  void exec(const char* sql) {
    if (sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(get()));
    }
  }
  [[nodiscard]] sqlite3* get() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  using Database = std::unique_ptr<sqlite3, Close>;

  static Database open(const std::filesystem::path& file) {
    sqlite3* made = nullptr;
    const int status =
        sqlite3_open_v2(file.c_str(), &made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(made);
    if (status != SQLITE_OK) throw std::runtime_error(sqlite3_errstr(status));
    return database;
  }

  Database database_;
};

}  // namespace tune::bench
