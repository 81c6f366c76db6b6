// The workloads of Ray Tune's scalability page: trials that only report and sleep.
#include <chrono>
#include <cmath>
#include <thread>

#include "cases.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

struct Workload {
  const char* name;
  std::int64_t trials;
  double results_per_second;  // of a trial
  double trial_seconds;
  std::int64_t slots;
  bool exports;
  double published_seconds;
};

constexpr Workload workloads[] = {
    {"bookkeeping", 10'000, 1, 1, 16, true, 715.27},
    {"many_results", 96, 500, 100, 96, false, 959.32},
    {"many_results_exported", 96, 500, 100, 96, true, 0},
    {"many_trials", 1'000, 10, 100, 1'024, false, 248.39},
    {"many_trials_exported", 1'000, 10, 100, 1'024, true, 0},
};

class Sleeper final : public Trainable {
 public:
  void setup(const Config& config) override {
    sleep_ = std::chrono::duration<double>(config["sleep_time"].get<double>());
    iterations_ = config["num_iters"].get<std::int64_t>();
    score_ = config["score"].get<double>();
    done_ = 0;
  }
  Metrics step() override {
    std::this_thread::sleep_for(sleep_);
    const auto i = static_cast<double>(done_++);
    return {{"score", i + score_}, {"done", done_ == iterations_}};
  }
  bool reset_config(const Config& config) override {
    setup(config);
    return true;
  }

 private:
  std::chrono::duration<double> sleep_{};
  std::int64_t iterations_ = 0;
  std::int64_t done_ = 0;
  double score_ = 0;
};
TUNE_REGISTER_TRAINABLE(Sleeper)

struct Size {
  std::int64_t trials;
  std::int64_t iterations;
  double sleep_seconds;
};

// Ten times shorter: fewer of the short trials, shorter ones of the long.
Size size_of(const Workload& work, double shorter) {
  const double iterations = work.results_per_second * work.trial_seconds;
  if (iterations < 10) {
    return {std::llround(static_cast<double>(work.trials) / shorter), std::llround(iterations),
            1 / work.results_per_second};
  }
  return {work.trials, std::llround(iterations / shorter), 1 / work.results_per_second};
}

double seconds_of_sleep(const Size& size, std::int64_t slots) {
  const std::int64_t rounds = (size.trials + slots - 1) / slots;
  return static_cast<double>(rounds * size.iterations) * size.sleep_seconds;
}

double seconds_of_bare_threads(const Size& size) {
  return seconds_of([&] {
    std::vector<std::thread> threads;
    for (std::int64_t trial = 0; trial < size.trials; ++trial) {
      threads.emplace_back([&] {
        for (std::int64_t i = 0; i < size.iterations; ++i) {
          std::this_thread::sleep_for(std::chrono::duration<double>(size.sleep_seconds));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

double seconds_of_search(const Options& options, const Workload& work, const Size& size) {
  const ScratchDirectory directory(options);
  Experiment experiment = plain_experiment(directory.path());
  experiment.space = {{"score", uniform(0.0, 1.0)},
                      {"sleep_time", constant(size.sleep_seconds)},
                      {"num_iters", constant(size.iterations)}};
  experiment.metric = "score";
  experiment.mode = Mode::max;
  experiment.num_samples = size.trials;
  experiment.scheduler = fifo();
  experiment.local.cpus = static_cast<double>(work.slots);
  if (work.exports) experiment.exporters = all_exporters();
  return seconds_of([&] { (void)tune_run<Sleeper>(experiment); });
}

std::vector<Measurement> measure(const Options& options, const Workload& work, double shorter) {
  const Size size = size_of(work, shorter);
  // Where trials follow each other, the sum of their sleep is known to a hair, and takes minutes.
  const bool follow_each_other = size.trials > work.slots;
  const bool is_published = work.published_seconds > 0;
  return {repeated(options,
                   {.name = std::string("published/") + work.name,
                    .parameters = {{"trials", size.trials},
                                   {"iterations", size.iterations},
                                   {"results_per_second", work.results_per_second},
                                   {"slots", work.slots},
                                   {"exporters", work.exports ? "all" : "none"},
                                   {"isolation", "threads"},
                                   {"shorter", shorter},
                                   {"ray_tune_published_s",
                                    is_published ? Json(work.published_seconds) : Json()}},
                    .unit = "s",
                    .limit_is = follow_each_other ? "the sleep of the trials of a slot"
                                                  : "the same sleeping loop on bare threads"},
                   [&] {
                     return Sample{seconds_of_search(options, work, size),
                                   follow_each_other ? seconds_of_sleep(size, work.slots)
                                                     : seconds_of_bare_threads(size)};
                   })};
}

}  // namespace

std::vector<BenchCase> published_cases(double shorter) {
  std::vector<BenchCase> cases;
  for (const Workload& work : workloads) {
    cases.push_back({std::string("published/") + work.name,
                     std::to_string(work.trials) + " trials that report and sleep",
                     [=](const Options& o) { return measure(o, work, shorter); }});
  }
  return cases;
}

}  // namespace tune::bench
