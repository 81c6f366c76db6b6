// A program that uses track outside an experiment, for the tests that kill it, let it end in odd
// ways, and run several at once: track_program <home> <what> [<argument>].
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include <tune/track.hpp>

namespace {

namespace fs = std::filesystem;
namespace track = tune::track;

/// Reports and saves one iteration, and says so when it has been recorded.
void report_and_tell(int i) {
  track::report({{"i", i}, {"text", std::string(200, 'x')}},
                [i](const fs::path& dir) { std::ofstream(dir / "state") << i << '\n'; });
  std::cout << i << std::endl;
}

void report_until(int last) {
  for (int i = 1; i <= last; ++i) track::report({{"i", i}});
}

[[noreturn]] void report_for_ever() {
  for (int i = 1;; ++i) report_and_tell(i);
}

/// Reports as the program's own objects are destroyed.
struct LateReporter {
  bool is_on = false;
  ~LateReporter() {
    if (is_on) track::report({{"i", 2}});
  }
} late_reporter;

void report_late() {
  report_until(1);
  late_reporter.is_on = true;
}

void report_from_a_thread_that_nobody_joins() {
  report_until(1);
  std::thread([] {
    while (true) track::report({{"i", 2}});
  }).detach();
}

void exit_in_writer() {
  track::report({{"i", 1}}, [](const fs::path&) { std::exit(0); });
}

void attempt(const std::function<void()>& call) {
  try {
    call();
    std::cout << "nothing was refused" << std::endl;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
  }
}

/// The child may not report into the run of its parent, but into one of its own.
void fork_and_report() {
  report_until(1);
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    attempt([] { track::report({{"i", 2}}); });
    track::init({.name = "child"});
    report_until(1);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  // How the parent's run ended, if the child's end had anything to do with it.
  std::cout << (fs::exists(track::context().trial_dir) ? "parent goes on"
                                                       : "parent has lost its run")
            << std::endl;
  track::report({{"i", 2}});
  ::_exit(status);  // without an end in the files: any that is there is the child's
}

void report_twice_where_nothing_can_be_written() {
  for (int i = 0; i < 2; ++i) attempt([] { track::report({{"i", 1}}); });
}

/// Files may not grow beyond a size that some reports reach.
void fill_the_disk() {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1 << 20, 1 << 20};  // the journal's tables alone are not so large
  ::setrlimit(RLIMIT_FSIZE, &limit);
  int i = 0;
  try {
    while (i < 1000) track::report({{"i", ++i}});
  } catch (const std::runtime_error&) {
    std::cout << i << std::endl;
  }
  attempt([] { track::report({{"i", 0}}); });
  attempt([] { track::finish(); });
}

/// Goes on with the run "named" for ever, or until `last`; says where it begins and each iteration.
void go_on(const std::string& last) {
  track::init({.name = "named"});
  int done = 0;
  if (const auto from = track::checkpoint()) std::ifstream(*from / "state") >> done;
  std::cout << "after " << done << std::endl;
  while (last.empty() || done < std::stoi(last)) report_and_tell(++done);
}

/// The same without checkpoints: what it has saved says how far it is.
void go_on_from_saves(const std::string& last) {
  track::init({.name = "named"});
  const auto saved = track::load("state");
  int done = saved ? saved->value.at("done").get<int>() : 0;
  if (saved && saved->index != done) std::abort();
  track::restore(done);
  std::cout << "after " << done << std::endl;
  while (last.empty() || done < std::stoi(last)) {
    track::report({{"i", ++done}});
    track::save("state", {{"done", done}},
                [&](const fs::path& dir) { std::ofstream(dir / "state") << done; });
    std::cout << done << std::endl;
  }
}

/// Its child still runs when it is killed.
void fork_and_wait() {
  track::init({.name = "named"});
  report_until(1);
  if (::fork() == 0) {
    std::string ignored;
    std::getline(std::cin, ignored);
    ::_exit(0);
  }
  std::cout << "forked" << std::endl;
  ::pause();
}

void take_the_name(const std::string& name) {
  // All programs try as soon as their standard input is closed.
  std::string ignored;
  std::getline(std::cin, ignored);
  try {
    track::init({.name = name});
  } catch (const std::invalid_argument& error) {
    std::cout << error.what() << std::endl;
    return;
  }
  report_until(3);
  std::cout << "mine" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  ::setenv("HOME", argv[1], 1);
  ::unsetenv("TUNE_STORAGE_PATH");
  const std::string argument = argc > 3 ? argv[3] : "";
  const std::map<std::string, std::function<void()>> programs = {
      {"report", [] { report_until(3); }},
      {"report_elsewhere",
       [&] {
         ::setenv("TUNE_STORAGE_PATH", argument.c_str(), 1);
         report_until(3);
       }},
      {"report_for_ever", report_for_ever},
      {"exit",
       [] {
         report_until(3);
         std::exit(7);
       }},
      {"report_late", report_late},
      {"detach", report_from_a_thread_that_nobody_joins},
      {"exit_in_writer", exit_in_writer},
      {"fork", fork_and_report},
      {"report_nowhere", report_twice_where_nothing_can_be_written},
      {"fill_the_disk", fill_the_disk},
      {"go_on", [&] { go_on(argument); }},
      {"go_on_from_saves", [&] { go_on_from_saves(argument); }},
      {"fork_and_wait", fork_and_wait},
      {"take_the_name", [&] { take_the_name(argument); }},
      {"fail",
       [] {
         report_until(3);
         throw std::runtime_error("out of cheese");
       }},
  };
  programs.at(argv[2])();
  return 0;
}
