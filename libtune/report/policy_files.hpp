#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include <tune/ids.hpp>

#include "report/exploit_history.hpp"

namespace tune::report {

/// The policy log as Ray Tune's population based training writes it: pbt_global.txt with a line for
/// each exploit of the experiment, and pbt_policy_00003.txt with those behind the weights of a
/// trial. There are none without exploits. Lines: see ExploitHistory.
///
/// Each call throws std::system_error naming the path if it cannot write.
class PolicyFiles {
 public:
  /// `experiment` is the directory.
  explicit PolicyFiles(std::filesystem::path experiment) : experiment_(std::move(experiment)) {}

  /// Makes all anew. @pre nothing was added
  void restore(ExploitHistory history);
  void add(const core::Exploit& exploit);
  void drop(TrialId trial, std::uint64_t kept);

 private:
  void write_global() const;
  void write_policy(TrialId trial) const;

  std::filesystem::path experiment_;
  ExploitHistory history_;
};

}  // namespace tune::report
