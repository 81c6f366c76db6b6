#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/scheduler.hpp>

namespace tune::test {

/// Wraps a scheduler: writes down every call, and notes where the engine breaks its word to it (a
/// result twice or out of order, a trial that ends twice, a call within a call).
class RecordingScheduler final : public TrialScheduler {
 public:
  enum class Kind { added, result, completed, failed, choose };
  struct Call {
    Kind kind = Kind::added;
    TrialId trial = {};
    std::int64_t iteration = 0;  ///< Of the result.
    double target = 0;
    Decision answer = Decision::proceed;
    std::vector<SchedulerRequest> requests = {};
    bool threw = false;
    std::optional<TrialId> chosen = {};              ///< By `choose`.
    std::optional<TrialState> state_of_chosen = {};  ///< Empty if it is not live.
  };

  explicit RecordingScheduler(std::unique_ptr<TrialScheduler> inner) : inner_(std::move(inner)) {}

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override;
  void on_trial_added(SchedulerContext& context, const Trial& trial) override;
  void on_trial_completed(SchedulerContext& context, const Trial& trial,
                          const Result& last) override;
  void on_trial_failed(SchedulerContext& context, const Trial& trial) override;
  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override;
  [[nodiscard]] bool needs_checkpoints() const override { return inner_->needs_checkpoints(); }
  [[nodiscard]] std::string time_attr() const override { return inner_->time_attr(); }
  [[nodiscard]] std::optional<Objective> objective() const override { return inner_->objective(); }
  [[nodiscard]] bool needs_metric() const override { return inner_->needs_metric(); }
  [[nodiscard]] Json options() const override { return inner_->options(); }

  /// The calls since the last take.
  [[nodiscard]] std::vector<Call> take_calls();
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  /// Iterations told so far, in order.
  [[nodiscard]] const std::vector<std::int64_t>& told(TrialId trial) const;

 private:
  struct Seen {
    std::vector<std::int64_t> told;
    bool ended = false;
  };
  template <class Function>
  auto call(Call call, SchedulerContext& context, Function function);
  void check_live(const SchedulerContext& context, const Trial& trial, const std::string& what);
  void check_pending(const SchedulerContext& context);
  void fault(TrialId trial, const std::string& text);

  std::unique_ptr<TrialScheduler> inner_;
  std::map<TrialId, Seen> seen_;
  std::vector<Call> calls_;
  std::vector<std::string> faults_;
  bool inside_ = false;
};

}  // namespace tune::test
