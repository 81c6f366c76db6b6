// Does a result cost more, the more trials there are? A scheduler is told of results at milestones
// and asked for trials, with 100, 10,000 and a million of them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tune/schedulers/builtin.hpp>
#include <tune/tune.hpp>

#include "benchmarks/measurement.hpp"

namespace tune::bench {
namespace {

constexpr std::string_view schedulers_usage =
    "schedulers_bench [--quick] [--json] [--filter TEXT] [--repeat N]\n"
    "  names are those of schedulers\n";

struct Case {
  std::string name;
  Json options = Json::object();
  /// A clone costs milliseconds, for a model that is full with some hundred of them: fewer of them,
  /// and only after most trials are there.
  bool is_dear = false;

  [[nodiscard]] std::string label() const {
    return options.contains("type") ? name + " " + options.at("type").get<std::string>() : name;
  }
};

// A line a scheduler.
std::vector<Case> cases() {
  const Json halving = {{"max_t", 81}, {"reduction_factor", 3}};
  const Json population = {
      {"time_attr", "training_iteration"},
      {"perturbation_interval", 2},
      {"hyperparam_mutations", {{"x", {{"kind", "uniform"}, {"low", 0}, {"high", 1}}}}}};
  const Json model = {{"time_attr", "training_iteration"},
                      {"perturbation_interval", 2},
                      {"hyperparam_bounds", {{"x", {0, 1}}}}};
  return {
      {"fifo"},
      {"asha", halving},
      {"asha", {{"type", "promotion"}, {"max_t", 81}, {"reduction_factor", 3}}},
      {"async_hyperband", {{"max_t", 81}, {"reduction_factor", 3}, {"brackets", 3}}},
      {"hyperband", halving},
      {"bohb", halving},
      {"successive_halving", halving},
      {"pasha", halving},
      {"median_stopping", {{"time_attr", "training_iteration"}, {"grace_period", 1}}},
      {"pbt", population},
      {"pb2", model, /*is_dear=*/true},
      {"resource_changing", {{"base", {{"name", "asha"}, {"max_t", 81}}}}},
  };
}

/// The engine's part: trials that come to one milestone after the other, in random ranks that do
/// not change with time, and slots that are offered after each result.
class Crowd {
 public:
  explicit Crowd(std::unique_ptr<TrialScheduler> scheduler) : scheduler_(std::move(scheduler)) {}

  /// Another trial comes to its first milestone, and what is chosen then to its next.
  void step() {
    add();
    report(TrialId{next_ - 1}, value_of(TrialId{next_ - 1}));
    choose();
  }

  /// Another trial comes to its first milestone, better than all before: none is its donor.
  void step_in_front() {
    add();
    report(TrialId{next_ - 1}, -1 - static_cast<double>(next_));
  }

  [[nodiscard]] std::size_t trials() const { return next_; }
  /// Seconds in on_trial_result and choose_trial_to_run, and calls of both.
  double seconds = 0;
  std::int64_t calls = 0;

 private:
  static double value_of(TrialId id) { return Random(1, "bench", id.value()).uniform(); }

  void add() {
    const TrialId id{next_++};
    Trial& trial = context_.add(Trial(id, Config(Json{{"x", 0.5}})));
    trial.set_checkpoint_iteration(1);
    scheduler_->on_trial_added(context_, trial);
    context_.set_state(id, TrialState::running);
    carry_out();
  }

  void report(TrialId id, double value) {
    Trial& trial = *context_.find_mutable(id);
    const auto horizon = horizons_.find(id);
    const double time = horizon == horizons_.end() ? 1 : std::min(horizon->second, 1e6);
    const Result result(value, static_cast<std::int64_t>(time));
    trial.add_result(result);
    Decision decision = Decision::proceed;
    timed([&] { decision = scheduler_->on_trial_result(context_, trial, result); });
    if (decision == Decision::pause) context_.set_state(id, TrialState::paused);
    carry_out();
    if (decision != Decision::stop) return;
    scheduler_->on_trial_completed(context_, trial, result);
    context_.finish(id, {});
    horizons_.erase(id);
    carry_out();
  }

  void choose() {
    std::optional<TrialId> chosen;
    timed([&] { chosen = scheduler_->choose_trial_to_run(context_); });
    (void)context_.take_hold();
    carry_out();
    if (!chosen) return;
    context_.set_state(*chosen, TrialState::running);
    report(*chosen, value_of(*chosen));
  }

  template <class Call>
  void timed(Call call) {
    seconds += seconds_of(call);
    ++calls;
  }

  void carry_out() {
    for (const SchedulerRequest& request : context_.take_requests()) {
      if (const auto* horizon = std::get_if<DecisionHorizon>(&request)) {
        horizons_[horizon->trial] = horizon->time;
      } else if (const auto* unpause = std::get_if<UnpauseTrial>(&request)) {
        const Trial* trial = context_.find(unpause->trial);
        if (trial != nullptr && trial->state() == TrialState::paused) {
          context_.set_state(unpause->trial, TrialState::pending);
        }
      } else if (const auto* exploit = std::get_if<ExploitTrial>(&request)) {
        Trial& trial = *context_.find_mutable(exploit->target);
        trial.set_incarnation(trial.incarnation() + 1);
        trial.set_config(exploit->config);
        context_.set_state(exploit->target, TrialState::pending);
      }
    }
  }

  std::unique_ptr<TrialScheduler> scheduler_;
  SchedulerContext context_{Mode::min};
  std::map<TrialId, double> horizons_;
  std::uint64_t next_ = 0;
};

// A dear scheduler's model is full with so many clones.
constexpr std::size_t fills_a_model = 400;

std::vector<std::size_t> sizes_of(const Case& subject, bool is_quick) {
  if (is_quick)
    return subject.is_dear ? std::vector<std::size_t>{100} : std::vector<std::size_t>{100, 1000};
  return {subject.is_dear ? 1000U : 100U, 10'000, 1'000'000};
}

void fill(Crowd& crowd, const Case& subject, std::size_t size) {
  while (subject.is_dear && crowd.trials() + fills_a_model < size) crowd.step_in_front();
  while (crowd.trials() < size) crowd.step();
}

void measure(const Reporter& reporter, const Case& subject) {
  if (!reporter.wants(subject.name)) return;
  const std::int64_t steps = reporter.options().scaled(subject.is_dear ? 100 : 2000);
  const std::vector<std::size_t> sizes = sizes_of(subject, reporter.options().is_quick);
  std::vector<Sample> fewest;  // of the smallest size
  for (const std::size_t size : sizes) {
    Measurement measurement{.name = "schedulers/on_trial_result",
                            .parameters = {{"scheduler", subject.label()}, {"trials", size}},
                            .unit = "us",
                            .limit_is = "with " + std::to_string(sizes.front()) + " trials",
                            .samples = {}};
    // The smallest is made anew each time: it would grow.
    std::optional<Crowd> crowd;
    for (int i = 0; i < reporter.options().repetitions; ++i) {
      if (!crowd || size == sizes.front()) {
        crowd.emplace(make_scheduler(subject.name, subject.options));
      }
      fill(*crowd, subject, size);
      crowd->seconds = 0;
      crowd->calls = 0;
      const std::int64_t most = size == sizes.front() ? 100 : steps;
      for (std::int64_t step = 0; step < most; ++step) crowd->step();
      measurement.samples.push_back(
          {.value = 1e6 * crowd->seconds / static_cast<double>(crowd->calls)});
    }
    if (fewest.empty()) fewest = measurement.samples;
    for (std::size_t i = 0; i < fewest.size(); ++i) measurement.samples[i].limit = fewest[i].value;
    reporter.print(measurement);
  }
}

}  // namespace
}  // namespace tune::bench

int main(int argc, char** argv) {
  tune::init(argc, argv);
  tune::register_builtin_schedulers();
  try {
    const tune::bench::Reporter reporter(
        tune::bench::read_options(argc, argv, tune::bench::schedulers_usage));
    for (const tune::bench::Case& subject : tune::bench::cases()) {
      tune::bench::measure(reporter, subject);
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "schedulers_bench: " << error.what() << '\n';
    return 1;
  }
}
