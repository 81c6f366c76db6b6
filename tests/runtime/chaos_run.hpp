#pragma once

#include <filesystem>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>

#include "program_run.hpp"
#include "run_support.hpp"
#include "search_of_its_own.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// A folder in which chaos_program searches, again and again.
class ChaosFolder {
 public:
  explicit ChaosFolder(std::string kind, int samples = 1)
      : kind_(std::move(kind)), samples_(samples), mark_(storage()) {
    std::filesystem::create_directory(storage());
  }

  [[nodiscard]] std::unique_ptr<ProgramRun> start() const {
    return std::make_unique<ProgramRun>(
        std::vector<std::string>{CHAOS_PROGRAM, kind_, storage().string(),
                                 std::to_string(samples_)},
        folder_.path() / "stderr");
  }
  /// Runs it to its end by itself.
  void finish() const {
    const auto run = start();
    CHECK(run->wait() == 0);
    CHECK(read_text(run->error_file()).empty());
  }
  [[nodiscard]] std::filesystem::path storage() const { return folder_.path() / "storage"; }
  [[nodiscard]] std::filesystem::path experiment() const { return storage() / "run"; }
  [[nodiscard]] std::filesystem::path errors() const { return folder_.path() / "stderr"; }
  [[nodiscard]] std::vector<pid_t> processes() const { return descendants_of_search(storage()); }

  /// Once all that a killed run started is gone: what it left must be sound.
  void check_after_kill() const {
    REQUIRE(wait_until([&] { return processes().empty(); }));
    if (!std::filesystem::exists(experiment() / "experiment.db")) return;  // it had not begun
    const FsckReport report = fsck(experiment());
    CHECK(report.state == FsckReport::State::killed);
    check_sound(report);
  }
  /// After a good end: nothing is left to put right.
  void check_after_end() const {
    CHECK(processes().empty());
    CHECK(std::distance(std::filesystem::directory_iterator(storage()), {}) == 1);
    const FsckReport report = fsck(experiment());
    CHECK(report.state == FsckReport::State::ended);
    CHECK(report.is_replayed);
    CHECK(report.findings.empty());
    check_sound(report);
  }

 private:
  static void check_sound(const FsckReport& report) {
    std::ostringstream text;
    report.print(text);
    INFO(text.str());
    REQUIRE(report.is_sound());
  }

  TemporaryFolder folder_;
  std::string kind_;
  int samples_;
  SearchMark mark_;
};

}  // namespace tune::test
