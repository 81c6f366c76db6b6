#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/json.hpp>
#include <tune/result_grid.hpp>
#include <tune/trial.hpp>

#include "memory_journal.hpp"
#include "report/callback_hub.hpp"
#include "support/temporary_folder.hpp"
#include "trial_files.hpp"

namespace tune::test {

/// An experiment that minimises "loss" (or what `objective` says), told to a CallbackHub and to a
/// journal record by record, as the runtime does.
class HubRun {
 public:
  using Callbacks = std::vector<std::shared_ptr<Callback>>;
  using Damage = std::function<void(const std::filesystem::path& experiment)>;

  explicit HubRun(std::vector<std::string> exporters = {"json", "csv", "tensorboard"},
                  Callbacks callbacks = {},
                  std::optional<Objective> objective = Objective{"loss", Mode::min});

  /// The experiment's directory.
  [[nodiscard]] const std::filesystem::path& path() const { return experiment_.path; }
  [[nodiscard]] report::CallbackHub& hub() { return *hub_; }
  [[nodiscard]] MemoryJournal& journal() { return *journal_; }
  /// What came of it so far.
  [[nodiscard]] ResultGrid results() const { return {experiment_, end_, journal_}; }
  [[nodiscard]] std::filesystem::path trial_path(std::uint64_t trial) const;

  /// Adds and starts trial number `trial`.
  void run(std::uint64_t trial, const Json& config = Json::object());
  void add(std::uint64_t trial, const Json& config = Json::object());
  void start(std::uint64_t trial, std::int64_t start_iteration = 0);
  /// The same with another configuration.
  void start_with(std::uint64_t trial, const Json& config, std::int64_t start_iteration = 0);
  /// One result after the last one.
  void report(std::uint64_t trial, Metrics metrics);
  void report_at(std::uint64_t trial, std::int64_t iteration, Metrics metrics);
  void checkpoint(std::uint64_t trial, std::int64_t iteration);
  void delete_checkpoint(std::uint64_t trial, std::int64_t iteration);
  void state(std::uint64_t trial, TrialState state, const std::string& reason,
             const std::string& error = "");
  void complete(std::uint64_t trial) { state(trial, TrialState::terminated, "trainable finished"); }
  void fail(std::uint64_t trial, const std::string& error) {
    state(trial, TrialState::error, "", error);
  }
  void end(const ExperimentEnd& end = {});

  /// From the next resume on.
  void set_exporters(const std::vector<std::string>& names) { exporters_ = names; }
  /// What is in the files now is what a process leaves that is killed now: another hub goes on with
  /// a copy of the directory, at another path, after `damage` was done to it.
  void kill_and_resume(const Damage& damage = {}, Callbacks callbacks = {});

 private:
  struct Trial {
    std::string name;
    Config config;
    std::uint32_t incarnation = 0;
    std::int64_t iteration = 0;
  };

  TemporaryFolder folder_;
  std::vector<std::string> exporters_;
  ExperimentInfo experiment_;
  ExperimentEnd end_;
  std::shared_ptr<MemoryJournal> journal_;  // with the ResultGrids
  std::unique_ptr<report::CallbackHub> hub_;
  std::map<std::uint64_t, Trial> trials_;
  int resumes_ = 0;
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
