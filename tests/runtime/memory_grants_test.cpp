#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/tune_run.hpp>

#include "process_experiment.hpp"
#include "support/skip.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

constexpr std::uint64_t grant_bytes = 256ULL << 20U;
constexpr char exceeded[] = "exceeded its grant of 256 MiB memory: ";

/// Takes and uses so much memory.
void take(std::size_t mebibytes) {
  std::vector<std::unique_ptr<char[]>> taken;
  for (std::size_t i = 0; i < mebibytes; ++i) {
    taken.push_back(std::make_unique<char[]>(1U << 20U));
    std::memset(taken.back().get(), 1, 1U << 20U);
  }
}

/// The control group that limits this process's memory; empty if none of ours does.
std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::string name = fs::path(line).filename();
    if (name.starts_with("tune_")) return name;
  }
  return "";
}

bool exists_group(const std::string& name) {
  const auto options = fs::directory_options::skip_permission_denied;
  std::error_code error;
  for (fs::recursive_directory_iterator entry("/sys/fs/cgroup", options, error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->is_directory(error) && entry->path().filename() == name) return true;
  }
  return false;
}

/// Takes memory as its configuration says. Before it, one who takes much says so in the folder;
/// one who takes little waits for that one's second start.
class Takes : public Trainable {
 public:
  void setup(const Config& config) override {
    folder_ = config["folder"].get<std::string>();
    mebibytes_ = config["mebibytes"].get<std::size_t>();
  }
  Metrics step() override {
    if (mebibytes_ > 256) {
      std::ofstream(folder_ / ("start " + std::to_string(context().incarnation))) << "now";
    } else if (!wait_until([&] { return fs::exists(folder_ / "start 2"); })) {
      throw std::runtime_error("the other never came back");
    }
    take(mebibytes_);
    return {{"group", own_group()}, {"done", true}};
  }

 private:
  fs::path folder_;
  std::size_t mebibytes_ = 0;
};

Experiment memory_experiment(const TemporaryFolder& folder) {
  fs::permissions(folder.path(), fs::perms::all);
  Experiment experiment = process_experiment(folder);
  experiment.space = {{"folder", constant(folder.path().string())},
                      {"mebibytes", grid_search({2000, 32})}};
  experiment.resources = {.cpu = 0.5, .memory = grant_bytes};
  experiment.failure.max_failures = 1;
  return experiment;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("who exceeds its memory is killed, at each start, and its neighbour is not", "[grants]") {
  const TemporaryFolder folder;
  Experiment experiment = memory_experiment(folder);
  const ResultGrid results = tune_run<Takes>(experiment);
  REQUIRE(results.size() == 2);
  CHECK(results[0].state == TrialState::error);
  CHECK_THAT(results[0].error, Contains(exceeded) && !Contains("connection"));
  CHECK_THAT(read_text(results[0].path / "error.txt"), Contains(exceeded));
  CHECK(fs::exists(folder.path() / "start 2"));
  CHECK_FALSE(fs::exists(folder.path() / "start 3"));
  CHECK(results[1].state == TrialState::terminated);
  CHECK(count(read_text(results.path() / "driver.log"), "event=note") == 1);
  CHECK_THAT(read_text(results.path() / "driver.log"), Contains("memory limit by "));
}

TEST_CASE("no control group outlives its search", "[grants]") {
  const TemporaryFolder folder;
  Experiment experiment = memory_experiment(folder);
  const ResultGrid results = tune_run<Takes>(experiment);
  REQUIRE(results.size() == 2);
  const auto group = std::get<std::string>(results[1].metrics.at("group").variant());
  if (group.empty()) return skip_test("there can be no control groups here");
  CHECK_FALSE(exists_group(group));
}

TEST_CASE("a trial without a grant of memory has no limit", "[grants]") {
  const TemporaryFolder folder;
  Experiment experiment = memory_experiment(folder);
  experiment.space = {{"folder", constant(folder.path().string())}, {"mebibytes", constant(300)}};
  experiment.resources.memory = 0;
  const ResultGrid results = tune_run<Takes>(experiment);
  REQUIRE(results.size() == 1);
  CHECK(results[0].error.empty());
  CHECK(results[0].metrics.at("group") == MetricValue(""));
  CHECK(count(read_text(results.path() / "driver.log"), "event=note") == 0);
}

/// Does `body` in a child process, which ends with 1 if that throws.
template <class Body>
pid_t fork_to(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    ::_exit(1);
  }
  ::_exit(0);
}

int exit_code_of(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// Gives up the rights of root. False if this program may not be started without them.
bool become_nobody() {
  constexpr uid_t nobody = 65534;
  if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) return false;
  ::prctl(PR_SET_DUMPABLE, 1);  // so that it may look at itself in /proc
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return !error && ::access(program.c_str(), X_OK) == 0;
}

TEST_CASE("where there can be no control groups, memory is refused", "[grants]") {
#ifdef __SANITIZE_ADDRESS__
  return skip_test("the address sanitizer needs more memory than that");
#endif
  if (::getuid() != 0) return skip_test("only root can lose control groups; others have none");
  const TemporaryFolder folder;
  Experiment experiment = memory_experiment(folder);
  experiment.space = {{"folder", constant(folder.path().string())}, {"mebibytes", constant(2000)}};
  const pid_t child = fork_to([&] {
    if (!become_nobody()) ::_exit(skipped_exit_code);
    const ResultGrid results = tune_run<Takes>(experiment);
    std::ofstream(folder.path() / "error") << results[0].error;
    std::ofstream(folder.path() / "log") << read_text(results.path() / "driver.log");
  });
  const int code = exit_code_of(child);
  if (code == skipped_exit_code) return skip_test("this program is not for everybody");
  REQUIRE(code == 0);
  CHECK_THAT(read_text(folder.path() / "error"), Contains(exceeded) && Contains("bad_alloc"));
  CHECK_THAT(read_text(folder.path() / "log"), Contains("memory limit by RLIMIT_DATA"));
}

/// Says in which control group it is, and never ends.
class Stays : public Trainable {
 public:
  void setup(const Config& config) override {
    const fs::path folder(config["folder"].get<std::string>());
    std::ofstream(folder / "unfinished") << own_group() << std::endl;
    fs::rename(folder / "unfinished", folder / "group");
  }
  Metrics step() override {
    while (true) ::pause();
  }
};

TEST_CASE("no control group outlives a search that is killed", "[grants]") {
  const TemporaryFolder folder;
  Experiment experiment = memory_experiment(folder);
  experiment.space = {{"folder", constant(folder.path().string())}};
  const pid_t search = fork_to([&] { (void)tune_run<Stays>(experiment); });
  const bool has_begun = wait_until([&] { return fs::exists(folder.path() / "group"); });
  ::kill(search, SIGKILL);
  CHECK(exit_code_of(search) == -1);
  REQUIRE(has_begun);
  std::string group;
  std::ifstream(folder.path() / "group") >> group;
  if (group.empty()) return skip_test("there can be no control groups here");
  CHECK(wait_until([&] { return !exists_group(group); }));
}

}  // namespace
}  // namespace tune::test
