#include "search_of_its_own.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <catch2/catch.hpp>

#include <tune/tune_run.hpp>

#include "run_support.hpp"
#include "searching_trainables.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

constexpr char search_argument[] = "--search";
constexpr char marker[] = "TUNE_TEST_SEARCH";  // in the environment of a search and its descendants

bool is_zombie(const fs::path& process) {
  std::ifstream stream(process / "stat");
  std::string text;
  std::getline(stream, text);
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() || text[end + 2] == 'Z';
}

fs::path error_file(const fs::path& storage) { return storage / "stderr"; }

}  // namespace

std::optional<int> serve_as_search(int argc, char** argv) {
  if (argc != 4 || argv[1] != std::string(search_argument)) return std::nullopt;
  const auto kind = static_cast<SearchKind>(std::atoi(argv[2]));
  Experiment experiment;
  experiment.name = "run";
  experiment.storage_path = argv[3];
  experiment.local = {.cpus = 2};
  experiment.num_samples = 6;
  experiment.exporters = {};
  experiment.exit_on_signal = kind != SearchKind::returns;
  if (kind == SearchKind::has_children) {
    (void)tune_run<HasChildren>(experiment);
    return 0;
  }
  experiment.space = {{"save", constant(kind == SearchKind::saves_slowly ? "slowly" : "")}};
  return tune_run<Counts>(experiment).interrupted() ? 5 : 0;
}

SearchOfItsOwn::SearchOfItsOwn(SearchKind kind, const fs::path& storage) : storage_(storage) {
  const std::string number = std::to_string(static_cast<int>(kind));
  pid_ = ::fork();
  if (pid_ != 0) return;
  ::setenv(marker, storage_.c_str(), 1);
  const int errors = ::open(error_file(storage_).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::dup2(errors, STDERR_FILENO);
  ::execl("/proc/self/exe", "search", search_argument, number.c_str(), storage_.c_str(), nullptr);
  ::_exit(127);
}

SearchOfItsOwn::~SearchOfItsOwn() {
  if (pid_ == 0) return;
  kill(SIGKILL);
  (void)wait();
}

void SearchOfItsOwn::wait_for_trials(int count, const std::string& name) const {
  REQUIRE(wait_until([&] { return count_trials_with(name, storage_ / "run") >= count; }));
}

void SearchOfItsOwn::kill(int signal) const { ::kill(pid_, signal); }

int SearchOfItsOwn::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return status;
}

std::string SearchOfItsOwn::errors() const {
  std::ifstream file(error_file(storage_));
  return {std::istreambuf_iterator<char>(file), {}};
}

SearchMark::SearchMark(const fs::path& storage) { ::setenv(marker, storage.c_str(), 1); }
SearchMark::~SearchMark() { ::unsetenv(marker); }

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
