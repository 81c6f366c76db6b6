#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/json.hpp>
#include <tune/result_grid.hpp>
#include <tune/trial.hpp>

#include "report/callback_hub.hpp"
#include "support/temporary_folder.hpp"
#include "trial_files.hpp"

namespace tune::test {

/// An experiment that minimises "loss" (or what `objective` says), told to a CallbackHub record by
/// record, as the runtime does.
class HubRun {
 public:
  explicit HubRun(const std::vector<std::string>& exporters = {"json", "csv", "tensorboard"},
                  std::vector<std::shared_ptr<Callback>> callbacks = {},
                  std::optional<Objective> objective = Objective{"loss", Mode::min});

  /// The experiment's directory.
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "experiment"; }
  [[nodiscard]] report::CallbackHub& hub() { return hub_; }
  [[nodiscard]] std::filesystem::path trial_path(std::uint64_t trial) const;

  /// Adds and starts trial number `trial`.
  void run(std::uint64_t trial, const Json& config = Json::object());
  void add(std::uint64_t trial, const Json& config = Json::object());
  void start(std::uint64_t trial, std::int64_t start_iteration = 0);
  /// One result after the last one.
  void report(std::uint64_t trial, Metrics metrics);
  void report_at(std::uint64_t trial, std::int64_t iteration, Metrics metrics);
  void checkpoint(std::uint64_t trial, std::int64_t iteration);
  void state(std::uint64_t trial, TrialState state, const std::string& reason,
             const std::string& error = "");
  void complete(std::uint64_t trial) { state(trial, TrialState::terminated, "trainable finished"); }
  void fail(std::uint64_t trial, const std::string& error) {
    state(trial, TrialState::error, "", error);
  }
  void end(const ExperimentEnd& end = {});

 private:
  struct Trial {
    Config config;
    std::uint32_t incarnation = 0;
    std::int64_t iteration = 0;
  };

  TemporaryFolder folder_;
  report::CallbackHub hub_;
  std::map<std::uint64_t, Trial> trials_;
};

/// Notes each call in a word or two.
class NotingCallback : public Callback {
 public:
  [[nodiscard]] std::string name() const override { return "noting"; }
  void on_experiment_start(const ExperimentInfo&) override { notes.push_back("experiment start"); }
  void on_trial_start(const TrialInfo& trial) override { note("start", trial); }
  void on_trial_result(const TrialInfo& trial, const Result&) override { note("result", trial); }
  void on_trial_checkpoint(const TrialInfo& trial, const Checkpoint&) override {
    note("checkpoint", trial);
  }
  void on_trial_completed(const TrialInfo& trial, const TrialEnd&) override {
    note("completed", trial);
  }
  void on_trial_failed(const TrialInfo& trial, const TrialEnd&, bool will_retry) override {
    note(will_retry ? "failed, will retry" : "failed", trial);
  }
  void on_experiment_end(const ExperimentInfo&, const ExperimentEnd&) override {
    notes.push_back("experiment end");
  }

  std::vector<std::string> notes;

 private:
  void note(const std::string& what, const TrialInfo& trial) {
    notes.push_back(what + " " + std::to_string(trial.id.value()));
  }
};

}  // namespace tune::test
