// Events that come at the same time may come in any order. What of it must not matter depends on
// what a scheduler promises:
//
// - Who compares whole rungs or whole populations, or decides when a slot is free, knows the same
//   whatever the order was: no order of results, ends and failures matters.
// - Who decides at a result by those before it, as ASHA's stopping rule, PASHA's look at the top
//   rung, the median and asynchronous exchanges do, decides by that order. All else may move: the
//   results inside horizons, and where the rule says so what belongs to another rung or step.
//
// A population of trials runs in rounds, an event a trial and round; each history runs three times,
// its rounds in other orders, and must come to the same trials in the same states.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/registry.hpp>
#include <tune/scheduler.hpp>

#include "scheduler_subjects.hpp"
#include "support/limits.hpp"

namespace tune::test {
namespace {

/// Which events keep their order, by id: those that belong together.
enum class Order {
  free,       ///< None.
  milestone,  ///< Results that come to the same milestone.
  step,       ///< Results of the same iteration.
  decision,   ///< Results at which something is decided, ends and failures.
};

Order order_of(const Subject& subject) {
  const Json& options =
      subject.options.contains("base") ? subject.options.at("base") : subject.options;
  const std::string name = options.value("name", subject.name);
  if (name == "pbt" || name == "pb2") {
    return options.value("synch", false) ? Order::free : Order::decision;
  }
  if (name == "asha" || name == "async_hyperband") {
    return options.value("type", "stopping") == "promotion" ? Order::free : Order::milestone;
  }
  if (name == "pasha") return Order::decision;
  if (name == "median_stopping") return Order::step;
  return Order::free;
}

class RoundWorld {
 public:
  RoundWorld(const Subject& subject, std::uint64_t seed, std::uint64_t shuffle)
      : order_(order_of(subject)),
        seed_(seed),
        shuffle_(shuffle),
        scheduler_(make_scheduler(subject.name, subject.options)),
        context_(Mode::max, seed) {
    Random chance(seed, "world");
    trials_ = 2 + chance.below(14);
    slots_ = 1 + chance.below(trials_);
    is_calm_ = chance.below(2) == 0;
    context_.set_nodes({{NodeId{0}, ResourceAmounts(Resources{.cpu = 64})}});
  }

  /// What has become of it, a line a round.
  std::vector<std::string> run() {
    std::vector<std::string> rounds;
    fill();
    for (int round = 1; round <= 60 && !context_.live_trials().empty(); ++round) {
      for (const Happening& event : events(round)) tell(event);
      end_stopped();
      chosen_.clear();
      fill();
      rounds.push_back(describe_state());
    }
    return rounds;
  }

 private:
  enum class Kind { result, finished, failed };
  struct Happening {
    TrialId trial;
    Kind kind = Kind::result;
    double group = 0;  // those of one group keep their order; of group 0 each is alone
  };

  std::vector<Happening> events(int round) {
    std::vector<Happening> events;
    for (const TrialId id : context_.running_trials()) events.push_back(next_event(id));
    // Slots in the sequence are dealt out at random; a group fills its slots in order of ids.
    std::vector<std::size_t> places(events.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    Random dice(seed_, "order", shuffle_, static_cast<std::uint64_t>(round));
    for (std::size_t i = places.size(); shuffle_ > 0 && i > 1; --i) {
      std::swap(places[i - 1], places[dice.below(i)]);
    }
    std::map<double, std::vector<std::size_t>> of_group;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].group != 0) of_group[events[i].group].push_back(i);
    }
    for (const auto& [group, members] : of_group) {
      std::vector<std::size_t> own;
      for (const std::size_t member : members) own.push_back(places[member]);
      std::sort(own.begin(), own.end());
      for (std::size_t i = 0; i < members.size(); ++i) places[members[i]] = own[i];
    }
    std::vector<Happening> ordered(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) ordered[places[i]] = events[i];
    return ordered;
  }

  Happening next_event(TrialId id) const {
    const std::int64_t iteration = iteration_of(id) + 1;
    Random chance(seed_, "event", id.value(), static_cast<std::uint64_t>(iteration));
    const std::uint64_t fate = is_calm_ ? 99 : chance.below(60);
    const Kind kind = fate == 0 ? Kind::finished : fate == 1 ? Kind::failed : Kind::result;
    const double horizon = horizons_.contains(id) ? horizons_.at(id) : 0;
    const auto time = static_cast<double>(iteration);
    const bool is_decided = time >= horizon;
    double group = 0;
    if (order_ == Order::decision && (is_decided || kind != Kind::result)) group = 1;
    if (order_ == Order::milestone && is_decided && kind == Kind::result) group = horizon;
    if (order_ == Order::step && kind == Kind::result) group = time;
    return {id, kind, group};
  }

  void tell(const Happening& event) {
    Trial& trial = *context_.find_mutable(event.trial);
    if (event.kind == Kind::failed) {
      scheduler_->on_trial_failed(context_, trial);
      carry_out();
      context_.finish(event.trial, {.state = TrialState::error, .last_target = nan});
    } else if (event.kind == Kind::finished) {
      complete(event.trial);
    } else {
      report(event.trial, trial);
    }
  }

  void report(TrialId id, Trial& trial) {
    const std::int64_t iteration = iteration_of(id) + 1;
    Random value(seed_, "value", id.value(), static_cast<std::uint64_t>(iteration));
    const double chance = value.uniform();
    Result result(chance < 0.05 ? nan : chance < 0.3 ? 0.5 : value.uniform(), iteration);
    for (const char* time : {"epoch", "time_total_s"}) {
      result.metrics.set(time, static_cast<double>(iteration));
    }
    trial.add_result(result);
    const Decision decision = scheduler_->on_trial_result(context_, trial, result);
    trial.set_checkpoint_iteration(iteration);
    if (decision == Decision::pause) context_.set_state(id, TrialState::paused);
    if (decision == Decision::stop) stopped_.insert(id);
    carry_out();
  }

  void complete(TrialId id) {
    const Trial& trial = *context_.find(id);
    const Result last = trial.last_result().value_or(Result());
    scheduler_->on_trial_completed(context_, trial, last);
    carry_out();
    context_.finish(id, {.state = TrialState::terminated, .last_target = last.target()});
  }

  // A trial ends at its next step, after all of this round.
  void end_stopped() {
    while (!stopped_.empty()) {
      const TrialId id = *stopped_.begin();
      stopped_.erase(stopped_.begin());
      if (context_.find(id) != nullptr) complete(id);
    }
  }

  void fill() {
    while (context_.running_trials().size() < slots_) {
      context_.set_new_trials(added_ < trials_ ? NewTrials::possible : NewTrials::none);
      const std::optional<TrialId> chosen = scheduler_->choose_trial_to_run(context_);
      carry_out();
      end_stopped();
      const bool is_held = context_.take_hold();
      if (chosen && context_.find(*chosen) != nullptr) {
        start(*chosen);
      } else if (!is_held && added_ < trials_) {
        const TrialId id{added_++};
        const double x = static_cast<double>(id.value() % 12);
        const Trial& trial = context_.add(Trial(id, Config(Json{{"x", x}})));
        scheduler_->on_trial_added(context_, trial);
        carry_out();
      } else {
        return;
      }
    }
  }

  void start(TrialId id) {
    Trial& trial = *context_.find_mutable(id);
    trial.set_incarnation(trial.incarnation() + 1);
    if (const auto clone = clones_.find(id); clone != clones_.end()) {
      trial.set_config(clone->second);
      clones_.erase(clone);
    }
    context_.set_state(id, TrialState::running);
    chosen_ += ' ' + std::to_string(id.value());
  }

  void carry_out() {
    for (const SchedulerRequest& request : context_.take_requests()) {
      if (const auto* horizon = std::get_if<DecisionHorizon>(&request)) {
        horizons_[horizon->trial] = horizon->time;
      } else if (const auto* stop = std::get_if<StopTrial>(&request)) {
        stopped_.insert(stop->trial);
      } else if (const auto* unpause = std::get_if<UnpauseTrial>(&request)) {
        const Trial* trial = context_.find(unpause->trial);
        if (trial != nullptr && trial->state() == TrialState::paused) {
          context_.set_state(unpause->trial, TrialState::pending);
        }
      } else if (const auto* exploit = std::get_if<ExploitTrial>(&request)) {
        clones_[exploit->target] = exploit->config;
        context_.set_state(exploit->target, TrialState::pending);
      }
    }
  }

  [[nodiscard]] std::int64_t iteration_of(TrialId id) const {
    const std::optional<Result>& last = context_.find(id)->last_result();
    return last ? last->training_iteration : 0;
  }

  [[nodiscard]] std::string describe_state() const {
    std::string text = "chosen" + chosen_;
    for (const auto& [id, trial] : context_.live_trials()) {
      text += "; " + std::to_string(id.value()) + ' ' + std::string(to_string(trial.state())) +
              " at " + std::to_string(iteration_of(id)) + ' ' + trial.config().dump();
    }
    return text;
  }

  Order order_;
  std::uint64_t seed_;
  std::uint64_t shuffle_;
  std::unique_ptr<TrialScheduler> scheduler_;
  SchedulerContext context_;
  std::uint64_t trials_ = 0;
  std::uint64_t slots_ = 0;
  bool is_calm_ = false;
  std::uint64_t added_ = 0;
  std::map<TrialId, double> horizons_;
  std::map<TrialId, Config> clones_;
  std::set<TrialId> stopped_;
  std::string chosen_;  // in this round
};

// A model costs a thousand times what a comparison does.
std::uint64_t histories_of(const Subject& subject) {
  const char* text = std::getenv("TUNE_TEST_ROUNDS");
  const std::uint64_t rounds = text == nullptr ? TUNE_TEST_ROUNDS : std::stoull(text);
  return rounds / (subject.name == "pb2" ? 1000 : 20);
}

TEST_CASE("the order of simultaneous events changes nothing that matters", "[schedulers]") {
  for (const Subject& subject : subjects()) {
    for (std::uint64_t seed = 1; seed <= histories_of(subject); ++seed) {
      INFO(describe(subject) << " seed " << seed);
      const std::vector<std::string> rounds = RoundWorld(subject, seed, 0).run();
      REQUIRE(RoundWorld(subject, seed, 1).run() == rounds);
      REQUIRE(RoundWorld(subject, seed, 2).run() == rounds);
    }
  }
}

}  // namespace
}  // namespace tune::test
