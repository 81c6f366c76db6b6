#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "scenario.hpp"
#include "support/engine_world.hpp"

namespace tune::test {
namespace {

MetricValue scripted_value(const std::string& word) {
  if (word == "nan") return std::nan("");
  if (word == "inf") return INFINITY;
  if (word == "-inf") return -INFINITY;
  const Json value = Json::accept(word) ? Json::parse(word) : Json(word);
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return word;
}

class ScriptedBehaviour final : public TrialBehaviour {
 public:
  explicit ScriptedBehaviour(const Scenario& scenario) : scenario_(scenario) {}

  StepOutcome setup(const engine::Launch& launch) override {
    const std::string& invalid = scenario_.of(launch.trial).invalid;
    if (invalid.empty()) return {.seconds = 0};
    return {.kind = StepOutcome::Kind::invalid, .message = invalid, .seconds = 0};
  }

  StepOutcome step(const engine::Launch& launch, std::int64_t iteration) override {
    const ScriptedTrial& script = scenario_.of(launch.trial);
    for (std::size_t i = 0; i < script.failures.size(); ++i) {
      const ScriptedTrial::Failure& failure = script.failures[i];
      std::int64_t& times = failed_[{launch.trial, i}];
      if (failure.iteration != iteration || times >= failure.times) continue;
      ++times;
      return {.kind = StepOutcome::Kind::fail, .message = failure.message};
    }
    if (script.ends_after && iteration > *script.ends_after) {
      return {.kind = StepOutcome::Kind::end};
    }
    StepOutcome outcome;
    for (const auto& [metric, values] : script.metrics) {
      const std::size_t index =
          std::min(static_cast<std::size_t>(iteration - 1), values.size() - 1);
      if (values[index] != "-") outcome.metrics.set(metric, scripted_value(values[index]));
    }
    return outcome;
  }

  std::string damage(const engine::Launch& launch) override {
    const std::string& name = launch.checkpoint->directory_name;
    return scenario_.of(launch.trial).damaged.contains(name) ? name + " is damaged" : std::string();
  }

  std::string load(const engine::Launch& launch) override {
    const std::string& text = scenario_.of(launch.trial).unloadable;
    return loaded_.insert(launch.trial).second ? text : std::string();
  }

  int steps_before_it_obeys(const engine::Launch& launch) override {
    return scenario_.of(launch.trial).deaf_for_steps;
  }

 private:
  const Scenario& scenario_;
  std::map<std::pair<TrialId, std::size_t>, std::int64_t> failed_;
  std::set<TrialId> loaded_;
};

/// Does what the lines beginning with `when` say.
class ScriptScheduler final : public TrialScheduler {
 public:
  explicit ScriptScheduler(const Scenario& scenario) : scenario_(scenario) {}

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    Decision decision = Decision::proceed;
    for (const ScriptedCall& call : scenario_.calls) {
      if (call.trial != trial.id() || call.iteration != result.training_iteration) continue;
      if (call.action == "pause") decision = Decision::pause;
      if (call.action == "stop") decision = Decision::stop;
      if (call.action == "unpause") context.unpause(call.target);
      if (call.action == "stop_trial") context.stop(call.target);
      if (call.action == "exploit" && !context.exploit(call.target, call.source, call.config)) {
        throw std::runtime_error("the source of an exploit has no checkpoint");
      }
    }
    return decision;
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "script"}}; }

 private:
  const Scenario& scenario_;
};

/// Compares what happened with one `expect` line.
class Comparison {
 public:
  Comparison(const EngineWorld& world, const Expectation& expectation)
      : world_(world), words_(expectation.words) {}

  /// What was otherwise; empty if nothing.
  std::string run() {
    const std::string first = take();
    if (first == "trial") return compare_trial(TrialId{std::stoull(take())});
    if (first == "trials") return compare(take(), world_.books().trials().size());
    if (first == "finished") return contains(take(), world_.books().end().value().reason);
    if (first == "interrupted") return interrupted(take());
    if (first == "broken") return contains(take(), world_.books().end().value().error);
    if (first == "terminated") return compare(take(), world_.engine().counts().terminated);
    if (first == "failed") return compare(take(), world_.engine().counts().error);
    if (first == "refused_messages") return refused(take());
    if (first == "warning") return some_warning(world_.books().warnings(), take());
    throw std::invalid_argument("unknown expectation " + first);
  }

 private:
  std::string take() {
    if (next_ == words_.size()) throw std::invalid_argument("a word is missing at the end");
    return words_[next_++];
  }
  std::string rest() {
    std::string text;
    for (; next_ < words_.size(); ++next_) text += (text.empty() ? "" : " ") + words_[next_];
    return text;
  }

  static std::string compare(const std::string& want, const std::string& have) {
    return want == have ? std::string() : "want " + want + ", have " + have;
  }
  static std::string compare(const std::string& want, std::uint64_t have) {
    return compare(want, std::to_string(have));
  }
  static std::string contains(const std::string& part, const std::string& have) {
    return have.find(part) != std::string::npos ? std::string()
                                                : "want \"" + part + "\" in \"" + have + "\"";
  }
  std::string interrupted(const std::string& part) const {
    const ExperimentEnd& end = *world_.books().end();
    return end.interrupted ? contains(part, end.reason) : "it was not interrupted";
  }
  std::string refused(const std::string& least) const {
    const std::uint64_t have = world_.engine().counts().refused_messages;
    return have >= std::stoull(least) ? std::string()
                                      : "want at least " + least + ", have " + std::to_string(have);
  }
  static std::string some_warning(const std::vector<std::string>& warnings,
                                  const std::string& part) {
    const auto count = std::count_if(warnings.begin(), warnings.end(), [&](const auto& warning) {
      return warning.find(part) != std::string::npos;
    });
    if (count == 1) return {};
    std::string all;
    for (const std::string& warning : warnings) all += "\n    " + warning;
    return "want one warning with \"" + part + "\", have " + std::to_string(count) + " of" + all;
  }

  std::string compare_trial(TrialId id) {
    const TrialLog& trial = world_.books().trial(id);
    const std::string what = take();
    if (what == "is") {
      const std::string state = take();
      const std::string bad = compare(state, std::string(to_string(trial.state)));
      if (!bad.empty() || next_ == words_.size()) return bad;
      return contains(take(), trial.state == TrialState::error ? trial.error : trial.reason);
    }
    if (what == "results") return compare(take(), trial.line.size());
    if (what == "starts") return compare(take(), trial.launches.size());
    if (what == "config") return compare(take(), trial.launches.back().config.dump());
    if (what == "started_from") return compare(rest(), started_from(trial));
    if (what == "told") return compare(rest(), told(id));
    if (what == "done") return compare(take(), trial.line.back().done ? "true" : "false");
    if (what == "checkpoints") return compare(rest(), kept(trial));
    if (what == "warning") return some_warning(trial.warnings, take());
    throw std::invalid_argument("unknown expectation of a trial: " + what);
  }

  static std::string started_from(const TrialLog& trial) {
    std::string text;
    for (const engine::Launch& launch : trial.launches) {
      text += (text.empty() ? "" : " ") + std::to_string(launch.start_iteration);
    }
    return text;
  }
  std::string told(TrialId id) const {
    std::string text;
    for (const std::int64_t iteration : world_.books().told(id)) {
      text += (text.empty() ? "" : " ") + std::to_string(iteration);
    }
    return text;
  }
  static std::string kept(const TrialLog& trial) {
    std::string text;
    for (const CheckpointLog& checkpoint : trial.checkpoints) {
      text += (text.empty() ? "" : " ") + std::to_string(checkpoint.training_iteration);
    }
    return text;
  }

  const EngineWorld& world_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
};

std::unique_ptr<TrialScheduler> scheduler_of(const Scenario& scenario) {
  if (scenario.scheduler == "script") return std::make_unique<ScriptScheduler>(scenario);
  register_builtin_schedulers();
  return make_scheduler(scenario.scheduler, scenario.scheduler_options);
}

void schedule(EngineWorld& world, const Scenario& scenario) {
  for (const ScriptedEvent& event : scenario.events) {
    world.at(event.time_s, [&world, &scenario, &event] {
      if (event.action == "join") {
        world.join(scenario.nodes.at(event.name), event.name, event.capacity);
      } else if (event.action == "leave") {
        world.leave(scenario.nodes.at(event.name));
      } else if (event.action == "interrupt") {
        world.request_interrupt(event.name);
      } else {
        world.request_stop(event.name);
      }
    });
  }
}

}  // namespace

std::string run_scenario(const Scenario& scenario, std::function<void(const std::string&)> trace) {
  WorldOptions options;
  options.engine = scenario.engine;
  options.trace = std::move(trace);
  if (scenario.late_s > 0) {
    options.network.late_chance = 1;
    options.network.late_s = scenario.late_s;
  }
  options.searcher.suggest = [](TrialId id) -> SearcherModel::Answer {
    return Config(Json{{"index", id.value()}});
  };
  EngineWorld world(options, scheduler_of(scenario), std::make_unique<ScriptedBehaviour>(scenario));
  schedule(world, scenario);
  world.run();
  std::string differences;
  for (const Expectation& expectation : scenario.expectations) {
    std::string bad;
    try {
      bad = Comparison(world, expectation).run();
    } catch (const std::exception& error) {
      bad = error.what();
    }
    if (!bad.empty()) differences += expectation.place + ": " + bad + "\n";
  }
  return differences;
}

}  // namespace tune::test
