// Whole experiments: results, trials, latency, memory, start-up, an idle driver.
#include <malloc.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "cases.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* trivial_word = "--one-trivial-experiment";

double thread_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Of all threads of this process.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return thread_seconds(usage.ru_utime) + thread_seconds(usage.ru_stime);
}

/// Reports as fast as it is let.
class Counting final : public Trainable {
 public:
  Metrics step() override { return {{"loss", 1.0 / static_cast<double>(++steps_)}}; }
  bool reset_config(const Config&) override {
    steps_ = 0;
    return true;
  }

 private:
  std::int64_t steps_ = 0;
};
TUNE_REGISTER_TRAINABLE(Counting)

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

class Sleeping final : public Trainable {
 public:
  Metrics step() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return {{"loss", 1.0}};
  }
};
TUNE_REGISTER_TRAINABLE(Sleeping)

/// Promises nothing: each result waits for its decision.
class Attentive final : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::proceed;
  }
  [[nodiscard]] Json options() const override { return {{"name", "attentive"}}; }
};

/// What the allocator has given out after so many trials.
class MemoryMeter final : public Callback {
 public:
  MemoryMeter(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}
  void on_trial_completed(const TrialInfo&, const TrialEnd&) override {
    ++ended_;
    if (ended_ == first_) at_first_ = ::mallinfo2().uordblks;
    if (ended_ == last_) at_last_ = ::mallinfo2().uordblks;
  }
  [[nodiscard]] double bytes_a_trial() const {
    return (static_cast<double>(at_last_) - static_cast<double>(at_first_)) /
           static_cast<double>(last_ - first_);
  }

 private:
  std::int64_t first_;
  std::int64_t last_;
  std::int64_t ended_ = 0;
  std::size_t at_first_ = 0;
  std::size_t at_last_ = 0;
};

std::string text_of(Isolation isolation) {
  return isolation == Isolation::threads ? "threads" : "processes";
}

Measurement results_per_second(const Options& options, Isolation isolation, std::int64_t trials) {
  const std::int64_t iterations = std::max<std::int64_t>(1, options.scaled(200'000) / trials);
  Measurement measured{
      "driver/results",
      {{"isolation", text_of(isolation)}, {"trials", trials}, {"exporters", "none"}},
      "results/s",
      isolation == Isolation::threads ? "plain SQLite in groups of 400"
                                      : "frames through a pair of sockets",
      {}};
  for (int i = 0; i < options.repetitions; ++i) {
    const ScratchDirectory directory(options);
    Experiment experiment = plain_experiment(directory.path());
    experiment.isolation = isolation;
    experiment.num_samples = trials;
    experiment.stop = {{"training_iteration", static_cast<double>(iterations)}};
    const auto count = static_cast<double>(trials * iterations);
    const double seconds = seconds_of([&] { (void)tune_run<Counting>(experiment); });
    const double limit = isolation == Isolation::threads
                             ? plain_rate(options, options.scaled(100'000), 400)
                             : raw_frames_per_second(options.scaled(1'000'000));
    measured.samples.push_back({count / seconds, limit});
  }
  return measured;
}

// From one that ran to one that is done: suggested, launched on what was used before, one result.
Measurement trial_costs(const Options& options, Isolation isolation) {
  const std::int64_t trials = options.scaled(isolation == Isolation::threads ? 10'000 : 4'000);
  Measurement measured{"trial/cost",
                       {{"isolation", text_of(isolation)}, {"trials", trials}},
                       "us",
                       "a hand-over between threads and back",
                       {}};
  for (int i = 0; i < options.repetitions; ++i) {
    const ScratchDirectory directory(options);
    Experiment experiment = plain_experiment(directory.path());
    experiment.isolation = isolation;
    experiment.num_samples = trials;
    experiment.stop = {{"training_iteration", 1.0}};
    const double seconds = seconds_of([&] { (void)tune_run<Counting>(experiment); });
    measured.samples.push_back({1e6 * seconds / static_cast<double>(trials),
                                1e6 / raw_handovers_per_second(options.scaled(100'000))});
  }
  return measured;
}

Measurement decision_latency(const Options& options, Isolation isolation, double share) {
  Measurement measured{"latency/decision",
                       {{"isolation", text_of(isolation)}, {"quantile", share}},
                       "us",
                       "a message between two actors and back",
                       {}};
  for (int i = 0; i < options.repetitions; ++i) {
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
    measured.samples.push_back(
        {quantile(waited, share), raw_round_trip_us(options.scaled(100'000))});
  }
  return measured;
}

Measurement memory_a_trial(const Options& options) {
  const std::int64_t trials = options.scaled(20'000);
  Measurement measured{"memory/finished_trial", {{"trials", trials}}, "bytes", "", {}};
  for (int i = 0; i < options.repetitions; ++i) {
    const ScratchDirectory directory(options);
    Experiment experiment = plain_experiment(directory.path());
    experiment.num_samples = trials;
    experiment.stop = {{"training_iteration", 1.0}};
    const auto meter = std::make_shared<MemoryMeter>(trials / 2, trials);
    experiment.callbacks = {meter};
    (void)tune_run<Counting>(experiment);
    measured.samples.push_back({meter->bytes_a_trial(), 0});
  }
  return measured;
}

double seconds_of_program(const fs::path& directory) {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  const std::string place = directory.string();
  std::array<char*, 4> arguments = {const_cast<char*>(program.c_str()),
                                    const_cast<char*>(trivial_word),
                                    const_cast<char*>(place.c_str()), nullptr};
  int status = 0;
  const double seconds = seconds_of([&] {
    pid_t pid = 0;
    if (::posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + program);
    }
    ::waitpid(pid, &status, 0);
  });
  if (status != 0) throw std::runtime_error("the trivial experiment failed");
  return seconds;
}

Measurement start_to_exit(const Options& options) {
  Measurement measured{
      "start/trivial_experiment", Json::object(), "ms", "a process that does nothing", {}};
  for (int i = 0; i < options.repetitions; ++i) {
    Options in_memory = options;
    if (fs::is_directory("/dev/shm")) in_memory.directory = "/dev/shm";
    const ScratchDirectory directory(in_memory);
    measured.samples.push_back(
        {1000 * seconds_of_program(directory.path()), 1000 / raw_processes_per_second(20)});
  }
  return measured;
}

// Between start and end, which cost something, lie two seconds in which nearly nothing happens.
Measurement idle_driver(const Options& options) {
  Measurement measured{"idle/driver", {{"results_per_second", 10}}, "% of a core", "", {}};
  for (int i = 0; i < options.repetitions; ++i) {
    const auto cpu_of = [&](double iterations) {
      const ScratchDirectory directory(options);
      Experiment experiment = plain_experiment(directory.path());
      experiment.isolation = Isolation::processes;
      experiment.num_samples = 1;
      experiment.stop = {{"training_iteration", iterations}};
      const double before = cpu_seconds();
      (void)tune_run<Sleeping>(experiment);
      return cpu_seconds() - before;
    };
    const double seconds = options.is_quick ? 1 : 4;
    const double more = cpu_of(1 + 10 * seconds) - cpu_of(1);
    measured.samples.push_back({100 * std::max(0.0, more) / seconds, 0});
  }
  return measured;
}

}  // namespace

Experiment plain_experiment(const fs::path& directory) {
  Experiment experiment;
  experiment.name = "bench";
  experiment.storage_path = directory.string();
  experiment.space = {{"lr", uniform(0.0, 1.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.seed = 1;
  experiment.searcher = random_search();
  experiment.isolation = Isolation::threads;
  experiment.exporters = {};
  experiment.verbosity = 0;
  return experiment;
}

bool run_if_measured(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], trivial_word) != 0) return false;
  Experiment experiment = plain_experiment(argv[2]);
  experiment.num_samples = 1;
  experiment.stop = {{"training_iteration", 1.0}};
  (void)tune_run<Counting>(experiment);
  return true;
}

std::vector<BenchCase> experiment_cases() {
  std::vector<BenchCase> cases;
  for (const std::int64_t trials : {100, 1'000, 10'000}) {
    cases.push_back({"driver/results/threads/" + std::to_string(trials),
                     "results of trials on threads through driver and journal",
                     [=](const Options& o) {
                       return results_per_second(o, Isolation::threads, o.scaled(trials));
                     }});
  }
  cases.push_back({"driver/results/processes/100",
                   "results of worker processes through driver and journal", [](const Options& o) {
                     return results_per_second(o, Isolation::processes, o.scaled(100));
                   }});
  for (const Isolation isolation : {Isolation::threads, Isolation::processes}) {
    const std::string on = text_of(isolation);
    cases.push_back({"trial/cost/" + on, "a trial with one result, from suggestion to end",
                     [=](const Options& o) { return trial_costs(o, isolation); }});
    for (const double share : {0.5, 0.99}) {
      cases.push_back({"latency/decision/" + on + (share < 0.9 ? "/p50" : "/p99"),
                       "from a result to the decision on it, at the trial",
                       [=](const Options& o) { return decision_latency(o, isolation, share); }});
    }
  }
  cases.push_back(
      {"memory/finished_trial", "what the driver keeps of a trial that has ended", memory_a_trial});
  cases.push_back(
      {"start/trivial_experiment", "a program with one trial, from start to exit", start_to_exit});
  cases.push_back(
      {"idle/driver", "the driver's CPU time while a trial reports now and then", idle_driver});
  return cases;
}

}  // namespace tune::bench
