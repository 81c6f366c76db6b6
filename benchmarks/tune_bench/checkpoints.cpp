// The workloads of Ray Tune's scalability page, and of its release tests, with large checkpoints.
#include <unistd.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cases.hpp"
#include "limits.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

namespace fs = std::filesystem;

/// Sleeps in each step; its checkpoints have the size that its configuration says.
class LargeState final : public Trainable {
 public:
  void setup(const Config& config) override {
    sleep_ = std::chrono::duration<double>(config["sleep_time"].get<double>());
    size_bytes_ = config["checkpoint_size_b"].get<std::int64_t>();
  }
  Metrics step() override {
    std::this_thread::sleep_for(sleep_);
    return {{"loss", 1.0 / static_cast<double>(++steps_)}};
  }
  void save_checkpoint(const fs::path& dir) override {
    write_plain_file(dir / "model", size_bytes_);
    std::ofstream(dir / "steps") << steps_;
  }
  void load_checkpoint(const fs::path& dir) override { std::ifstream(dir / "steps") >> steps_; }

 private:
  std::chrono::duration<double> sleep_{};
  std::int64_t size_bytes_ = 0;
  std::int64_t steps_ = 0;
};
TUNE_REGISTER_TRAINABLE(LargeState)

struct SavingWork {
  std::int64_t trials = 16;
  std::int64_t iterations = 60;
  std::int64_t every = 15;
  std::int64_t keep = 2;
  double sleep_s = 0.1;  // of 60: time-compressed
  std::int64_t size_bytes = 750'000'000;
};

double seconds_of_saving_threads(const Options& options, const SavingWork& work) {
  const ScratchDirectory directory(options);
  return seconds_of([&] {
    std::vector<std::thread> threads;
    for (std::int64_t trial = 0; trial < work.trials; ++trial) {
      threads.emplace_back([&, trial] {
        std::deque<fs::path> kept;
        for (std::int64_t i = 1; i <= work.iterations; ++i) {
          std::this_thread::sleep_for(std::chrono::duration<double>(work.sleep_s));
          if (i % work.every != 0) continue;
          kept.push_back(directory.path() / (std::to_string(trial) + "." + std::to_string(i)));
          write_plain_file(kept.back(), work.size_bytes);
          if (std::ssize(kept) <= work.keep) continue;
          fs::remove(kept.front());
          kept.pop_front();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

Experiment saving_experiment(const fs::path& directory, double sleep_s, std::int64_t size_bytes) {
  Experiment experiment = plain_experiment(directory);
  experiment.space = {{"x", uniform(0.0, 1.0)},
                      {"sleep_time", constant(sleep_s)},
                      {"checkpoint_size_b", constant(size_bytes)}};
  experiment.isolation = Isolation::processes;
  experiment.exporters = all_exporters();
  return experiment;
}

std::vector<Measurement> large_checkpoints(const Options& options, double shorter) {
  SavingWork work;
  work.size_bytes = static_cast<std::int64_t>(static_cast<double>(work.size_bytes) / shorter);
  work.sleep_s /= shorter;
  return {repeated(
      options,
      {.name = "published/large_checkpoints",
       .parameters = {{"trials", work.trials},
                      {"iterations", work.iterations},
                      {"every", work.every},
                      {"keep", work.keep},
                      {"checkpoint_bytes", work.size_bytes},
                      {"sleep_s", work.sleep_s},
                      {"exporters", "all"},
                      {"isolation", "processes"}},
       .unit = "s",
       .limit_is = "the same files on bare threads, forced to the disk"},
      [&] {
        const ScratchDirectory directory(options);
        Experiment experiment = saving_experiment(directory.path(), work.sleep_s, work.size_bytes);
        experiment.num_samples = work.trials;
        experiment.local.cpus = static_cast<double>(work.trials);
        experiment.stop = {{"training_iteration", static_cast<double>(work.iterations)}};
        experiment.checkpoint = {.every = work.every, .keep = work.keep};
        const double seconds = seconds_of([&] { (void)tune_run<LargeState>(experiment); });
        return Sample{seconds, seconds_of_saving_threads(options, work)};
      })};
}

/// Pauses each trial at each result, and lets it go on at once.
class PauseAlways final : public TrialScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::pause;
  }
  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    for (const auto& [id, trial] : context.live_trials()) {
      if (trial.state() == TrialState::paused) return id;
    }
    if (context.pending_trials().empty()) return std::nullopt;
    return *context.pending_trials().begin();
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] Json options() const override { return {{"name", "pause_always"}}; }
};

double megabytes_of(const fs::path& process) {
  std::int64_t pages = 0;
  std::ifstream file(process / "statm");
  file >> pages >> pages;
  return static_cast<double>(pages * ::sysconf(_SC_PAGESIZE)) / 1e6;
}

/// Resident memory of this process and all that descend from it, in MB.
double resident_megabytes() {
  std::multimap<std::string, std::string> children;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "status");
    for (std::string word; file >> word;) {
      if (word != "PPid:") continue;
      file >> word;
      children.emplace(word, entry.path().filename());
      break;
    }
  }
  double megabytes = 0;
  std::deque<std::string> left{std::to_string(::getpid())};
  for (; !left.empty(); left.pop_front()) {
    megabytes += megabytes_of(fs::path("/proc") / left.front());
    const auto [begin, end] = children.equal_range(left.front());
    for (auto child = begin; child != end; ++child) left.push_back(child->second);
  }
  return megabytes;
}

/// Reads the memory after a tenth of all results and after the last but one of them.
class MemoryAtResults final : public Callback {
 public:
  explicit MemoryAtResults(std::int64_t results) : results_(results) {}
  void on_trial_result(const TrialInfo&, const Result&) override {
    ++seen_;
    if (seen_ == results_ / 10) early_ = resident_megabytes();
    if (seen_ == results_ - 1) late_ = resident_megabytes();
  }
  [[nodiscard]] Sample sample() const { return {late_, early_}; }

 private:
  std::int64_t results_;
  std::int64_t seen_ = 0;
  double early_ = 0;
  double late_ = 0;
};

std::vector<Measurement> paused_trials(const Options& options, double shorter) {
  constexpr std::int64_t trials = 2;
  const auto iterations = static_cast<std::int64_t>(300 / shorter);
  const std::int64_t size_bytes = 80'000'000;
  const Json parameters = {{"trials", trials},
                           {"iterations", iterations},
                           {"checkpoint_bytes", size_bytes},
                           {"exporters", "all"},
                           {"isolation", "processes"}};
  return repeated(
      options,
      {{.name = "published/paused_trials/memory",
        .parameters = parameters,
        .unit = "MB",
        .limit_is = "after a tenth of the pauses"},
       {.name = "published/paused_trials/pause",
        .parameters = parameters,
        .unit = "ms",
        .limit_is = "a plain file of that size, forced to the disk"}},
      [&]() -> std::vector<Sample> {
        const ScratchDirectory directory(options);
        Experiment experiment = saving_experiment(directory.path(), 0, size_bytes);
        experiment.scheduler = std::make_unique<PauseAlways>();
        experiment.num_samples = trials;
        experiment.local.cpus = static_cast<double>(trials);
        experiment.stop = {{"training_iteration", static_cast<double>(iterations)}};
        const auto memory = std::make_shared<MemoryAtResults>(trials * iterations);
        experiment.callbacks = {memory};
        const double seconds = seconds_of([&] { (void)tune_run<LargeState>(experiment); });
        const double plain =
            seconds_of([&] { write_plain_file(directory.path() / "plain", size_bytes); });
        return {memory->sample(),
                {1e3 * seconds / static_cast<double>(trials * iterations), 1e3 * plain}};
      });
}

}  // namespace

std::vector<BenchCase> checkpoint_cases(double shorter) {
  return {{"published/large_checkpoints",
           "16 trials with checkpoints of 0.75 GB, of which two are kept: 36 GB of disk",
           [=](const Options& o) { return large_checkpoints(o, shorter); }},
          {"published/paused_trials",
           "two trials that pause at each result with a checkpoint of 80 MB, and the memory of all",
           [=](const Options& o) { return paused_trials(o, shorter); }}};
}

}  // namespace tune::bench
