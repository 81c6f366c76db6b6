#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tune/callback.hpp>
#include <tune/ids.hpp>
#include <tune/result.hpp>

#include "report/file_pool.hpp"

namespace tune::report {

/// "00007": how records and files write a trial's id.
[[nodiscard]] std::string trial_id_text(TrialId id);

/// The automatic fields that depend on where the trial was last started.
class SinceRestore {
 public:
  void start(const TrialInfo& trial);
  void add(const Result& result);
  [[nodiscard]] double time_s() const { return time_s_; }
  [[nodiscard]] std::int64_t iterations() const { return iterations_; }

 private:
  double time_s_ = 0;
  std::int64_t iterations_ = 0;
  std::int64_t start_iteration_ = 0;
};

/// The field `date` of rows: local time as "2026-01-02_03-04-05". Remembers the last second.
class LocalDate {
 public:
  [[nodiscard]] std::string_view text(std::int64_t seconds_since_1970);

 private:
  std::int64_t seconds_ = std::numeric_limits<std::int64_t>::min();
  std::string text_;
};

/// The rows of one trial, each of one training iteration, in rising order.
class RowFile {
 public:
  /// A row of text with the place where the name of a checkpoint may come.
  struct Row {
    std::string text;
    std::size_t checkpoint_begin = 0;  ///< Of the text for "no checkpoint"
    std::size_t checkpoint_bytes = 0;  ///< and its length.
  };

  /// Where in the content of a file the first row at or after an iteration begins.
  using FindRow = std::size_t (*)(std::string_view content, std::int64_t training_iteration);

  RowFile(std::unique_ptr<AppendFile> file, FindRow find_row)
      : file_(std::move(file)), find_row_(find_row) {}

  /// Appends what stands before the first row.
  void append_header(std::string_view header) { file_->append(header); }
  /// Appends; a row at or before the last iteration first takes away all rows from there on.
  void append(std::int64_t training_iteration, const Row& row);
  /// Puts `name`, written as a value of the format, into the last row if it is of that iteration.
  void set_checkpoint(std::int64_t training_iteration, std::string_view name);
  /// As AppendFile's. @pre `rewrite` changes no row that is appended from now on.
  void rewrite_when_written(AppendFile::Rewrite rewrite) {
    file_->rewrite_when_written(std::move(rewrite));
  }
  void flush() { file_->flush(); }

 private:
  std::unique_ptr<AppendFile> file_;
  FindRow find_row_;
  Row last_row_;
  std::int64_t last_iteration_ = 0;  // 0: there is none
};

}  // namespace tune::report
