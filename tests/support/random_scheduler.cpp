#include "support/random_scheduler.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "support/limits.hpp"

namespace tune::test {
namespace {

class RandomScheduler final : public TrialScheduler {
 public:
  explicit RandomScheduler(const RandomSchedulerOptions& options) : options_(options) {}

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    Random random = next_random(context, trial.id());
    ask_something(context, random);
    const double time = *result.number(options_.time_attr);
    if (time < promised_[trial.id()]) return Decision::proceed;
    if (random.uniform() < options_.promise) {
      promised_[trial.id()] =
          random.uniform() < 0.1 ? -inf : time + 1 + static_cast<double>(random.below(4));
      context.no_decision_before(trial.id(), promised_[trial.id()]);
    }
    const double dice = random.uniform();
    context.explain(trial.id(), "the dice show " + std::to_string(dice));
    if (dice < options_.stop) return Decision::stop;
    if (dice < options_.stop + options_.pause) return Decision::pause;
    return Decision::proceed;
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    Random random = next_random(context, trial.id());
    if (random.uniform() < options_.promise) {
      promised_[trial.id()] = static_cast<double>(random.below(5));  // "epoch" counts alike
      context.no_decision_before(trial.id(), promised_[trial.id()]);
    }
    ask_something(context, random);
  }

  void on_trial_completed(SchedulerContext& context, const Trial& trial, const Result&) override {
    Random random = next_random(context, trial.id());
    ask_something(context, random);
  }

  void on_trial_failed(SchedulerContext& context, const Trial& trial) override {
    Random random = next_random(context, trial.id());
    ask_something(context, random);
  }

  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    Random random = next_random(context, TrialId{});
    if (random.uniform() < options_.hold) {
      context.hold();
      return std::nullopt;
    }
    if (random.uniform() < options_.choose_wrong) return any_trial(context, random);
    std::vector<TrialId> waiting;
    for (const auto& [id, trial] : context.live_trials()) {
      const bool is_pending = context.pending_trials().contains(id);
      const bool is_paused = trial.state() == TrialState::paused;
      if (is_pending || (is_paused && random.uniform() < options_.choose)) waiting.push_back(id);
    }
    if (waiting.empty()) return std::nullopt;
    return random.uniform() < options_.choose ? waiting[random.below(waiting.size())]
                                              : waiting.front();
  }

  [[nodiscard]] bool needs_checkpoints() const override {
    return options_.pause + options_.pause_other + options_.exploit > 0;
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] std::string time_attr() const override { return options_.time_attr; }
  [[nodiscard]] Json options() const override { return {{"name", "dice"}}; }

 private:
  Random next_random(SchedulerContext& context, TrialId id) {
    Random random = context.random(id, calls_++);
    if (random.uniform() < options_.throws) throw std::runtime_error("the dice fell off the table");
    return random;
  }

  /// Mostly a live one.
  static TrialId any_trial(const SchedulerContext& context, Random& random) {
    const auto& live = context.live_trials();
    if (live.empty() || random.uniform() < 0.1) return TrialId{random.below(20)};
    return std::next(live.begin(), static_cast<std::ptrdiff_t>(random.below(live.size())))->first;
  }

  void ask_something(SchedulerContext& context, Random& random) {
    if (random.uniform() < options_.stop_other) context.stop(any_trial(context, random));
    if (random.uniform() < options_.pause_other) context.pause(any_trial(context, random));
    if (random.uniform() < options_.unpause) context.unpause(any_trial(context, random));
    if (random.uniform() < options_.save) context.save(any_trial(context, random));
    if (random.uniform() < options_.exploit) exploit(context, random);
    if (random.uniform() < options_.set_resources) {
      const double cpu = 0.5 * static_cast<double>(random.below(2 * options_.max_cpu + 1));
      context.set_resources(any_trial(context, random), {.cpu = cpu});
    }
  }

  void exploit(SchedulerContext& context, Random& random) {
    const TrialId target = any_trial(context, random);
    const TrialId source = any_trial(context, random);
    if (target == source) return;
    (void)context.exploit(target, source, Config(Json{{"exploited", calls_}}));
  }

  RandomSchedulerOptions options_;
  std::uint64_t calls_ = 0;
  std::map<TrialId, double> promised_;
};

}  // namespace

std::unique_ptr<TrialScheduler> random_scheduler(const RandomSchedulerOptions& options) {
  return std::make_unique<RandomScheduler>(options);
}

}  // namespace tune::test
