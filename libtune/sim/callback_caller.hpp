#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tune/callback.hpp>

#include "engine/commands.hpp"

namespace tune::sim {

/// Tells the user's callbacks of a simulation. What it holds is linear in the live trials.
class CallbackCaller {
 public:
  /// One that throws is switched off, and `warn` told.
  CallbackCaller(std::vector<std::shared_ptr<Callback>> callbacks,
                 std::function<void(std::string)> warn)
      : callbacks_(std::move(callbacks)), warn_(std::move(warn)) {}

  [[nodiscard]] bool is_empty() const { return callbacks_.empty(); }
  void begin(const ExperimentInfo& experiment);
  void on(const engine::RecordTrialAdded& record);
  void on(const engine::RecordTrialStarted& record);
  void on(const engine::RecordResult& record);
  void on(const engine::RecordCheckpoint& record);
  void on(const engine::RecordTrialState& record);
  void end(const ExperimentInfo& experiment, const ExperimentEnd& end);

 private:
  void tell(const std::function<void(Callback&)>& call);

  std::vector<std::shared_ptr<Callback>> callbacks_;
  std::function<void(std::string)> warn_;
  std::map<TrialId, TrialInfo> trials_;  // those that have not ended
};

}  // namespace tune::sim
