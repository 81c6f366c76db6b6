#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include <catch2/catch.hpp>

#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "process_experiment.hpp"
#include "support/environment_variable.hpp"
#include "support/fake_gpus.hpp"
#include "support/skip.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

std::set<int> own_cores() {
  cpu_set_t cores;
  std::set<int> found;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return found;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) found.insert(core);
  }
  return found;
}

std::string text(const std::set<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "not set" : value;
}

/// Something that one process at a time may have; until the object goes, or its process.
class Possession {
 public:
  /// @throws std::runtime_error if somebody has it
  explicit Possession(const fs::path& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    ::close(file_);
    throw std::runtime_error(path.filename().string() + " is in use");
  }
  ~Possession() { ::close(file_); }
  Possession(const Possession&) = delete;
  Possession& operator=(const Possession&) = delete;

 private:
  int file_;
};

/// The experiment, without what the one who runs the tests has set for his own programs.
Experiment grant_experiment(const TemporaryFolder& folder) {
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}) {
    ::unsetenv(name);
  }
  return process_experiment(folder);
}

bool has_two_cores() {
  if (own_cores().size() >= 2) return true;
  skip_test("two trials at a time need two cores, and this machine has one");
  return false;
}

/// Tells what its process was given.
class ShowsGrant : public Trainable {
 public:
  Metrics step() override {
    const ResourceAmounts& amounts = context().resources.amounts;
    std::set<int> of_a_thread;
    std::thread([&] { of_a_thread = own_cores(); }).join();
    return {{"cores", text(own_cores())},
            {"thread_cores", text(of_a_thread)},
            {"number_of_cores", static_cast<std::int64_t>(own_cores().size())},
            {"openmp", variable("OMP_NUM_THREADS")},
            {"mkl", variable("MKL_NUM_THREADS")},
            {"devices", variable("CUDA_VISIBLE_DEVICES")},
            {"license", amounts.amount("license")},
            {"done", true}};
  }
};

std::string word(const TrialResult& trial, const std::string& metric) {
  return std::get<std::string>(trial.metrics.at(metric).variant());
}

Metrics shown(Experiment& experiment) {
  const ResultGrid results = tune_run<ShowsGrant>(experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].error.empty());
  return results[0].metrics;
}

TEST_CASE("a trial runs on the cores of its grant, with as many threads", "[grants]") {
  if (!has_two_cores()) return;
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.max_concurrent = 1;
  const auto [cpu, cores, threads] = GENERATE_COPY(
      std::tuple(1.0, 1, "1"), std::tuple(2.0, 2, "2"), std::tuple(0.5, 1, "1"),
      std::tuple(1.5, 2, "1"), std::tuple(0.0, static_cast<int>(own_cores().size()), "1"));
  CAPTURE(cpu);
  experiment.resources = {.cpu = cpu};
  const Metrics metrics = shown(experiment);
  CHECK(metrics.at("number_of_cores") == MetricValue(cores));
  CHECK(metrics.at("thread_cores") == metrics.at("cores"));
  CHECK(metrics.at("openmp") == MetricValue(threads));
  CHECK(metrics.at("mkl") == MetricValue(threads));
}

TEST_CASE("a thread count of the user's own stays", "[grants]") {
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  const EnvironmentVariable threads("OMP_NUM_THREADS", "7");
  CHECK(shown(experiment).at("openmp") == MetricValue("7"));
}

TEST_CASE("nobody is pinned where more is offered than there is", "[grants]") {
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.local = {.cpus = static_cast<double>(own_cores().size() + 1)};
  CHECK(shown(experiment).at("cores") == MetricValue(text(own_cores())));
}

TEST_CASE("devices and custom resources reach the process", "[grants]") {
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.local = {.cpus = 1, .gpus = 2, .custom = {{"license", 2}}};
  SECTION("granted") {
    experiment.resources = {.gpu = 2, .custom = {{"license", 0.25}}};
    const Metrics metrics = shown(experiment);
    CHECK(metrics.at("devices") == MetricValue("0,1"));
    CHECK(metrics.at("license") == MetricValue(250));
  }
  SECTION("not granted") {
    const Metrics metrics = shown(experiment);
    CHECK(metrics.at("devices") == MetricValue(""));
    CHECK(metrics.at("license") == MetricValue(0));
  }
  SECTION("out of those that the program may use itself") {
    experiment.resources.gpu = 1;
    const EnvironmentVariable devices("CUDA_VISIBLE_DEVICES", "5,GPU-abc");
    CHECK(shown(experiment).at("devices") == MetricValue("5"));
  }
}

/// Has its core for itself, from its first step until it ends or dies: by its fault, in the second
/// step of its first start.
class OwnsItsCore : public Trainable {
 public:
  void setup(const Config& config) override {
    folder_ = config["folder"].get<std::string>();
    if (context().incarnation == 1) fault_ = config["fault"].get<std::string>();
  }
  Metrics step() override {
    ++step_;
    if (step_ == 1) core_.emplace(folder_ / ("core " + text(own_cores())));
    if (step_ == 2) commit();
    if (step_ == 3) core_.reset();
    return {{"process", std::to_string(::getpid())}, {"cores", text(own_cores())}};
  }

 private:
  void commit() const {
    if (fault_ == "exception") throw std::runtime_error("boom");
    if (fault_ == "exit") std::exit(0);
    if (fault_ == "segfault") ::raise(SIGSEGV);
    if (fault_ == "kill") ::raise(SIGKILL);
    if (fault_ == "hang") {
      while (true) ::pause();
    }
  }
  fs::path folder_;
  std::string fault_;
  std::optional<Possession> core_;
  int step_ = 0;
};

TEST_CASE("trials at the same time have cores of their own, and equal ones share processes",
          "[grants]") {
  if (!has_two_cores()) return;
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.space = {{"folder", constant(folder.path().string())}, {"fault", constant("")}};
  experiment.num_samples = 100;
  experiment.stop = {{"training_iteration", 3}};
  const ResultGrid results = tune_run<OwnsItsCore>(experiment);
  REQUIRE(results.size() == 100);
  CHECK(results.errors().empty());
  std::map<std::string, std::string> cores;  // of each process
  for (const TrialResult& trial : results) {
    cores[word(trial, "process")] = word(trial, "cores");
    CHECK(cores[word(trial, "process")] == word(trial, "cores"));
  }
  CHECK(cores.size() <= 2);
}

TEST_CASE("cores come back however a trial ends, once its process is gone", "[grants]") {
  if (!has_two_cores()) return;
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.space = {
      {"folder", constant(folder.path().string())},
      {"fault", grid_search({"segfault", "kill", "exit", "", "exception", "hang"})}};
  experiment.num_samples = 2;
  experiment.stop = {{"training_iteration", 3}};
  experiment.failure.max_failures = 1;
  experiment.step_timeout = std::chrono::seconds(5);
  const ResultGrid results = tune_run<OwnsItsCore>(experiment);
  REQUIRE(results.size() == 12);
  for (const TrialResult& trial : results) {
    CHECK(trial.error.empty());
    CHECK(trial.state == TrialState::terminated);
    CHECK(word(trial, "cores").size() == 1);
  }
}

/// Waits until four of them run.
class MeetsThree : public Trainable {
 public:
  void setup(const Config& config) override { folder_ = config["folder"].get<std::string>(); }
  Metrics step() override {
    std::ofstream(folder_ / context().trial_name) << "here";
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::distance(fs::directory_iterator(folder_), {}) < 4) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("nobody came");
      std::this_thread::yield();
    }
    return {{"cores", text(own_cores())}, {"done", true}};
  }

 private:
  fs::path folder_;
};

TEST_CASE("fractions share a core up to all of it", "[grants]") {
  if (!has_two_cores()) return;
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  fs::create_directory(folder.path() / "meeting");
  experiment.space = {{"folder", constant((folder.path() / "meeting").string())}};
  experiment.resources.cpu = 0.5;
  experiment.num_samples = 4;
  std::map<std::string, int> trials;
  for (const TrialResult& trial : tune_run<MeetsThree>(experiment)) {
    REQUIRE(trial.error.empty());
    ++trials[word(trial, "cores")];
  }
  REQUIRE(trials.size() == 2);
  for (const auto& [core, count] : trials) CHECK(count == 2);
}

/// Its process has its device from its first trial to its end.
class KeepsItsDevice : public Trainable {
 public:
  void setup(const Config& config) override {
    static std::optional<Possession> device;
    const fs::path folder(config["folder"].get<std::string>());
    if (!device) device.emplace(folder / ("device " + variable("CUDA_VISIBLE_DEVICES")));
    dies_ = context().incarnation == 1 && config["dies"].get<bool>();
  }
  Metrics step() override {
    if (dies_) ::raise(SIGKILL);
    return {{"x", 1}, {"done", true}};
  }

 private:
  bool dies_ = false;
};

TEST_CASE("RS-03: a device is handed on once the process before is gone", "[RS-03]") {
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.space = {{"folder", constant(folder.path().string())},
                      {"cpu", grid_search({1.0, 2.0, 0.5})},
                      {"dies", grid_search({false, true})}};
  experiment.num_samples = 3;
  experiment.local = {.cpus = 2, .gpus = 1};
  experiment.failure.max_failures = 1;
  experiment.resources.of = [](const Config& config) {
    return Resources{.cpu = config["cpu"].get<double>(), .gpu = 1};
  };
  const ResultGrid results = tune_run<KeepsItsDevice>(experiment);
  REQUIRE(results.size() == 18);
  for (const TrialResult& trial : results) CHECK(trial.error.empty());
}

TEST_CASE("GPUs that are found are granted by their UUIDs", "[grants]") {
  const FakeGpus fake(
      "gpu GPU-a 80000 A\ngpu GPU-b 80000 A\nmig\ninstance MIG-1 10000 A 1g\n"
      "instance MIG-2 10000 A 1g\n");
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.local.cpus = 1;
  SECTION("all that there are") {
    experiment.resources.gpu = 3;
    CHECK(shown(experiment).at("devices") == MetricValue("GPU-a,MIG-1,MIG-2"));
  }
  SECTION("a share of one") {
    experiment.resources.gpu = 0.5;
    CHECK(shown(experiment).at("devices") == MetricValue("GPU-a"));
  }
  SECTION("none for a trial that asks for none") {
    CHECK(shown(experiment).at("devices") == MetricValue(""));
    // What was found at first counts: a GPU may be lost before it is asked for again.
    CHECK(fake.starts() == 1);
  }
  SECTION("more than there are is refused, and what there is is said") {
    experiment.resources.gpu = 4;
    CHECK_THROWS_WITH(tune_run<ShowsGrant>(experiment),
                      Contains("requested 4 gpu, largest node 3 gpu") && Contains("3 GPUs"));
    experiment.resources.gpu = 1;
    experiment.local.gpus = 4;
    CHECK_THROWS_WITH(tune_run<ShowsGrant>(experiment),
                      Contains("local.gpus is 4, but 3 were found") && Contains("gpu 2: A 1g"));
  }
}

/// Its first start dies with memory on its GPU; the second looks whether that was given back.
class LeavesGpuMemory : public Trainable {
 public:
  Metrics step() override {
    const fs::path gpus(std::getenv("FAKE_NVML"));
    if (context().incarnation == 1) {
      const fs::path part = gpus.string() + ".part";
      std::ofstream(part) << "gpu GPU-a 80000 A\nprocess " << ::getpid() << " 70000\n";
      fs::rename(part, gpus);
      ::raise(SIGKILL);
    }
    std::ostringstream text;
    text << std::ifstream(gpus).rdbuf();
    return {{"gpus", text.str()}, {"done", true}};
  }
};

TEST_CASE("RS-03: a GPU is handed on once the memory of the process before is free", "[RS-03]") {
  const FakeGpus fake("gpu GPU-a 80000 A\n");
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.local.cpus = 1;
  experiment.resources.gpu = 1;
  experiment.failure.max_failures = 1;
  std::atomic<bool> is_over = false;
  // The driver of the GPU takes its time: until it was asked twice.
  std::thread driver([&] {
    while (fake.questions() < 2 && !is_over) std::this_thread::yield();
    fake.write("gpu GPU-a 80000 A\nfreed\n");
  });
  const ResultGrid results = tune_run<LeavesGpuMemory>(experiment);
  is_over = true;
  driver.join();
  const TrialResult trial = *results.begin();
  CHECK(trial.error.empty());
  CHECK(trial.metrics.at("gpus") == MetricValue("gpu GPU-a 80000 A\nfreed\n"));
}

TEST_CASE("RS-01, RS-04: a request that cannot be met is refused before anything starts",
          "[RS-01][RS-04]") {
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  SECTION("more than there is") {
    experiment.local = {.cpus = 4, .gpus = 1};
    experiment.resources.cpu = 11;
    CHECK_THROWS_WITH(tune_run<ShowsGrant>(experiment),
                      Contains("requested 11 cpu") && Contains("largest node 4 cpu"));
  }
  SECTION("what nobody has") {
    experiment.resources.custom = {{"license", 1}};
    CHECK_THROWS_WITH(tune_run<ShowsGrant>(experiment), Contains("license"));
  }
  SECTION("more memory than there is") {
    experiment.local.memory = 1ULL << 30U;
    experiment.resources.memory = 2ULL << 30U;
    CHECK_THROWS_WITH(tune_run<ShowsGrant>(experiment),
                      Contains("requested 2 GiB memory") && Contains("1 GiB memory"));
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("RS-04: processes have no more of a custom resource than there is", "[RS-04]") {
  const TemporaryFolder folder;
  Experiment experiment = grant_experiment(folder);
  experiment.space = {{"folder", constant(folder.path().string())}};
  experiment.local = {.cpus = 8, .custom = {{"license", 2}}};
  experiment.resources = {.cpu = 0.5, .custom = {{"license", 1}}};
  experiment.num_samples = 12;
  const ResultGrid results = tune_run(
      [](const Config& config) {
        const fs::path place(config["folder"].get<std::string>());
        std::optional<Possession> license;
        try {
          license.emplace(place / "license 1");
        } catch (const std::runtime_error&) {
          license.emplace(place / "license 2");
        }
        track::report({{"x", 1}});
      },
      experiment);
  CHECK(results.size() == 12);
  CHECK(results.errors().empty());
}

}  // namespace
}  // namespace tune::test
