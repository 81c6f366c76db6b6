#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/team_messages.hpp"

namespace tune::runtime {

/// Where the workers of one call wait for each other. Nobody waits for one who will not come.
class WorkerMeeting {
 public:
  explicit WorkerMeeting(std::size_t size) : places_(size) {}

  /// Who may go on, and with what.
  struct Release {
    std::size_t rank = 0;
    std::string error = {};  ///< Empty: all have met.
    std::vector<double> values = {};
  };
  /// @pre it does not wait already, and has not left
  [[nodiscard]] std::vector<Release> arrive(std::size_t rank, TeamArrival arrival);
  /// It does not come any more; `how`: "has ended the call", "died".
  [[nodiscard]] std::vector<Release> leave(std::size_t rank, const std::string& how);
  [[nodiscard]] bool is_waiting(std::size_t rank) const { return places_[rank].has_value(); }

 private:
  [[nodiscard]] std::vector<Release> release_all(const std::string& error,
                                                 const std::vector<double>& values = {});
  [[nodiscard]] std::vector<double> reduce() const;

  std::vector<std::optional<TeamArrival>> places_;
  std::size_t waiting_ = 0;
  std::string absent_;  // who has left first, and how; empty if all are there
};

}  // namespace tune::runtime
