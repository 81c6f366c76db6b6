#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/track.hpp>
#include <tune/tune_run.hpp>

#include "process_experiment.hpp"
#include "search_of_its_own.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

constexpr char search_argument[] = "--search";
constexpr char marker[] = "TUNE_TEST_SEARCH";  // in the environment of a search and its descendants

/// Waits for a condition, within a generous time. False if it never came.
template <class Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Has a child in its own process group, and one that has left group and session and ignores
/// SIGTERM and SIGHUP.
class HasChildren : public Trainable {
 public:
  void setup(const Config&) override {
    start_sleeper();
    if (::fork() == 0) {
      ::setsid();
      ::signal(SIGTERM, SIG_IGN);
      ::signal(SIGHUP, SIG_IGN);
      start_sleeper();
      ::_exit(0);
    }
    while (::wait(nullptr) < 0) {
    }
  }
  Metrics step() override {
    if (!is_told_) std::ofstream(context().trial_dir / "runs") << "yes";
    is_told_ = true;
    while (!context().should_stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {{"x", 1}};
  }

 private:
  static void start_sleeper() {
    if (::fork() == 0) {
      ::execl("/bin/sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    }
  }
  bool is_told_ = false;
};

bool is_zombie(const fs::path& process) {
  std::ifstream stream(process / "stat");
  std::string text;
  std::getline(stream, text);
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() || text[end + 2] == 'Z';
}

TEST_CASE("no process outlives a search that ends well", "[orphans]") {
  const TemporaryFolder folder;
  ::setenv(marker, folder.path().c_str(), 1);
  Experiment experiment = process_experiment(folder);
  experiment.num_samples = 3;
  experiment.time_budget = std::chrono::milliseconds(300);
  (void)tune_run<HasChildren>(experiment);
  std::vector<pid_t> left = descendants_of_search(folder.path());
  std::erase(left, ::getpid());
  ::unsetenv(marker);
  CHECK(left.empty());
}

TEST_CASE("no process outlives a search that is killed", "[orphans]") {
  // By the moment at which it comes: at once, or once trials run.
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const TemporaryFolder folder;
    {
      const SearchOfItsOwn search(folder.path());
      if (round % 2 == 0) search.wait_for_trials(2);
      search.kill(SIGKILL);
    }
    REQUIRE(wait_until([&] { return descendants_of_search(folder.path()).empty(); }));
  }
}

}  // namespace

std::optional<int> serve_as_search(int argc, char** argv) {
  if (argc != 3 || argv[1] != std::string(search_argument)) return std::nullopt;
  Experiment experiment;
  experiment.name = "run";
  experiment.storage_path = argv[2];
  experiment.local = {.cpus = 2};
  experiment.num_samples = 2;
  experiment.exporters = {};
  experiment.isolation = Isolation::processes;
  (void)tune_run<HasChildren>(experiment);
  return 0;
}

SearchOfItsOwn::SearchOfItsOwn(const fs::path& storage) : storage_(storage) {
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::setenv(marker, storage_.c_str(), 1);
  ::execl("/proc/self/exe", "search", search_argument, storage_.c_str(), nullptr);
  ::_exit(127);
}

SearchOfItsOwn::~SearchOfItsOwn() {
  kill(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void SearchOfItsOwn::wait_for_trials(int count) const {
  const auto running = [&] {
    int found = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(storage_ / "run", error)) {
      if (fs::exists(entry.path() / "runs")) ++found;
    }
    return found;
  };
  REQUIRE(wait_until([&] { return running() >= count; }));
}

void SearchOfItsOwn::kill(int signal) const { ::kill(pid_, signal); }

std::vector<pid_t> descendants_of_search(const fs::path& storage) {
  std::vector<pid_t> found;
  const std::string wanted = std::string(marker) + "=" + storage.string();
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(process.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream environment(process.path() / "environ", std::ios::binary);
    for (std::string entry; std::getline(environment, entry, '\0');) {
      if (entry == wanted && !is_zombie(process.path())) found.push_back(pid);
    }
  }
  return found;
}

}  // namespace tune::test
