// Does a trial cost more, the more there were before?
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>

#include "cases.hpp"
#include "results.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t results_a_trial = 5;

/// When so many trials had ended.
class EndTimes final : public Callback {
 public:
  void on_trial_start(const TrialInfo&) override {
    if (times_.empty()) times_.push_back(Clock::now());
  }
  void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
    times_.push_back(Clock::now());
  }
  /// Microseconds for each result of the trials from the `first` to have ended to the `last`.
  [[nodiscard]] double us_a_result(std::int64_t first, std::int64_t last) const {
    const std::chrono::duration<double, std::micro> taken =
        times_.at(static_cast<std::size_t>(last)) - times_.at(static_cast<std::size_t>(first));
    return taken.count() / static_cast<double>((last - first) * results_a_trial);
  }

 private:
  std::vector<Clock::time_point> times_;  // the first is that of the start
};

// 100, 1,000, ... up to all of them.
std::vector<std::int64_t> decades(std::int64_t trials) {
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 100; count < trials; count *= 10) counts.push_back(count);
  counts.push_back(trials);
  return counts;
}

std::vector<Measurement> measure(const Options& options, Stage stage, bool exports) {
  const std::int64_t trials = options.is_quick ? 1'000 : 100'000;
  const std::vector<std::int64_t> counts = decades(trials);
  std::vector<Measurement> measurements;
  for (const std::int64_t count : counts) {
    measurements.push_back({.name = "growth/cost_of_result",
                            .parameters = {{"stage", to_string(stage)},
                                           {"exporters", exports ? "all" : "none"},
                                           {"results_a_trial", results_a_trial},
                                           {"trials", count}},
                            .unit = "us",
                            .limit_is = "of the first 100 trials"});
  }
  return repeated(options, std::move(measurements), [&] {
    const ScratchDirectory directory(options);
    Experiment experiment = plain_experiment(directory.path());
    experiment.num_samples = trials;
    experiment.stop = {{"training_iteration", static_cast<double>(results_a_trial)}};
    if (exports) experiment.exporters = all_exporters();
    const auto times = std::make_shared<EndTimes>();
    experiment.callbacks = {times};
    (void)seconds_on(stage, experiment);
    std::vector<Sample> samples;
    // Ends come in bursts, which weigh on a few of them: the first hundred count from the start.
    const double first = times->us_a_result(0, 100);
    for (const std::int64_t count : counts) {
      samples.push_back({count == 100 ? first : times->us_a_result(count / 2, count), first});
    }
    return samples;
  });
}

}  // namespace

std::vector<BenchCase> growth_cases() {
  std::vector<BenchCase> cases;
  for (const Stage stage : {Stage::threads, Stage::processes, Stage::nodes}) {
    for (const bool exports : {false, true}) {
      if (exports && stage != Stage::threads) continue;
      cases.push_back(
          {"growth/" + to_string(stage) + (exports ? "/exporters" : ""),
           "what a result costs after 100, 1,000, 10,000 and 100,000 trials of five results",
           [=](const Options& o) { return measure(o, stage, exports); }});
    }
  }
  return cases;
}

}  // namespace tune::bench
