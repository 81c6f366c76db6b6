#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tune/callback.hpp>

#include "report/exporter.hpp"
#include "report/file_pool.hpp"
#include "row_file.hpp"

namespace tune::report {

/// Writes progress.csv: metrics, the automatic fields, `config/<parameter>`; later keys behind
/// them.
class CsvExporter final : public Exporter {
 public:
  explicit CsvExporter(std::shared_ptr<FilePool> files) : files_(std::move(files)) {}

  [[nodiscard]] std::string name() const override { return "csv"; }
  void on_experiment_start(const ExperimentInfo& experiment) override;
  void on_trial_start(const TrialInfo& trial) override;
  void on_trial_result(const TrialInfo& trial, const Result& result) override;
  void on_trial_checkpoint(const TrialInfo& trial, const Checkpoint& checkpoint) override;
  void on_trial_completed(const TrialInfo& trial, const TrialEnd& end) override;
  void on_trial_failed(const TrialInfo& trial, const TrialEnd& end, bool will_retry) override;
  void on_idle() override { files_->flush(); }
  [[nodiscard]] bool is_whole(const TrialInfo& trial, const LastRow& last) const override;
  void begin_anew(const TrialInfo& trial) override;

 private:
  enum class Kind { metric, automatic, parameter };
  struct Column {
    Kind kind;
    std::string name = {};  // of the metric, or of the parameter
    std::string cell = {};  // of a parameter: its value at this start, as text
  };
  struct TrialFile {
    SinceRestore since_restore;
    std::vector<Column> columns;      // one entry stands for all automatic fields
    std::size_t columns_in_rows = 0;  // how many of them the last row has
    // What is the same in all rows of one start.
    std::string id_cell;
    std::string start_cells;        // pid, hostname, node_ip
    std::string last_cells;         // experiment_tag, experiment_id
    std::unique_ptr<RowFile> rows;  // looks at `columns` when it is written, also at its end
  };

  std::size_t build_row(const TrialFile& file, const Result& result);
  void append_automatic(const TrialFile& file, const Result& result);
  void end_trial(TrialId id);

  static std::vector<Column>::iterator find_column(std::vector<Column>& columns, Kind kind,
                                                   const std::string& name);
  static void set_parameters(TrialFile& file, const Config& config);
  static void write_header(TrialFile& file, const Metrics& metrics);
  static void add_metrics(TrialFile& file, const Metrics& metrics);
  static std::string widen(const TrialFile& file, std::string_view content);
  static std::string header(const TrialFile& file);

  std::shared_ptr<FilePool> files_;
  std::string experiment_id_;
  std::map<TrialId, TrialFile> trials_;
  LocalDate date_;
  RowFile::Row row_;  // reused
};

}  // namespace tune::report
