#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/json.hpp>
#include <tune/mode.hpp>

namespace tune::core {

/// Fills an options struct from a JSON object: a read() for each key, then finish().
///
/// A key that is absent leaves its default. Errors are std::invalid_argument and name whose option
/// it is, key, value and what is allowed.
class OptionReader {
 public:
  /// `options` must outlive the reader. @throws std::invalid_argument if it is not an object.
  OptionReader(std::string owner, const Json& options);

  void read(std::string_view key, bool& value);
  /// A number without fraction.
  void read(std::string_view key, std::int64_t& value);
  void read(std::string_view key, double& value);
  void read(std::string_view key, std::string& value);
  /// "min", "max" or null.
  void read(std::string_view key, std::optional<Mode>& value);
  /// Any JSON, to be read further by the caller.
  void read(std::string_view key, Json& value);
  /// Refuses keys that no read() asked for.
  void finish() const;

 private:
  const Json* find(std::string_view key);
  [[noreturn]] void refuse(std::string_view key, const Json& value, const char* wanted) const;

  std::string owner_;
  const Json& options_;
  std::vector<std::string> known_;  // in the order of asking
};

}  // namespace tune::core
