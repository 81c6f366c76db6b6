#include <tune/schedulers/fifo.hpp>

#include <limits>

namespace tune {
namespace {

class FifoScheduler final : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    context.no_decision_before(trial.id(), std::numeric_limits<double>::infinity());
  }

  [[nodiscard]] bool needs_metric() const override { return false; }

  // Without state; not null, which would ask for a replay.
  [[nodiscard]] Json save() const override { return Json::object(); }
  void restore(const Json&) override {}

  [[nodiscard]] Json options() const override { return {{"name", "fifo"}}; }
  [[nodiscard]] std::string describe() const override { return "fifo"; }
};

}  // namespace

std::unique_ptr<TrialScheduler> fifo() { return std::make_unique<FifoScheduler>(); }

}  // namespace tune
