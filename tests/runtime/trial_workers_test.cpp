#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/tune.hpp>

#include "process_experiment.hpp"
#include "search_of_its_own.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

// --- what workers do

Json tells_itself(TrialWorker& worker, const Json&) {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  const char* devices = std::getenv("CUDA_VISIBLE_DEVICES");
  std::cout << "this is worker " << worker.rank() << '\n';
  return {{"pid", ::getpid()},
          {"cpu", worker.resources().cpu()},
          {"gpu_ids", worker.resources().gpu_ids},
          {"threads", threads == nullptr ? "" : threads},
          {"devices", devices == nullptr ? "" : devices}};
}
TUNE_REGISTER_WORKER_FUNCTION(tells_itself);

// A step of data-parallel gradient descent on (x - mean of 0, 1, 2, ...)^2.
Json descends(TrialWorker& worker, const Json& argument) {
  if (!worker.state().has_value()) worker.state() = 10.0;
  double& x = std::any_cast<double&>(worker.state());
  for (int i = 0; i < argument.get<int>(); ++i) {
    const double gradient = 2 * (x - static_cast<double>(worker.rank()));
    x -= 0.25 * worker.all_reduce({gradient}, Reduction::mean).at(0);
  }
  worker.barrier();
  return x;
}
TUNE_REGISTER_WORKER_FUNCTION(descends);

// One worker meets with its end while the others wait for it.
Json ends_badly(TrialWorker& worker, const Json& how) {
  if (worker.rank() == 1) {
    if (how == "throws") throw std::runtime_error("no data");
    if (how == "aborts") std::abort();
    if (how == "is killed") ::raise(SIGKILL);
    if (how == "exits") std::_Exit(3);
  }
  return worker.all_reduce({1});
}
TUNE_REGISTER_WORKER_FUNCTION(ends_badly);

Json spins(TrialWorker& worker, const Json& marks) {
  std::ofstream(marks.get<std::string>() + "/" + std::to_string(worker.rank())) << ::getpid();
  while (true) ::pause();
}
TUNE_REGISTER_WORKER_FUNCTION(spins);

Json answers_long(TrialWorker&, const Json& size) {
  return std::string(size.get<std::size_t>(), 'x');
}
TUNE_REGISTER_WORKER_FUNCTION(answers_long);

// --- trials with workers

class Descends : public Trainable {
 public:
  Metrics step() override {
    const std::vector<Json> answers = context().workers().run("descends", 3);
    for (const Json& answer : answers) {
      if (answer != answers.front()) throw std::logic_error("they differ");
    }
    return {{"loss", answers.front().get<double>()},
            {"workers", static_cast<std::int64_t>(answers.size())}};
  }
};

class TellsWorkers : public Trainable {
 public:
  Metrics step() override {
    Metrics metrics{
        {"loss", 0.0}, {"done", true}, {"own_pid", static_cast<std::int64_t>(::getpid())}};
    int rank = 0;
    for (const Json& answer : context().workers().run("tells_itself")) {
      metrics.set("worker_" + std::to_string(rank++), answer.dump());
    }
    return metrics;
  }
};

class EndsBadly : public Trainable {
 public:
  void setup(const Config& config) override { how_ = config["how"].get<std::string>(); }
  Metrics step() override {
    context().workers().run("ends_badly", how_);
    return {{"loss", 0.0}, {"done", true}};
  }

 private:
  std::string how_;
};

Experiment with_workers(const TemporaryFolder& folder, Isolation isolation, std::size_t workers) {
  Experiment experiment = process_experiment(folder);
  experiment.isolation = isolation;
  experiment.local.cpus = 4;
  experiment.resources = {.cpu = 0.5, .workers = std::vector<Bundle>(workers, {.cpu = 0.5})};
  return experiment;
}

TEST_CASE("workers train together, and keep their state from call to call", "[workers]") {
  const Isolation isolation = GENERATE(Isolation::threads, Isolation::processes);
  const TemporaryFolder folder;
  Experiment experiment = with_workers(folder, isolation, 3);
  experiment.stop = {{"training_iteration", 2}};
  const ResultGrid results = tune_run<Descends>(experiment);
  REQUIRE(results.size() == 1);
  INFO(results[0].error);
  REQUIRE(results[0].state == TrialState::terminated);
  // 10 -> 5.5 -> 3.25 -> ...: each step halves the way to 1, the mean of 0, 1 and 2.
  CHECK(results[0].metrics.at("loss").as_double() == Approx(1 + 9.0 / 64));
  CHECK(results[0].metrics.at("workers").as_double() == 3);
}

TEST_CASE("many gangs on few cores all get their turn", "[workers]") {
  const Isolation isolation = GENERATE(Isolation::threads, Isolation::processes);
  const TemporaryFolder folder;
  Experiment experiment = with_workers(folder, isolation, 3);
  experiment.local.cpus = 4;
  experiment.num_samples = 12;  // two at a time
  experiment.stop = {{"training_iteration", 2}};
  const ResultGrid results = tune_run<Descends>(experiment);
  REQUIRE(results.size() == 12);
  for (const TrialResult& trial : results) {
    INFO(trial.error);
    CHECK(trial.state == TrialState::terminated);
  }
}

TEST_CASE("each worker is a process with its bundle's environment", "[workers]") {
  for (const char* name : {"OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}) ::unsetenv(name);
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  experiment.local = {.cpus = 8, .gpus = 3};
  experiment.resources = {.cpu = 1, .workers = {{.cpu = 2, .gpu = 1}, {.cpu = 3, .gpu = 2}}};
  const ResultGrid results = tune_run<TellsWorkers>(experiment);
  REQUIRE(results.size() == 1);
  INFO(results[0].error);
  const Metrics& metrics = results[0].metrics;
  const auto worker = [&](int rank) {
    return Json::parse(
        std::get<std::string>(metrics.at("worker_" + std::to_string(rank)).variant()));
  };
  const std::set<std::int64_t> pids{static_cast<std::int64_t>(metrics.at("own_pid").as_double()),
                                    worker(0)["pid"], worker(1)["pid"]};
  CHECK(pids.size() == 3);
  CHECK_FALSE(pids.contains(::getpid()));
  CHECK(worker(0)["threads"] == "2");
  CHECK(worker(1)["threads"] == "3");
  CHECK(worker(0)["cpu"] == 2);
  // Each sees its own devices, and together they have all three.
  std::set<int> devices;
  for (const int rank : {0, 1}) {
    const std::vector<int> ids = worker(rank)["gpu_ids"];
    CHECK(std::ssize(ids) == rank + 1);
    devices.insert(ids.begin(), ids.end());
    std::string list;
    for (const int id : ids) list += (list.empty() ? "" : ",") + std::to_string(id);
    CHECK(worker(rank)["devices"] == list);
  }
  CHECK(devices.size() == 3);
  for (const char* rank : {"0", "1"}) {
    std::ifstream out(fs::path(results[0].path) / "workers" / rank / "stdout");
    std::string line;
    std::getline(out, line);
    CHECK(line == std::string("this is worker ") + rank);
  }
}

TEST_CASE("a worker that throws or dies fails its trial by name, and hangs nobody", "[workers]") {
  struct Fault {
    const char* how;
    const char* text;
    bool is_death;
  };
  const Fault fault =
      GENERATE(Fault{"throws", "worker 1: ends_badly: no data", false},
               Fault{"aborts", "worker 1 died: the worker process", true},
               Fault{"is killed", "killed by signal 9", true}, Fault{"exits", "exit code 3", true});
  const Isolation isolation =
      fault.is_death ? Isolation::processes : GENERATE(Isolation::threads, Isolation::processes);
  const TemporaryFolder folder;
  Experiment experiment = with_workers(folder, isolation, 3);
  experiment.space = {{"how", choice({fault.how})}};
  experiment.failure.max_failures = 1;
  const ResultGrid results = tune_run<EndsBadly>(experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Contains(fault.text) && Contains("worker 1"));
}

TEST_CASE("a trial without workers has none to call", "[workers]") {
  const TemporaryFolder folder;
  Experiment experiment = process_experiment(folder);
  const ResultGrid results = tune_run<Descends>(experiment);
  REQUIRE(results.size() == 1);
  CHECK_THAT(results[0].error, Contains("has no parallel workers"));
}

/// Is killed while its workers work.
class IsKilled : public Trainable {
 public:
  void setup(const Config& config) override { marks_ = config["marks"].get<std::string>(); }
  Metrics step() override {
    std::thread([marks = marks_] {
      while (!fs::exists(marks + "/0") || !fs::exists(marks + "/1")) std::this_thread::yield();
      ::raise(SIGKILL);
    }).detach();
    context().workers().run("spins", marks_);
    return {};
  }

 private:
  std::string marks_;
};

TEST_CASE("workers die with their trial", "[workers]") {
  const TemporaryFolder folder;
  const TemporaryFolder marks;
  const SearchMark mark(folder.path());
  Experiment experiment = with_workers(folder, Isolation::processes, 2);
  experiment.space = {{"marks", choice({marks.path().string()})}};
  experiment.stop_grace = std::chrono::hours(1);  // they are not waited for
  const ResultGrid results = tune_run<IsKilled>(experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Contains("killed by signal 9"));
  std::vector<pid_t> left = descendants_of_search(folder.path());
  std::erase(left, ::getpid());
  CHECK(left.empty());
}

/// Waits for workers that never end.
class Hangs : public Trainable {
 public:
  void setup(const Config& config) override { marks_ = config["marks"].get<std::string>(); }
  Metrics step() override {
    context().workers().run("spins", marks_);
    return {};
  }

 private:
  std::string marks_;
};

TEST_CASE("a call of workers that hangs ends with its trial's step_timeout", "[workers]") {
  const TemporaryFolder folder;
  const TemporaryFolder marks;
  const SearchMark mark(folder.path());
  Experiment experiment = with_workers(folder, Isolation::processes, 2);
  experiment.space = {{"marks", choice({marks.path().string()})}};
  experiment.step_timeout = std::chrono::milliseconds(400);
  experiment.stop_grace = std::chrono::hours(1);
  const ResultGrid results = tune_run<Hangs>(experiment);
  REQUIRE(results.size() == 1);
  CHECK_THAT(results[0].error, Contains("made no step within 0.4 s"));
  std::vector<pid_t> left = descendants_of_search(folder.path());
  std::erase(left, ::getpid());
  CHECK(left.empty());
}

void trains_with_workers(const Config&) {
  for (int i = 0; i < 2; ++i) {
    const std::vector<Json> answers = track::context().workers().run("descends", 1);
    track::report({{"loss", answers.at(1).get<double>()}});
  }
}
TUNE_REGISTER_FUNCTION(trains_with_workers);

TEST_CASE("a train function has workers too", "[workers]") {
  const Isolation isolation = GENERATE(Isolation::threads, Isolation::processes);
  const TemporaryFolder folder;
  Experiment experiment = with_workers(folder, isolation, 3);
  const ResultGrid results = tune_run("trains_with_workers", experiment);
  REQUIRE(results.size() == 1);
  INFO(results[0].error);
  CHECK(results[0].metrics.at("loss").as_double() == Approx(1 + 9.0 / 4));
}

Json tries_to_report(TrialWorker& worker, const Json&) {
  try {
    track::report({{"loss", static_cast<double>(worker.rank())}});
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "it was taken";
}
TUNE_REGISTER_WORKER_FUNCTION(tries_to_report);

class ReportsAlone : public Trainable {
 public:
  Metrics step() override {
    bool is_alone = true;
    for (const Json& answer : context().workers().run("tries_to_report")) {
      const auto text = answer.get<std::string>();
      is_alone = is_alone && text.find("belongs to no trial") != std::string::npos;
    }
    return {{"loss", 7.0}, {"is_alone", is_alone}};
  }
};

TEST_CASE("RA-01: a trial reports, and none of its workers", "[RA-01][workers]") {
  const Isolation isolation = GENERATE(Isolation::threads, Isolation::processes);
  const TemporaryFolder folder;
  Experiment experiment = with_workers(folder, isolation, 4);
  experiment.stop = {{"training_iteration", 5}};
  const ResultGrid results = tune_run<ReportsAlone>(experiment);
  REQUIRE(results.size() == 1);
  INFO(results[0].error);
  CHECK(iterations(results[0]) == counted_to(5));
  for (const Result& result : results[0].history()) {
    CHECK(result.metrics.at("loss") == MetricValue(7.0));
    CHECK(result.metrics.at("is_alone") == MetricValue(true));
  }
}

class AsksLong : public Trainable {
 public:
  Metrics step() override {
    const std::size_t size = 70U << 20U;
    try {
      context().workers().run("answers_long", size);
    } catch (const TrialWorkerError& error) {
      return {{"loss", 0.0}, {"text", error.what()}, {"done", true}};
    }
    throw std::logic_error("it came through");
  }
};

TEST_CASE("an answer that is too long is an error of the call", "[workers]") {
  const TemporaryFolder folder;
  Experiment experiment = with_workers(folder, Isolation::processes, 1);
  const ResultGrid results = tune_run<AsksLong>(experiment);
  REQUIRE(results.size() == 1);
  INFO(results[0].error);
  CHECK_THAT(std::get<std::string>(results[0].metrics.at("text").variant()),
             Contains("worker 0: answers_long: its answer is too long"));
}

}  // namespace
}  // namespace tune::test
