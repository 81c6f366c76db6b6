#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include <tune/fsck.hpp>
#include <tune/ids.hpp>

namespace tune::runtime {

/// Takes down what is found.
class FsckFindings {
 public:
  FsckFindings(FsckReport& report, std::filesystem::path directory)
      : report_(report), directory_(std::move(directory)) {}

  [[nodiscard]] FsckReport& report() { return report_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] bool has_ended() const { return report_.state == FsckReport::State::ended; }
  [[nodiscard]] bool is_running() const { return report_.state == FsckReport::State::running; }

  void fault(const std::filesystem::path& where, std::string what) {
    report_.findings.push_back({std::move(what), where, FsckFinding::Severity::fault});
  }
  void note(const std::filesystem::path& where, std::string what) {
    report_.findings.push_back({std::move(what), where, FsckFinding::Severity::note});
  }
  /// What must not be after a good end, and may be while it runs or after a kill.
  void left_over(const std::filesystem::path& where, std::string what) {
    has_ended() ? fault(where, std::move(what)) : note(where, std::move(what));
  }
  /// A check that throws is a fault.
  template <class Check>
  void guarded(const std::filesystem::path& where, Check check) {
    try {
      check();
    } catch (const std::exception& error) {
      fault(where, error.what());
    }
  }

 private:
  FsckReport& report_;
  std::filesystem::path directory_;
};

/// "trial 7: "
[[nodiscard]] inline std::string fsck_trial_text(TrialId id) {
  return "trial " + std::to_string(id.value()) + ": ";
}

}  // namespace tune::runtime
