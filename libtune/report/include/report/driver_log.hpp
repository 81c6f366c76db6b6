#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/exploit.hpp"
#include "report/file_pool.hpp"

namespace tune::report {

/// driver.log: a line of key=value pairs for each change of a trial's state and each incident.
///
/// `time=2026-01-02T03:04:05.678Z trial=7 event=stopped reason="stop criterion x >= 3"`. A value
/// that is empty or has blanks, quotes, '=' or control characters is quoted as in JSON, so that a
/// line is always one line.
class DriverLog {
 public:
  using Pair = std::pair<std::string_view, std::string_view>;
  enum class OldLines { drop, keep };

  /// Writes through `pool`, which must live as long.
  DriverLog(FilePool& pool, const std::filesystem::path& path, OldLines old_lines);

  /// The line of an exploit: `trial=7 event=exploited incarnation=3 iteration=20 donor=3
  /// donor_iteration=18 changed="lr: 0.1 -> 0.12"`.
  void write_exploit(const core::Exploit& exploit);
  /// Of `exploits`, those that have no line in the log at `path` yet. Reads all of it.
  [[nodiscard]] static std::vector<const core::Exploit*> missing_exploits(
      const std::filesystem::path& path, std::vector<const core::Exploit*> exploits);

  /// One line; pairs with an empty key are left out. @throws std::system_error naming the path.
  void write(std::initializer_list<Pair> pairs);

 private:
  std::unique_ptr<AppendFile> file_;
};

}  // namespace tune::report
