#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/result_grid.hpp>
#include <tune/trial.hpp>

#include "report/restored_trial.hpp"

namespace tune::test {

/// What a journal keeps of trials, in memory: for ResultGrids, and for hubs that go on.
class MemoryJournal final : public ResultSource {
 public:
  explicit MemoryJournal(std::filesystem::path experiment) : experiment_(std::move(experiment)) {}

  void move_to(const std::filesystem::path& experiment) { experiment_ = experiment; }
  void add(TrialId id, const std::string& name, const Config& config);
  void start(const TrialInfo& trial);
  /// What comes of a trial after its end is ignored.
  void result(TrialId id, std::uint32_t incarnation, const Result& result);
  void checkpoint(TrialId id, const std::string& directory, std::int64_t training_iteration);
  void delete_checkpoint(TrialId id, const std::string& directory);
  void state(TrialId id, TrialState state, const std::string& reason, const std::string& error);
  void drop_results(TrialId id);
  /// A trial that had ended goes on.
  void revive(TrialId id);

  /// Refers to this object. @throws std::out_of_range if there is no such trial.
  [[nodiscard]] report::RestoredTrial restored(TrialId id) const;

  [[nodiscard]] std::vector<TrialId> ids() const override;
  [[nodiscard]] TrialResult trial(TrialId id) const override;
  void for_each(const std::function<void(const TrialResult&)>& take) const override;
  [[nodiscard]] std::vector<Result> history(TrialId id) const override;

  /// How often history() was called, and how often the starts or results of a restored trial.
  mutable int histories_read = 0;
  mutable int lines_read = 0;

 private:
  struct Row {
    std::uint32_t incarnation = 0;
    Result result;
    std::string checkpoint;
  };
  struct Trial {
    std::string name;
    Config config;
    TrialState state = TrialState::pending;
    std::string reason;
    std::string error;
    std::vector<TrialInfo> starts;
    std::vector<Row> rows;
    std::vector<std::pair<std::string, std::int64_t>> checkpoints;
  };

  Trial* live(TrialId id);

  std::filesystem::path experiment_;
  std::map<TrialId, Trial> trials_;
};

}  // namespace tune::test
