#include "support/replay_twin.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/event_json.hpp"
#include "support/broken_invariant.hpp"
#include "support/engine_text.hpp"

namespace tune::test {
namespace {

/// Looks like another scheduler, and must not be asked.
class SilentScheduler final : public TrialScheduler {
 public:
  explicit SilentScheduler(const TrialScheduler& like)
      : time_attr_(like.time_attr()),
        objective_(like.objective()),
        options_(like.options()),
        needs_checkpoints_(like.needs_checkpoints()),
        needs_metric_(like.needs_metric()) {}

  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override { refuse(); }
  void on_trial_added(SchedulerContext&, const Trial&) override { refuse(); }
  void on_trial_completed(SchedulerContext&, const Trial&, const Result&) override { refuse(); }
  void on_trial_failed(SchedulerContext&, const Trial&) override { refuse(); }
  std::optional<TrialId> choose_trial_to_run(SchedulerContext&) override { refuse(); }
  [[nodiscard]] bool needs_checkpoints() const override { return needs_checkpoints_; }
  [[nodiscard]] std::string time_attr() const override { return time_attr_; }
  [[nodiscard]] std::optional<Objective> objective() const override { return objective_; }
  [[nodiscard]] bool needs_metric() const override { return needs_metric_; }
  [[nodiscard]] Json options() const override { return options_; }

 private:
  [[noreturn]] static void refuse() { throw BrokenInvariant("a replay asked the scheduler"); }

  std::string time_attr_;
  std::optional<Objective> objective_;
  Json options_;
  bool needs_checkpoints_;
  bool needs_metric_;
};

}  // namespace

ReplayTwin::ReplayTwin(const engine::EngineOptions& options, const TrialScheduler& scheduler)
    : options_(options),
      engine_(
          std::make_unique<engine::Engine>(options, std::make_unique<SilentScheduler>(scheduler))) {
  engine_->begin_replay({});
}

ReplayTwin::~ReplayTwin() = default;

void ReplayTwin::follow(const engine::Event& event, Time now, const engine::Decisions& decisions,
                        const std::vector<engine::Command>& commands) {
  engine::EventRecord record = engine::record_of(event);
  record.body = engine::object_of_text(engine::object_text(record.body));
  const engine::Decisions told =
      engine::decisions_of(engine::object_of_text(engine::object_text(engine::to_json(decisions))));
  std::vector<engine::Command> again;
  engine_->replay(engine::event_of(record, options_), now, told, /*asks_scheduler=*/false, again);
  for (std::size_t i = 0; i < std::max(commands.size(), again.size()); ++i) {
    const std::string first = i < commands.size() ? describe(commands[i]) : "nothing";
    const std::string second = i < again.size() ? describe(again[i]) : "nothing";
    if (first != second) {
      throw BrokenInvariant("the replay of " + describe(event) + " gives " + second + ", not " +
                            first);
    }
  }
}

}  // namespace tune::test
