#include "scripted_behaviour.hpp"

namespace tune::test {
namespace {

class ScriptedBehaviour final : public TrialBehaviour {
 public:
  explicit ScriptedBehaviour(TrainingScript script) : script_(std::move(script)) {}

  StepOutcome setup(const engine::Launch& launch) override {
    StepOutcome outcome;
    outcome.seconds = 0;
    if (const auto incident = take(script_.setups, launch.trial)) {
      outcome.kind = incident->kind;
      outcome.message = incident->message;
    }
    return outcome;
  }

  std::string load(const engine::Launch& launch) override {
    const auto incident = take(script_.loads, launch.trial);
    return incident ? incident->message : "";
  }

  std::string save(const engine::Launch& launch, std::int64_t iteration) override {
    const auto incident = take(script_.saves, std::pair(launch.trial, iteration));
    return incident ? incident->message : "";
  }

  StepOutcome step(const engine::Launch& launch, std::int64_t iteration) override {
    StepOutcome outcome;
    const auto seconds = script_.seconds_of.find(launch.trial);
    outcome.seconds = seconds == script_.seconds_of.end() ? script_.step_seconds : seconds->second;
    if (script_.length > 0 && iteration > script_.length) {
      outcome.kind = StepOutcome::Kind::end;
      outcome.seconds = 0;
      return outcome;
    }
    const auto constant = script_.constant.find(launch.trial);
    outcome.metrics.set(script_.metric, constant == script_.constant.end()
                                            ? static_cast<double>(iteration)
                                            : constant->second);
    outcome.metrics.set("step", iteration);
    if (const auto incident = take(script_.steps, std::pair(launch.trial, iteration))) {
      outcome.kind = incident->kind;
      outcome.message = incident->message;
      outcome.done = incident->done;
      for (const auto& [name, value] : incident->metrics) {
        if (value) {
          outcome.metrics.set(name, *value);
        } else {
          outcome.metrics.erase(name);
        }
      }
    }
    return outcome;
  }

  bool ignores_stop(const engine::Launch& launch) override {
    return script_.deaf.contains(launch.trial);
  }

 private:
  /// The incident at `key`, which is used up unless it happens always.
  template <class Key>
  static std::optional<Incident> take(std::map<Key, Incident>& incidents, const Key& key) {
    const auto found = incidents.find(key);
    if (found == incidents.end()) return std::nullopt;
    Incident incident = found->second;
    if (!incident.always) incidents.erase(found);
    return incident;
  }

  TrainingScript script_;
};

}  // namespace

std::unique_ptr<TrialBehaviour> scripted_behaviour(TrainingScript script) {
  return std::make_unique<ScriptedBehaviour>(std::move(script));
}

}  // namespace tune::test
