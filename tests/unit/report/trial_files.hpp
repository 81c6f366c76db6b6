#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/json.hpp>
#include <tune/result.hpp>

#include "report/exporters.hpp"
#include "report/file_pool.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// A result as the engine records it.
[[nodiscard]] Result make_result(std::int64_t training_iteration, Metrics metrics);

/// One trial, number 3, of an experiment, and exporters that are told what happens to it.
class TrialFiles {
 public:
  explicit TrialFiles(const std::vector<std::string>& exporters);

  /// Starts the trial (again). `start_iteration`: that of the checkpoint it goes on from.
  void start(const Json& config = Json::object(), std::int64_t start_iteration = 0);
  void report(std::int64_t training_iteration, Metrics metrics);
  void report(const Result& result);
  void checkpoint(std::int64_t training_iteration, const std::string& directory_name);
  /// A failed start that is tried again.
  void fail();
  void complete();
  /// The last failure.
  void end_with_error();
  void idle();

  [[nodiscard]] const TrialInfo& trial() const { return trial_; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const {
    return trial_.path / name;
  }
  [[nodiscard]] report::FilePool& pool() { return *pool_; }

 private:
  TemporaryFolder folder_;
  std::shared_ptr<report::FilePool> pool_ = std::make_shared<report::FilePool>();
  std::vector<std::shared_ptr<Callback>> exporters_;
  TrialInfo trial_;
};

[[nodiscard]] std::string file_text(const std::filesystem::path& path);
/// The objects of a file with one a line, read by a parser that takes RFC 8259 and nothing else.
[[nodiscard]] std::vector<Json> json_lines(const std::filesystem::path& path);

/// A CSV file with its header, read by the rules of RFC 4180.
class CsvTable {
 public:
  explicit CsvTable(const std::filesystem::path& path);
  explicit CsvTable(const std::string& text);

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  /// @throws std::out_of_range if there is no such row or column, or the row is not as wide as the
  /// header.
  [[nodiscard]] const std::string& cell(std::size_t row, const std::string& column) const;
  [[nodiscard]] std::vector<std::string> column(const std::string& name) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tune::test
