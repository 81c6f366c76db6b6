#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

namespace tune::store {

/// From how many bytes on a string or array within JSON text is large.
inline constexpr std::size_t large_value_bytes = 4096;

/// Writes each large value that journals' JSON texts have within them once, by its content: tables
/// of constants stand in every configuration, and each configuration in an event and in its trial.
/// In the text stands {"$large_value":"<hash>"} in its place.
class LargeValues {
 public:
  /// Writes to the table large_values. @throws SQLite::Exception, as all of it
  explicit LargeValues(SQLite::Database& database);

  /// `json` with a reference for each large string and array within it, from the innermost on;
  /// never for all of it, and for no object, so that SQL finds the small parameters of every trial.
  /// Only an object that looks like a reference is taken as large. Empty: there is none, `json` is
  /// no JSON, or it is longer than SQLite takes.
  [[nodiscard]] std::optional<std::string> shrunk(std::string_view json);

 private:
  class Scan;

  std::size_t longest_;  // that SQLite takes
  SQLite::Statement insert_;
};

/// Gives the SQL of a connection the inverse, whole(text), byte for byte. It fails, naming the
/// reference, where a value is missing or is not what it was.
void add_whole_function(SQLite::Database& database);

}  // namespace tune::store
