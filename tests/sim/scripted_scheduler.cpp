#include "scripted_scheduler.hpp"

namespace tune::test {
namespace {

class ScriptedScheduler final : public TrialScheduler {
 public:
  explicit ScriptedScheduler(std::vector<SchedulerRule> rules) : rules_(std::move(rules)) {}

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    return follow(context, trial.id(), SchedulerRule::Event::reports, result.training_iteration);
  }
  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    follow(context, trial.id(), SchedulerRule::Event::added);
  }
  void on_trial_completed(SchedulerContext& context, const Trial& trial, const Result&) override {
    follow(context, trial.id(), SchedulerRule::Event::ends);
  }
  void on_trial_failed(SchedulerContext& context, const Trial& trial) override {
    follow(context, trial.id(), SchedulerRule::Event::ends);
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "the script"}}; }

 private:
  Decision follow(SchedulerContext& context, TrialId trial, SchedulerRule::Event event,
                  std::int64_t iteration = 0) {
    Decision answer = Decision::proceed;
    for (const SchedulerRule& rule : rules_) {
      if (rule.trial != trial || rule.event != event || rule.iteration != iteration) continue;
      if (rule.answer != Decision::proceed) answer = rule.answer;
      if (rule.request) rule.request(context);
    }
    return answer;
  }

  std::vector<SchedulerRule> rules_;
};

}  // namespace

std::unique_ptr<TrialScheduler> scripted_scheduler(std::vector<SchedulerRule> rules) {
  return std::make_unique<ScriptedScheduler>(std::move(rules));
}

}  // namespace tune::test
