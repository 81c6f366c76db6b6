#include <tune/schedulers/pbt_replay.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/number_text.hpp"

namespace tune {
namespace {

[[noreturn]] void refuse_pbt_replay(const std::string& what) {
  throw std::invalid_argument("pbt_replay: " + what);
}

struct PolicyEntry {
  std::int64_t step = 0;
  Json config;
};

std::vector<PolicyEntry> read_policy(const Json& json) {
  if (!json.is_array() || json.empty()) {
    refuse_pbt_replay("policy is " + core::value_text(json) +
                      R"(, want a list of {"step": ..., "config": {...}}, not empty)");
  }
  std::vector<PolicyEntry> policy;
  for (const Json& entry : json) {
    const bool is_entry = entry.is_object() && entry.contains("step") &&
                          entry.at("step").is_number_integer() && entry.contains("config") &&
                          entry.at("config").is_object();
    if (!is_entry) {
      refuse_pbt_replay("an entry of the policy is " + core::value_text(entry) +
                        R"(, want {"step": a whole number, "config": {...}})");
    }
    const auto step = entry.at("step").get<std::int64_t>();
    if (step < 0 || (!policy.empty() && step <= policy.back().step)) {
      refuse_pbt_replay("the steps of the policy must grow from 0 on, one is " +
                        std::to_string(step));
    }
    policy.push_back({step, entry.at("config")});
  }
  return policy;
}

class PbtReplay final : public TrialScheduler {
 public:
  explicit PbtReplay(const Json& policy) : policy_(read_policy(policy)) {
    if (policy_.front().step == 0) next_ = 1;
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    if (trial_ && *trial_ != trial.id()) {
      refuse_pbt_replay("replays one trial, and trial " + std::to_string(trial.id().value()) +
                        " is a second one: num_samples must be 1");
    }
    if (!trial.last_result()) begin(trial);
    trial_ = trial.id();
    context.no_decision_before(trial.id(), next_step());
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    is_due_ = false;  // if it was, it could not change there, and was trained on
    if (next_ == policy_.size() || result.training_iteration < policy_[next_].step) {
      return Decision::proceed;
    }
    // Of several that were passed the last counts.
    while (next_ + 1 < policy_.size() && result.training_iteration >= policy_[next_ + 1].step) {
      ++next_;
    }
    is_due_ = true;
    context.explain(trial.id(), "changes its configuration at step " +
                                    std::to_string(result.training_iteration) +
                                    ", as the policy does at " +
                                    std::to_string(policy_[next_].step));
    return Decision::pause;
  }

  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    const Trial* trial = trial_ ? context.find(*trial_) : nullptr;
    if (trial == nullptr) return TrialScheduler::choose_trial_to_run(context);
    if (trial->state() == TrialState::paused && is_due_) change(context, *trial);
    const bool may_run =
        trial->state() == TrialState::pending || trial->state() == TrialState::paused;
    if (may_run) return trial->id();
    return std::nullopt;
  }

  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] bool needs_metric() const override { return false; }

  [[nodiscard]] Json save() const override {
    return {{"trial", trial_ ? Json(trial_->value()) : Json()}, {"next", next_}, {"due", is_due_}};
  }

  void restore(const Json& state) override {
    trial_.reset();
    if (!state.at("trial").is_null()) trial_ = TrialId{state.at("trial").get<std::uint64_t>()};
    next_ = state.at("next").get<std::size_t>();
    is_due_ = state.at("due").get<bool>();
    if (next_ > policy_.size()) {
      refuse_pbt_replay("the saved state is at entry " + std::to_string(next_) +
                        " of a policy with " + std::to_string(policy_.size()));
    }
  }

  [[nodiscard]] Json options() const override {
    Json policy = Json::array();
    for (const PolicyEntry& entry : policy_) {
      policy.push_back({{"step", entry.step}, {"config", entry.config}});
    }
    return {{"name", "pbt_replay"}, {"policy", std::move(policy)}};
  }

  [[nodiscard]] std::string describe() const override {
    return "pbt replay: configuration " + std::to_string(next_) + " of " +
           std::to_string(policy_.size());
  }

 private:
  void begin(const Trial& trial) {
    next_ = policy_.front().step == 0 ? 1 : 0;
    is_due_ = false;
    if (next_ == 0) return;
    for (const auto& [name, value] : policy_.front().config.items()) {
      const Json& config = trial.config().json();
      const auto found = config.find(name);
      if (found != config.end() && *found == value) continue;
      refuse_pbt_replay("the policy begins with " + name + " = " + core::value_text(value) +
                        ", the trial has " +
                        (found == config.end() ? "no such parameter" : core::value_text(*found)) +
                        "; give the first configuration as points_to_evaluate");
    }
  }

  // Goes on from its own checkpoint, if that is the one of this step.
  void change(SchedulerContext& context, const Trial& trial) {
    const std::optional<Result>& last = trial.last_result();
    if (!last || trial.checkpoint_iteration() != last->training_iteration) {
      // It goes back, and what it reports again nobody is told: the next result will be later.
      context.no_decision_before(trial.id(), -std::numeric_limits<double>::infinity());
      return;
    }
    Json config = trial.config().json();
    config.update(policy_[next_].config, /*merge_objects=*/true);
    if (!context.exploit(trial.id(), trial.id(), Config(std::move(config)))) return;
    is_due_ = false;
    ++next_;
    context.no_decision_before(trial.id(), next_step());
  }

  [[nodiscard]] double next_step() const {
    return next_ < policy_.size() ? static_cast<double>(policy_[next_].step)
                                  : std::numeric_limits<double>::infinity();
  }

  std::vector<PolicyEntry> policy_;
  std::optional<TrialId> trial_;
  std::size_t next_ = 0;  // the first entry that is not in force
  bool is_due_ = false;   // paused for it
};

}  // namespace

std::unique_ptr<TrialScheduler> pbt_replay(const PbtReplayOptions& options) {
  if (options.policy_file.empty()) return std::make_unique<PbtReplay>(options.policy);
  if (!options.policy.is_null()) {
    refuse_pbt_replay("policy and policy_file are both given, want one of them");
  }
  return std::make_unique<PbtReplay>(read_pbt_policy(options.policy_file));
}

}  // namespace tune
