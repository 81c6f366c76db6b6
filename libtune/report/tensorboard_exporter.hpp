#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <tune/callback.hpp>

#include "report/exporter.hpp"
#include "report/file_pool.hpp"
#include "row_file.hpp"
#include "tensorboard_events.hpp"

namespace tune::report {

/// Writes events.out.tfevents.*: each numeric metric as the scalar `ray/tune/<name>` at its
/// training_iteration, booleans as 0 and 1, and the hyperparameters for TensorBoard's hparams
/// plugin.
///
/// No `_hparams_/experiment` is written: the plugin takes the first that it finds for all trials,
/// so that parameters of other branches would be missing; without one it looks at every trial.
///
/// A file that takes the place of older ones begins with the start of a session at step 1: a
/// TensorBoard that has read those forgets what it had from them.
class TensorboardExporter final : public Exporter {
 public:
  explicit TensorboardExporter(std::shared_ptr<FilePool> files) : files_(std::move(files)) {}

  [[nodiscard]] std::string name() const override { return "tensorboard"; }
  void on_trial_start(const TrialInfo& trial) override;
  void on_trial_result(const TrialInfo& trial, const Result& result) override;
  void on_trial_completed(const TrialInfo& trial, const TrialEnd& end) override;
  void on_trial_failed(const TrialInfo& trial, const TrialEnd& end, bool will_retry) override;
  void on_idle() override { files_->flush(); }
  [[nodiscard]] bool is_whole(const TrialInfo& trial, const LastRow& last) const override;
  void begin_anew(const TrialInfo& trial) override;

 private:
  struct TrialFile {
    std::unique_ptr<AppendFile> events;
    SinceRestore since_restore;
    std::int64_t last_step = 0;
    std::int64_t created_s = 0;  // as in the file's name
    int files = 0;
    bool replaces_older = false;  // there were files before the first
  };

  void open_file(TrialFile& file, const TrialInfo& trial);
  void end_trial(TrialId id, SessionStatus status);

  std::shared_ptr<FilePool> files_;
  std::map<TrialId, TrialFile> trials_;
  ScalarRecord scalars_;  // reused
  std::string record_;    // reused
  std::string tag_;       // reused
};

}  // namespace tune::report
