#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program_run.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// Programs that use track, with a home directory that is theirs alone.
class TrackPrograms {
 public:
  [[nodiscard]] std::unique_ptr<ProgramRun> start(const std::string& what,
                                                  const std::string& argument = {}) {
    std::vector<std::string> command{TRACK_PROGRAM, home().string(), what};
    if (!argument.empty()) command.push_back(argument);
    return std::make_unique<ProgramRun>(command,
                                        folder_.path() / ("errors_" + std::to_string(started_++)));
  }
  [[nodiscard]] std::filesystem::path home() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path storage() const { return home() / "tune_results"; }
  /// The directory of the only run there is.
  [[nodiscard]] std::filesystem::path only_run() const {
    std::vector<std::filesystem::path> runs;
    for (const auto& entry : std::filesystem::directory_iterator(storage()))
      runs.push_back(entry.path());
    REQUIRE(runs.size() == 1);
    return runs.front();
  }

 private:
  TemporaryFolder folder_;
  int started_ = 0;
};

}  // namespace tune::test
