#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>

#include <tune/tune.hpp>

/// Prints a line for the search and one for each trial that starts or ends, so that one sees it
/// live.
class Progress final : public tune::Callback {
 public:
  /// @param out outlives the experiment; nobody else writes to it meanwhile.
  Progress(std::ostream& out, std::int64_t trials, std::int64_t max_epochs)
      : out_(out), trials_(trials), max_epochs_(max_epochs) {}

  void on_experiment_start(const tune::ExperimentInfo& experiment) override;
  void on_trial_start(const tune::TrialInfo& trial) override;
  void on_trial_result(const tune::TrialInfo& trial, const tune::Result& result) override;
  void on_trial_completed(const tune::TrialInfo& trial, const tune::TrialEnd& end) override;
  void on_trial_failed(const tune::TrialInfo& trial, const tune::TrialEnd& end,
                       bool will_retry) override;
  void on_idle() override;

 private:
  struct Last {
    std::int64_t epoch = 0;
    double accuracy = 0;
  };

  /// Begins a line: seconds since the start and how many trials have ended.
  std::ostream& line();

  std::ostream& out_;
  std::int64_t trials_;
  std::int64_t max_epochs_;
  std::int64_t ended_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<tune::TrialId, Last> running_;
  std::optional<double> best_;  // the best last accuracy of an ended trial
};

/// The configuration in a few words: "adam lr 0.0012, hidden 128-64, batch 64, dropout 0.31".
[[nodiscard]] std::string describe(const tune::Config& config);
