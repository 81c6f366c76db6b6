// A whole program: from its start to the first step and to its exit; and a driver that has little
// to do.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cases.hpp"
#include "limits.hpp"
#include "started_program.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Sleeps for so long in each step.
class Sleeping final : public Trainable {
 public:
  void setup(const Config& config) override {
    sleep_ = std::chrono::duration<double>(config["seconds"].get<double>());
  }
  Metrics step() override {
    std::this_thread::sleep_for(sleep_);
    return {{"loss", 1.0}};
  }

 private:
  std::chrono::duration<double> sleep_{};
};
TUNE_REGISTER_TRAINABLE(Sleeping)

double first_step_s(const std::filesystem::path& directory) {
  Clock::rep count = 0;
  std::ifstream(directory / first_step_file) >> count;
  return std::chrono::duration<double>(Clock::duration(count)).count();
}

std::vector<Measurement> trivial_experiment(const Options& options, Isolation isolation) {
  Options in_memory = options;
  if (std::filesystem::is_directory("/dev/shm")) in_memory.directory = "/dev/shm";
  const Json parameters = {{"isolation", text_of(isolation)}};
  const std::string limit_is = "a process that does nothing";
  return repeated(
      in_memory,
      {{.name = "start/first_step", .parameters = parameters, .unit = "ms", .limit_is = limit_is},
       {.name = "start/exit", .parameters = parameters, .unit = "ms", .limit_is = limit_is}},
      [&]() -> std::vector<Sample> {
        const ScratchDirectory directory(in_memory);
        const double begin = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
        const double exit_s = seconds_of([&] {
          StartedProgram({trivial_word, directory.path(), text_of(isolation)}).wait();
        });
        const double limit = 1e3 / raw_processes_per_second(20);
        return {{1e3 * (first_step_s(directory.path()) - begin), limit}, {1e3 * exit_s, limit}};
      });
}

double cpu_of_search(const Options& options, double step_s, double iterations) {
  const ScratchDirectory directory(options);
  Experiment experiment = plain_experiment(directory.path());
  experiment.isolation = Isolation::processes;
  experiment.space = {{"seconds", constant(step_s)}};
  experiment.stop = {{"training_iteration", iterations}};
  const double before = cpu_seconds();
  (void)tune_run<Sleeping>(experiment);
  return cpu_seconds() - before;
}

// Start and end cost something, so they are taken off.
std::vector<Measurement> idle_driver(const Options& options) {
  const double seconds = options.is_quick ? 1 : 5;
  return repeated(options,
                  {{.name = "idle/driver",
                    .parameters = {{"results_per_second", 0}},
                    .unit = "% of a core",
                    .limit_is = {}},
                   {.name = "idle/driver",
                    .parameters = {{"results_per_second", 10}},
                    .unit = "% of a core",
                    .limit_is = {}}},
                  [&]() -> std::vector<Sample> {
                    const double nothing = cpu_of_search(options, 0.01, 1);
                    const auto share = [&](double cpu) { return 100 * (cpu - nothing) / seconds; };
                    return {{.value = share(cpu_of_search(options, seconds, 1))},
                            {.value = share(cpu_of_search(options, 0.1, 10 * seconds))}};
                  });
}

}  // namespace

std::vector<BenchCase> program_cases() {
  std::vector<BenchCase> cases;
  for (const Isolation isolation : {Isolation::threads, Isolation::processes}) {
    cases.push_back({"start/trivial_experiment/" + text_of(isolation),
                     "a program with one trial, from its start to the first step and to its exit",
                     [=](const Options& o) { return trivial_experiment(o, isolation); }});
  }
  cases.push_back({"idle/driver",
                   "the driver's CPU time while a trial reports nothing, or ten times a second",
                   idle_driver});
  return cases;
}

}  // namespace tune::bench
