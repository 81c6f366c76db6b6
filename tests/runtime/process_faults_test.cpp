#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "process_experiment.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

/// The descriptor of the socket to the agent.
int agent_socket() {
  int found = -1;
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) found = descriptor;
  }
  return found;
}

// The compiler must not see that it never ends.
int overflow(volatile int* depth) {
  if (*depth == 0) return 0;
  std::array<volatile char, 4096> frame{};
  frame[0] = static_cast<char>(*depth);
  return overflow(depth) + frame[0];
}

[[noreturn]] void hang() {
  while (true) ::pause();
}

void write_garbage(std::string_view bytes) {
  [[maybe_unused]] const auto written = ::write(agent_socket(), bytes.data(), bytes.size());
  hang();
}

void commit(const std::string& fault) {
  if (fault == "exception") throw std::runtime_error("boom");
  if (fault == "segfault") ::raise(SIGSEGV);
  if (fault == "abort") std::abort();
  if (fault == "exit") std::exit(0);
  if (fault == "_Exit") std::_Exit(3);
  if (fault == "oom kill") ::kill(::getpid(), SIGKILL);
  if (fault == "overflow") {
    volatile int depth = 1;
    overflow(&depth);
  }
  if (fault == "hang") hang();
  if (fault == "stop") {
    ::kill(::getpid(), SIGSTOP);
    hang();  // other threads may stop first
  }
  if (fault == "close") ::close(agent_socket());
  if (fault == "garbage") write_garbage("\xff\xff\xff\xff garbage of a stranger");
  if (fault == "no message") write_garbage(std::string("\x02\0\0\0\xff\xff", 6));
  if (fault == "wrong message") write_garbage(std::string("\x01\0\0\0\xa0", 5));
}

/// Commits its fault in step 3 of its first start, and goes on from its checkpoint later.
class Criminal : public Trainable {
 public:
  void setup(const Config& config) override {
    if (context().incarnation == 1) fault_ = config["fault"].get<std::string>();
  }
  Metrics step() override {
    if (++step_ == 3 && !fault_.empty()) {
      std::cerr << "about to commit " << fault_ << std::endl;
      commit(fault_);
    }
    return {{"step", step_}};
  }
  void save_checkpoint(const fs::path& dir) override { std::ofstream(dir / "step") << step_; }
  void load_checkpoint(const fs::path& dir) override { std::ifstream(dir / "step") >> step_; }

 private:
  std::string fault_;
  int step_ = 0;
};

Experiment criminal_experiment(const TemporaryFolder& folder, const std::string& fault) {
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"fault", grid_search({fault, ""})}};
  experiment.stop = {{"training_iteration", 5}};
  experiment.checkpoint.every = 1;
  experiment.step_timeout = std::chrono::seconds(fault == "hang" || fault == "stop" ? 1 : 60);
  return experiment;
}

struct Fault {
  std::string name;
  std::string said;
};

TEST_CASE("FA-01, FA-02: a fault costs its trial one start, and nobody else anything",
          "[FA-01][FA-02]") {
  const Fault fault = GENERATE(values<Fault>({
      {"exception", "step: boom"},
      {"segfault", "was killed by signal 11 (Segmentation fault) after iteration 2"},
      {"abort", "was killed by signal 6 (Aborted) after iteration 2"},
      {"exit", "ended with exit code 0 after iteration 2"},
      {"_Exit", "ended with exit code 3 after iteration 2"},
      {"oom kill", "was killed by signal 9 (Killed) after iteration 2"},
#ifndef __SANITIZE_ADDRESS__  // it makes an exit code of that
      {"overflow", "was killed by signal 11"},
#endif
      {"hang", "made no step within 1 s (step_timeout) and was killed by signal 9"},
      {"stop", "made no step within 1 s (step_timeout)"},
      {"close", "the connection of this worker process to its agent is broken"},
      {"garbage", "sent what is no message"},
      {"no message", "sent what is no message"},
      {"wrong message", "sent what is no message"},
  }));
  CAPTURE(fault.name);
  const TemporaryFolder folder;
  Experiment experiment = criminal_experiment(folder, fault.name);
  SECTION("without retries") {
    const ResultGrid results = tune_run<Criminal>(experiment);
    REQUIRE(results.size() == 2);
    CHECK(results[0].state == TrialState::error);
    CHECK_THAT(results[0].error, Contains(fault.said) && Contains("about to commit " + fault.name));
    CHECK(iterations(results[0]) == counted_to(2));
    CHECK_THAT(read_text(results[0].path / "error.txt"), Contains(fault.said));
    CHECK(results[1].state == TrialState::terminated);
    CHECK(iterations(results[1]) == counted_to(5));
  }
  SECTION("with one") {
    experiment.failure.max_failures = 1;
    const ResultGrid results = tune_run<Criminal>(experiment);
    for (const TrialResult& trial : results) {
      CHECK(trial.state == TrialState::terminated);
      CHECK(iterations(trial) == counted_to(5));
      CHECK(trial.metrics.at("step") == MetricValue(5));
    }
  }
}

/// Where a trial hangs, and whether SIGTERM ends it there.
void hang_deaf_to(const std::string& deaf_to, const TrialContext& context) {
  if (deaf_to == "SIGTERM") ::signal(SIGTERM, SIG_IGN);
  add_line(context.trial_dir / "hangs", "yes");
  hang();
}

/// Trial 0 does not come back from its first step.
class Deaf : public Trainable {
 public:
  void setup(const Config& config) override { deaf_to_ = config["deaf to"].get<std::string>(); }
  Metrics step() override {
    if (context().trial_id == TrialId{0}) hang_deaf_to(deaf_to_, context());
    return {{"x", 1}};
  }

 private:
  std::string deaf_to_;
};

/// Stops trial 0 once it hangs.
class StopsTheDeaf final : public TestScheduler {
 public:
  explicit StopsTheDeaf(fs::path experiment) : experiment_(std::move(experiment)) {}
  Decision on_trial_result(SchedulerContext& context, const Trial& trial, const Result&) override {
    if (trial.id() == TrialId{0}) return Decision::proceed;
    if (count_trials_with("hangs", experiment_) == 0) return Decision::proceed;
    context.stop(TrialId{0});
    return Decision::stop;
  }

 private:
  fs::path experiment_;
};

TEST_CASE("who ignores the stop message gets SIGTERM, and who ignores that, SIGKILL", "[faults]") {
  const std::string deaf_to = GENERATE("the message", "SIGTERM");
  CAPTURE(deaf_to);
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"deaf to", constant(deaf_to)}};
  experiment.num_samples = 2;
  // A grace that would not be kept to would outlast this test.
  experiment.stop_grace = std::chrono::milliseconds(10);
  experiment.kill_grace =
      deaf_to == "SIGTERM" ? std::chrono::duration<double>(0.01) : std::chrono::hours(1);
  experiment.scheduler = std::make_unique<StopsTheDeaf>(folder.path() / "run");
  const ResultGrid results = tune_run<Deaf>(experiment);
  REQUIRE(results.size() == 2);
  // What was decided stays decided: it was stopped, if not gently.
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.reason == "stopped by test");
    CHECK(trial.error.empty());
  }
  CHECK(results[0].training_iteration == 0);
  const std::string signal = deaf_to == "SIGTERM" ? "9 (Killed)" : "15 (Terminated)";
  CHECK_THAT(read_text(results.path() / "driver.log"),
             Contains("did not end within 0.01 s of being told to and was killed by signal " +
                      signal + " before it reported a result"));
}

/// Says that it is done, and does not come out of cleanup().
class HangsInCleanup : public Trainable {
 public:
  Metrics step() override { return {{"x", 1}, {"done", true}}; }
  void cleanup() override { hang(); }
};

TEST_CASE("who goes on after the end is killed, and its slot serves the next", "[faults]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.local = {.cpus = 1};
  experiment.num_samples = 2;
  experiment.stop_grace = std::chrono::milliseconds(10);
  ResultGrid results;
  SECTION("a function that said that it is done") {
    results = tune_run(
        [](const Config&) {
          try {
            track::report({{"x", 1}, {"done", true}});
          } catch (...) {
            hang();
          }
        },
        experiment);
  }
  SECTION("a cleanup that hangs") { results = tune_run<HangsInCleanup>(experiment); }
  REQUIRE(results.size() == 2);
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.reason == "trainable finished");
    CHECK(trial.training_iteration == 1);
  }
  const std::string log = read_text(results.path() / "driver.log");
  const std::string warning =
      "did not end within 0.01 s of saying that it does and was killed by signal 15";
  const std::size_t first = log.find(warning);
  REQUIRE(first != std::string::npos);
  CHECK(log.find(warning, first + 1) != std::string::npos);
}

/// Pauses each trial at its first result.
class PausesAtOnce final : public TestScheduler {
 public:
  Decision on_trial_result(SchedulerContext&, const Trial&, const Result&) override {
    return Decision::pause;
  }
  [[nodiscard]] bool needs_checkpoints() const override { return true; }
};

/// Cannot be paused: it does not come back from its first save.
class HangsInSave : public Criminal {
 public:
  void save_checkpoint(const fs::path& dir) override {
    std::ofstream(dir / "half") << "half";
    hang();
  }
};

TEST_CASE("who does not save in time for a pause is killed, and has failed", "[faults]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"fault", constant("")}};
  experiment.stop_grace = std::chrono::milliseconds(10);
  experiment.scheduler = std::make_unique<PausesAtOnce>();
  const ResultGrid results = tune_run<HangsInSave>(experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::error);
  CHECK(results[0].training_iteration == 1);
  CHECK(results[0].checkpoints.empty());
  const std::string said =
      "did not end within 0.01 s of being told to and was killed by signal 15 (Terminated)";
  CHECK_THAT(results[0].error, Contains(said) && Contains("after iteration 1"));
  CHECK_THAT(read_text(results[0].path / "error.txt"), Contains(said));
  for (const auto& entry : fs::recursive_directory_iterator(results[0].path)) {
    CHECK(entry.path().filename() != "half");
  }
}

TEST_CASE("gigabytes on stdout fill neither memory nor disk", "[faults]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  const ResultGrid results = tune_run(
      [](const Config&) {
        const std::string line(1023, 'x');
        std::printf("first\n");
        for (int i = 0; i < 2'200'000; ++i) std::printf("%s\n", line.c_str());
        std::printf("last\n");
        track::report({{"x", 1}});
      },
      experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::terminated);
  const fs::path path = results[0].path / "stdout";
  CHECK(fs::file_size(path) < 20'000'000);
  const std::string text = read_text(path);
  CHECK(text.starts_with("first\n"));
  CHECK(text.ends_with("last\n"));
  CHECK_THAT(text, Contains("bytes are left out here"));
}

TEST_CASE("FA-02: a time budget ends a search whose step hangs", "[FA-02]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.time_budget = std::chrono::milliseconds(200);
  experiment.stop_grace = std::chrono::milliseconds(10);
  const ResultGrid results = tune_run([](const Config&) { hang(); }, experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state != TrialState::running);
}

/// Its first save is cut off half-way: by an exception or by the process's end.
class TornSaves : public Criminal {
 public:
  void save_checkpoint(const fs::path& dir) override {
    if (context().incarnation == 1 && saves_++ == 2) {
      std::ofstream(dir / "half") << "half";
      if (context().trial_id == TrialId{0}) throw std::runtime_error("no room");
      ::raise(SIGKILL);
    }
    Criminal::save_checkpoint(dir);
  }

 private:
  int saves_ = 0;
};

TEST_CASE("FA-07: a checkpoint that is cut off is none", "[FA-07]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"fault", constant("")}};
  experiment.num_samples = 2;
  experiment.stop = {{"training_iteration", 5}};
  experiment.checkpoint = {.every = 1, .keep = 10};
  experiment.failure.max_failures = 1;
  const ResultGrid results = tune_run<TornSaves>(experiment);
  REQUIRE(results.size() == 2);
  for (const TrialResult& trial : results) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.metrics.at("step") == MetricValue(5));
    CHECK(iterations(trial) == counted_to(5));
    for (const auto& entry : fs::recursive_directory_iterator(trial.path)) {
      CHECK(entry.path().filename() != "half");
    }
  }
}

}  // namespace
}  // namespace tune::test
