#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <tune/result_grid.hpp>

#include "engine/commands.hpp"

namespace tune::sim {

/// The trials of a simulation as its records tell of them, all in memory.
class MemoryGrid final : public ResultSource, public std::enable_shared_from_this<MemoryGrid> {
 public:
  explicit MemoryGrid(bool keeps_history) : keeps_history_(keeps_history) {}

  void on(engine::RecordTrialAdded& record);
  void on(const engine::RecordTrialStarted& record);
  void on(engine::RecordResult& record);
  void on(engine::RecordTrialState& record);
  void on(engine::RecordCheckpoint& record);
  void on(const engine::DeleteCheckpoint& command);

  [[nodiscard]] std::vector<TrialId> ids() const override;
  [[nodiscard]] TrialResult trial(TrialId id) const override;
  void for_each(const std::function<void(const TrialResult&)>& take) const override;
  [[nodiscard]] std::vector<Result> history(TrialId id) const override;

 private:
  struct Entry {
    TrialResult trial;  // without `source`
    std::vector<Result> history;
    std::vector<std::string> checkpoints;  // the directories of those in `trial`
  };
  [[nodiscard]] Entry& entry(TrialId id);
  [[nodiscard]] const Entry& entry(TrialId id) const;

  bool keeps_history_;
  std::deque<Entry> entries_;  // by trial id: these count from 0 without gaps
};

}  // namespace tune::sim
