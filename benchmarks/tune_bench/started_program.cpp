#include "started_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <system_error>

#include "benchmarks/measurement.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

/// One step, which writes down when it began.
class FirstStep final : public Trainable {
 public:
  void setup(const Config& config) override { file_ = config["file"].get<std::string>(); }
  Metrics step() override {
    std::ofstream(file_) << std::chrono::steady_clock::now().time_since_epoch().count();
    return {{"loss", 1.0}};
  }

 private:
  std::string file_;
};
TUNE_REGISTER_TRAINABLE(FirstStep)

void run_trivial(const std::string& directory, const std::string& isolation) {
  Experiment experiment = plain_experiment(directory);
  experiment.space = {{"file", constant(directory + "/" + first_step_file)}};
  experiment.isolation = isolation_of(isolation);
  experiment.stop = {{"training_iteration", 1.0}};
  (void)tune_run<FirstStep>(experiment);
}

void run_search(const std::vector<std::string>& arguments) {
  Experiment experiment = plain_experiment(arguments[1]);
  experiment.num_samples = std::stoll(arguments[2]);
  experiment.stop = {{"training_iteration", std::stod(arguments[3])}};
  experiment.isolation = isolation_of(arguments[4]);
  if (arguments[5] == "all") experiment.exporters = all_exporters();
  const double seconds = seconds_of([&] { (void)tune_run<Counting>(experiment); });
  std::cout << Json{{"seconds", seconds}}.dump() << std::endl;
}

}  // namespace

StartedProgram::StartedProgram(const std::vector<std::string>& arguments) {
  // Also where a build has put another program in its place meanwhile.
  const char* program = "/proc/self/exe";
  std::vector<char*> words{const_cast<char*>(program)};
  for (const std::string& argument : arguments) {
    words.push_back(const_cast<char*>(argument.c_str()));
  }
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = ::posix_spawn(&pid_, program, &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), program);
}

StartedProgram::~StartedProgram() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void StartedProgram::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  if (status != 0) throw std::runtime_error("a program that was started to be measured failed");
}

bool run_if_measured(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == trivial_word) {
    run_trivial(arguments[1], arguments[2]);
    return true;
  }
  if (arguments.size() == 6 && arguments[0] == search_word) {
    run_search(arguments);
    return true;
  }
  return false;
}

}  // namespace tune::bench
