#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "runtime/messages.hpp"

namespace tune::runtime {

/// What a node has to hand over if its driver dies and another one takes over: the starts of trials
/// that it was told to run, and of each what the driver has not acknowledged. Bounded, since a
/// trial waits for acknowledgements.
class HeldRuns {
 public:
  void launch(TrialId trial, std::uint32_t incarnation);
  void keep(const std::vector<engine::TrialMessage>& messages);
  void acknowledge(const Acknowledgement& acknowledgement);

  [[nodiscard]] std::vector<engine::HeldRun> all() const;
  /// The other driver has none of these. @return those that still run, and have to end
  [[nodiscard]] std::vector<engine::HeldRun> drop_all_but(
      const std::vector<engine::Adopt>& adopted);
  /// All that is not acknowledged, in order for each start.
  [[nodiscard]] std::vector<engine::TrialMessage> unacknowledged() const;

 private:
  struct Run {
    std::uint64_t acknowledged = 0;  // all below this
    bool has_ended = false;
    std::deque<engine::TrialMessage> messages;  // that are not acknowledged
  };
  using Key = std::pair<TrialId, std::uint32_t>;

  std::map<Key, Run> runs_;
};

}  // namespace tune::runtime
