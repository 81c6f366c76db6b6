#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <tune/trainable.hpp>

namespace tune::test {

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

/// Counts its steps, and tells once it has made three. Its save may never end.
class Counts : public Trainable {
 public:
  void setup(const Config& config) override {
    saves_slowly_ = config["save"].get<std::string>() == "slowly";
  }
  Metrics step() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (++steps_ == 3) std::ofstream(context().trial_dir / "runs") << "yes";
    return {{"steps", steps_}};
  }
  void save_checkpoint(const std::filesystem::path& dir) override {
    std::ofstream(context().trial_dir / "saves") << "yes";
    while (saves_slowly_) ::pause();
    std::ofstream(dir / "steps") << steps_;
  }
  void load_checkpoint(const std::filesystem::path& dir) override {
    std::ifstream(dir / "steps") >> steps_;
  }

 private:
  bool saves_slowly_ = false;
  int steps_ = 0;
};

}  // namespace tune::test
