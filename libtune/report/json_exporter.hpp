#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <tune/callback.hpp>

#include "core/json_text.hpp"
#include "report/exporter.hpp"
#include "report/file_pool.hpp"
#include "row_file.hpp"

namespace tune::report {

/// Writes params.json at each start and result.json, one object a line, fields as Ray Tune has
/// them.
class JsonExporter final : public Exporter {
 public:
  explicit JsonExporter(std::shared_ptr<FilePool> files) : files_(std::move(files)) {}

  [[nodiscard]] std::string name() const override { return "json"; }
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
  struct TrialFile {
    std::unique_ptr<RowFile> rows;
    SinceRestore since_restore;
    // What is the same in all rows of one start.
    std::string id_member;      // "trial_id":"00003",
    std::string start_members;  // "pid":1,"hostname":"a","node_ip":"b","config":{...},
    std::string last_members;   // "experiment_tag":"...","experiment_id":"..."
    core::NonFinite config_non_finite;
  };

  void write_row(TrialFile& file, const Result& result);
  void end_trial(TrialId id);

  std::shared_ptr<FilePool> files_;
  std::string experiment_id_;
  std::map<TrialId, TrialFile> trials_;
  LocalDate date_;
  RowFile::Row row_;  // reused
};

}  // namespace tune::report
