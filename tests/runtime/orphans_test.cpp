#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/tune_run.hpp>

#include "process_experiment.hpp"
#include "search_of_its_own.hpp"
#include "searching_trainables.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("FA-11: no process outlives a search that ends well", "[FA-11]") {
  const TemporaryFolder folder;
  const SearchMark mark(folder.path());
  Experiment experiment = process_experiment(folder);
  experiment.num_samples = 3;
  experiment.time_budget = std::chrono::milliseconds(300);
  (void)tune_run<HasChildren>(experiment);
  std::vector<pid_t> left = descendants_of_search(folder.path());
  std::erase(left, ::getpid());
  CHECK(left.empty());
}

std::size_t count_entries(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

/// The inodes of this machine's listening TCP sockets.
std::set<std::string> listening_sockets() {
  std::set<std::string> inodes;
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);  // the heading
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
      if (words.size() > 9 && words[3] == "0A") inodes.insert("socket:[" + words[9] + "]");
    }
  }
  return inodes;
}

/// Looks for listening sockets among this process's descriptors while trials run.
class LooksForPorts final : public Callback {
 public:
  [[nodiscard]] std::string name() const override { return "looks for ports"; }
  void on_trial_result(const TrialInfo&, const Result&) override {
    const auto listening = listening_sockets();
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd", error)) {
      if (listening.contains(fs::read_symlink(entry, error).string())) ++found;
    }
    ++looks;
  }
  int found = 0;
  int looks = 0;
};

TEST_CASE("a search opens no port and leaves nothing behind", "[orphans]") {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name) {
    Experiment experiment = process_experiment(folder);
    experiment.name = name;
    experiment.space = {{"x", grid_search({1.0, 2.0, 3.0})}};
    experiment.stop = {{"training_iteration", 2}};
    const auto ports = std::make_shared<LooksForPorts>();
    experiment.callbacks = {ports};
    (void)tune_run<Descent>(experiment);
    CHECK(ports->looks == 6);
    CHECK(ports->found == 0);
  };
  run("first");  // what a library keeps once it was used is not of this run
  const std::size_t threads = count_entries("/proc/self/task");
  const std::size_t descriptors = count_entries("/proc/self/fd");
  const std::size_t shared_memory = fs::exists("/dev/shm") ? count_entries("/dev/shm") : 0;
  run("second");
  // A thread that was joined is listed a moment longer.
  CHECK(wait_until([&] { return count_entries("/proc/self/task") <= threads; }));
  CHECK(count_entries("/proc/self/fd") == descriptors);
  CHECK((fs::exists("/dev/shm") ? count_entries("/dev/shm") : 0) == shared_memory);
  CHECK(count_entries(folder.path()) == 2);  // the two directories
}

TEST_CASE("FA-11: no process outlives a search that is killed", "[FA-11]") {
  // By the moment at which it comes: at once, or once trials run.
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    const TemporaryFolder folder;
    {
      const SearchOfItsOwn search(SearchKind::has_children, folder.path());
      if (round % 2 == 0) search.wait_for_trials(2);
      search.kill(SIGKILL);
    }
    REQUIRE(wait_until([&] { return descendants_of_search(folder.path()).empty(); }));
  }
}

}  // namespace
}  // namespace tune::test
