// Ten thousand short trials: are the last as fast as the first, and what do they wait for?
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds that saving took, of scheduler and searcher together. They have threads of their own,
/// and the times are read when both have ended.
struct SavingTime {
  double scheduler_s = 0;
  double searcher_s = 0;
};

/// Adds the seconds of a call to `sum`.
template <class Call>
auto timed(double& sum, Call call) {
  const Clock::time_point begin = Clock::now();
  auto result = call();
  sum += std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

/// ASHA, and how long its saving takes.
class WatchedScheduler final : public TrialScheduler {
 public:
  explicit WatchedScheduler(std::shared_ptr<SavingTime> time) : time_(std::move(time)) {}

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    return asha_->on_trial_result(context, trial, result);
  }
  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    asha_->on_trial_added(context, trial);
  }
  void on_trial_completed(SchedulerContext& context, const Trial& trial,
                          const Result& last) override {
    asha_->on_trial_completed(context, trial, last);
  }
  [[nodiscard]] Json save() const override {
    return timed(time_->scheduler_s, [&] { return asha_->save(); });
  }
  [[nodiscard]] Json options() const override { return {{"name", "watched_asha"}}; }

 private:
  std::unique_ptr<TrialScheduler> asha_ = asha();
  std::shared_ptr<SavingTime> time_;
};

/// Random search, and how long its saving takes.
class WatchedSearcher final : public Searcher {
 public:
  explicit WatchedSearcher(std::shared_ptr<SavingTime> time) : time_(std::move(time)) {}

  void setup(const SearcherSetup& setup) override { random_->setup(setup); }
  Suggestion suggest(const SuggestionRequest& request) override {
    return random_->suggest(request);
  }
  [[nodiscard]] Json save() const override {
    return timed(time_->searcher_s, [&] { return random_->save(); });
  }
  [[nodiscard]] Json options() const override { return {{"name", "watched_random"}}; }

 private:
  std::unique_ptr<Searcher> random_ = random_search();
  std::shared_ptr<SavingTime> time_;
};

/// When trials ended, and how long after its report a result came here, behind driver and journal.
class WaitMeter final : public Callback {
 public:
  void on_experiment_start(const ExperimentInfo&) override { ends_.push_back(Clock::now()); }
  void on_trial_result(const TrialInfo&, const Result& result) override {
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    longest_wait_s_ = std::max(longest_wait_s_, now.count() - result.timestamp);
  }
  void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
    ends_.push_back(Clock::now());
  }
  /// Seconds from the end of the `first` trial to that of the `last`.
  [[nodiscard]] double seconds(std::int64_t first, std::int64_t last) const {
    const auto at = [&](std::int64_t ended) { return ends_.at(static_cast<std::size_t>(ended)); };
    return std::chrono::duration<double>(at(last) - at(first)).count();
  }
  [[nodiscard]] double longest_wait_s() const { return longest_wait_s_; }

 private:
  std::vector<Clock::time_point> ends_;
  double longest_wait_s_ = 0;
};

std::vector<Measurement> measure(const Options& options) {
  const std::int64_t trials = options.scaled(10'000);
  const std::int64_t tenth = trials / 10;
  const Json parameters = {{"trials", trials}, {"slots", 8}, {"isolation", "threads"}};
  return repeated(options,
                  {{.name = "short_trials/last_tenth",
                    .parameters = parameters,
                    .unit = "s",
                    .limit_is = "the first tenth"},
                   {.name = "short_trials/saving",
                    .parameters = parameters,
                    .unit = "% of the time",
                    .limit_is = {}},
                   {.name = "short_trials/longest_wait",
                    .parameters = parameters,
                    .unit = "ms",
                    .limit_is = {}}},
                  [&]() -> std::vector<Sample> {
                    const ScratchDirectory directory(options);
                    const auto saving = std::make_shared<SavingTime>();
                    const auto meter = std::make_shared<WaitMeter>();
                    Experiment experiment = plain_experiment(directory.path());
                    experiment.scheduler = std::make_unique<WatchedScheduler>(saving);
                    experiment.searcher = std::make_unique<WatchedSearcher>(saving);
                    experiment.num_samples = trials;
                    experiment.local = {.cpus = 8};
                    experiment.stop = {{"training_iteration", 1.0}};
                    experiment.callbacks = {meter};
                    const double seconds =
                        seconds_of([&] { (void)tune_run<Counting>(experiment); });
                    const double saving_s = saving->scheduler_s + saving->searcher_s;
                    return {{meter->seconds(trials - tenth, trials), meter->seconds(0, tenth)},
                            {.value = 100 * saving_s / seconds},
                            {.value = 1e3 * meter->longest_wait_s()}};
                  });
}

}  // namespace

std::vector<BenchCase> short_trial_cases() {
  return {{"short_trials",
           "PE-01: the last tenth of 10,000 trials beside the first, the share of saving, waits",
           measure}};
}

}  // namespace tune::bench
