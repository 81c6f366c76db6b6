// What does a trial cost: in time, in memory, with a large configuration?
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <utility>

#include "cases.hpp"
#include "limits.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Looks at the clock between its steps: how long a decision on each takes to come back.
class Waiting final : public Trainable {
 public:
  Metrics step() override {
    const Clock::time_point now = Clock::now();
    const double waited = steps_++ == 0 ? 0 : std::chrono::duration<double>(now - last_).count();
    last_ = Clock::now();
    return {{"loss", 1.0}, {"waited", waited}};
  }

 private:
  std::int64_t steps_ = 0;
  Clock::time_point last_;
};
TUNE_REGISTER_TRAINABLE(Waiting)

/// Promises nothing: each result waits for its decision.
class Attentive final : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
  [[nodiscard]] Json options() const override { return {{"name", "attentive"}}; }
};

/// What no trial can do without: a directory of its own, and to be handed to who runs it and back.
double least_us_of_trial(const Options& options) {
  const ScratchDirectory directory(options);
  return 1e6 / raw_directories_per_second(directory.path(), options.scaled(2'000)) +
         1e6 / raw_handovers_per_second(options.scaled(100'000));
}

// From one that ran to one that is done: suggested, launched on what was used before, one result.
std::vector<Measurement> trial_costs(const Options& options, Isolation isolation) {
  const std::int64_t trials = options.scaled(isolation == Isolation::threads ? 10'000 : 4'000);
  return {repeated(
      options,
      {.name = "trial/cost",
       .parameters = {{"isolation", text_of(isolation)}, {"trials", trials}},
       .unit = "us",
       .limit_is = "a directory, and a hand-over between threads and back"},
      [&] {
        const ScratchDirectory directory(options);
        Experiment experiment = plain_experiment(directory.path());
        experiment.isolation = isolation;
        experiment.num_samples = trials;
        experiment.stop = {{"training_iteration", 1.0}};
        const double seconds = seconds_of([&] { (void)tune_run<Counting>(experiment); });
        return Sample{1e6 * seconds / static_cast<double>(trials), least_us_of_trial(options)};
      })};
}

std::vector<Measurement> decision_latency(const Options& options, Isolation isolation) {
  std::vector<Measurement> measurements;
  for (const double share : {0.5, 0.99}) {
    measurements.push_back({.name = "latency/decision",
                            .parameters = {{"isolation", text_of(isolation)}, {"quantile", share}},
                            .unit = "us",
                            .limit_is = "a message between two actors and back"});
  }
  return repeated(options, std::move(measurements), [&]() -> std::vector<Sample> {
    const ScratchDirectory directory(options);
    Experiment experiment = plain_experiment(directory.path());
    experiment.isolation = isolation;
    experiment.num_samples = 1;
    experiment.scheduler = std::make_unique<Attentive>();
    experiment.stop = {{"training_iteration", static_cast<double>(options.scaled(10'000))}};
    const ResultGrid results = tune_run<Waiting>(experiment);
    std::vector<double> waited;
    for (const Result& result : (*results.begin()).history()) {
      waited.push_back(1e6 * result.metrics.at("waited").as_double());
    }
    const double limit = raw_round_trip_us(options.scaled(100'000));
    return {{quantile(waited, 0.5), limit}, {quantile(waited, 0.99), limit}};
  });
}

std::int64_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

std::int64_t resident_bytes() {
  std::int64_t pages = 0;
  std::ifstream file("/proc/self/statm");
  file >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

/// What this process has after so many trials.
class MemoryMeter final : public Callback {
 public:
  struct Reading {
    double allocated_bytes = 0;
    double resident_bytes = 0;
    double descriptors = 0;
  };

  MemoryMeter(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}
  void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
    ++ended_;
    if (ended_ == first_) at_first_ = read();
    if (ended_ == last_) at_last_ = read();
  }
  /// From the first reading to the last.
  [[nodiscard]] Reading growth() const {
    return {at_last_.allocated_bytes - at_first_.allocated_bytes,
            at_last_.resident_bytes - at_first_.resident_bytes,
            at_last_.descriptors - at_first_.descriptors};
  }

 private:
  static Reading read() {
    return {static_cast<double>(::mallinfo2().uordblks), static_cast<double>(resident_bytes()),
            static_cast<double>(open_descriptors())};
  }

  std::int64_t first_;
  std::int64_t last_;
  std::int64_t ended_ = 0;
  Reading at_first_;
  Reading at_last_;
};

std::vector<Measurement> memory_a_trial(const Options& options) {
  const std::int64_t trials = options.scaled(10'000);
  const Json parameters = {{"from_trials", trials / 10}, {"to_trials", trials}};
  return repeated(
      options,
      {{.name = "memory/finished_trial/allocated",
        .parameters = parameters,
        .unit = "bytes",
        .limit_is = {}},
       {.name = "memory/finished_trial/resident",
        .parameters = parameters,
        .unit = "bytes",
        .limit_is = {}},
       {.name = "memory/descriptors", .parameters = parameters, .unit = "more", .limit_is = {}}},
      [&]() -> std::vector<Sample> {
        const ScratchDirectory directory(options);
        Experiment experiment = plain_experiment(directory.path());
        experiment.num_samples = trials;
        experiment.local = {.cpus = 8};
        experiment.stop = {{"training_iteration", 1.0}};
        const auto meter = std::make_shared<MemoryMeter>(trials / 10, trials);
        experiment.callbacks = {meter};
        (void)tune_run<Counting>(experiment);
        const MemoryMeter::Reading growth = meter->growth();
        const auto counted = static_cast<double>(trials - trials / 10);
        return {{.value = growth.allocated_bytes / counted},
                {.value = growth.resident_bytes / counted},
                {.value = growth.descriptors}};
      });
}

double bytes_below(const fs::path& directory) {
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  }
  return bytes;
}

// JSON of 1 MB.
Json large_table() {
  Json table = Json::array();
  for (int i = 0; i < 60'000; ++i) table.push_back(i / 7.0);
  return table;
}

// A table of constants of 1 MB in each configuration.
std::vector<Measurement> large_configurations(const Options& options, bool exports) {
  const std::int64_t trials = options.scaled(500);
  constexpr std::int64_t reports = 100;
  const Json parameters = {{"config_bytes", 1'000'000},
                           {"exporters", exports ? "all" : "none"},
                           {"trials", trials},
                           {"reports", reports}};
  return repeated(
      options,
      {{.name = "large_config/trial",
        .parameters = parameters,
        .unit = "ms",
        .limit_is = "a file of 1 MB, forced to the disk"},
       {.name = "large_config/stored",
        .parameters = parameters,
        .unit = "MB a trial",
        .limit_is = "each configuration once"}},
      [&]() -> std::vector<Sample> {
        const ScratchDirectory directory(options);
        Experiment experiment = plain_experiment(directory.path());
        experiment.space.add("table", constant(large_table()));
        experiment.num_samples = trials;
        experiment.stop = {{"training_iteration", static_cast<double>(reports)}};
        if (exports) experiment.exporters = all_exporters();
        const auto count = static_cast<double>(trials);
        const double seconds = seconds_of([&] { (void)tune_run<Counting>(experiment); });
        const double stored = bytes_below(directory.path() / "bench");
        const double limit =
            seconds_of([&] { write_plain_file(directory.path() / "plain", 1'000'000); });
        return {{1e3 * seconds / count, 1e3 * limit}, {stored / count / 1e6, 1}};
      });
}

}  // namespace

std::vector<BenchCase> trial_cases() {
  std::vector<BenchCase> cases;
  for (const Isolation isolation : {Isolation::threads, Isolation::processes}) {
    cases.push_back({"trial/cost/" + text_of(isolation),
                     "a trial with one result, from suggestion to end",
                     [=](const Options& o) { return trial_costs(o, isolation); }});
  }
  for (const Isolation isolation : {Isolation::threads, Isolation::processes}) {
    cases.push_back({"latency/decision/" + text_of(isolation),
                     "from a result to the decision on it, at the trial",
                     [=](const Options& o) { return decision_latency(o, isolation); }});
  }
  cases.push_back({"memory/finished_trial",
                   "PE-02: what this process keeps of a trial that has ended", memory_a_trial});
  for (const bool exports : {false, true}) {
    cases.push_back({std::string("large_config") + (exports ? "/exporters" : ""),
                     "PE-04: trials with 1 MB of configuration, and what they store",
                     [=](const Options& o) { return large_configurations(o, exports); }});
  }
  return cases;
}

}  // namespace tune::bench
