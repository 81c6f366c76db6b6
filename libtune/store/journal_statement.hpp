#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <tune/ids.hpp>

namespace tune::store {

/// Binds as NULL if it is empty.
struct OrNull {
  const std::string& text;
};

// Text in a std::string is not copied: it outlives run_statement(), which is all that needs it.
// NaN becomes NULL, by SQLite.
inline void bind_value(SQLite::Statement& statement, int place, std::int64_t value) {
  statement.bind(place, value);
}
inline void bind_value(SQLite::Statement& statement, int place, bool value) {
  statement.bind(place, static_cast<std::int32_t>(value));
}
inline void bind_value(SQLite::Statement& statement, int place, std::uint32_t value) {
  statement.bind(place, value);
}
inline void bind_value(SQLite::Statement& statement, int place, std::uint64_t value) {
  statement.bind(place, static_cast<std::int64_t>(value));
}
inline void bind_value(SQLite::Statement& statement, int place, double value) {
  statement.bind(place, value);
}
inline void bind_value(SQLite::Statement& statement, int place, const std::string& value) {
  statement.bindNoCopy(place, value);
}
inline void bind_value(SQLite::Statement& statement, int place, const char* value) {
  statement.bind(place, value);
}
inline void bind_value(SQLite::Statement& statement, int place, std::string_view value) {
  statement.bind(place, std::string(value));
}
inline void bind_value(SQLite::Statement& statement, int place, TrialId value) {
  bind_value(statement, place, value.value());
}
inline void bind_value(SQLite::Statement& statement, int place, OrNull value) {
  if (value.text.empty()) {
    statement.bind(place);
  } else {
    statement.bindNoCopy(place, value.text);
  }
}
template <class T>
void bind_value(SQLite::Statement& statement, int place, const std::optional<T>& value) {
  if (value) {
    bind_value(statement, place, *value);
  } else {
    statement.bind(place);
  }
}

/// Binds all parameters, in order.
template <class... Values>
void bind_values(SQLite::Statement& statement, const Values&... values) {
  int place = 0;
  (bind_value(statement, ++place, values), ...);
}

/// Runs a statement that returns no rows, and leaves it ready for another time.
template <class... Values>
void run_statement(SQLite::Statement& statement, const Values&... values) {
  bind_values(statement, values...);
  statement.exec();
  statement.reset();
}

// Columns of the row that a statement stands at.

inline std::int64_t integer_at(SQLite::Statement& row, int column) {
  return row.getColumn(column).getInt64();
}
inline std::string text_at(SQLite::Statement& row, int column) {
  return row.getColumn(column).getString();
}
/// NULL is NaN.
inline double number_at(SQLite::Statement& row, int column) {
  const SQLite::Column value = row.getColumn(column);
  return value.isNull() ? std::numeric_limits<double>::quiet_NaN() : value.getDouble();
}
inline bool is_null_at(SQLite::Statement& row, int column) { return row.isColumnNull(column); }
inline TrialId trial_at(SQLite::Statement& row, int column) {
  return TrialId(static_cast<std::uint64_t>(integer_at(row, column)));
}
inline std::uint32_t incarnation_at(SQLite::Statement& row, int column) {
  return static_cast<std::uint32_t>(integer_at(row, column));
}

}  // namespace tune::store
