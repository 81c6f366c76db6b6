#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "runtime/messages.hpp"
#include "runtime/process_messages.hpp"
#include "runtime/trial_run.hpp"
#include "runtime/worker_pool.hpp"

namespace tune::runtime {

/// The processes of the parallel workers of an agent's trials: starts each with the first letter
/// for it, carries letters, and ends them with their trial. Part of the agent.
///
/// A trial's end gives back what its workers hold too, so it is held back until they are gone or
/// free for others.
class TeamHosts {
 public:
  explicit TeamHosts(AgentActor::pointer agent) : agent_(agent) {}

  /// @param node the agent's own
  void begin(const TrialRun& run, NodeId node);
  void set_trial(TrialId trial, HostActor host) { teams_.at(trial).trial = std::move(host); }
  void pass_on(TeamMail& mail, WorkerPool& pool);
  /// A trial's end, if it waited only for this worker's.
  [[nodiscard]] std::optional<engine::TrialMessage> on_worker_news(const TrialNews& news);
  /// The trial has ended: so shall its workers. True: its end comes from on_worker_news(), later.
  [[nodiscard]] bool holds_back(const engine::TrialMessage& end);
  [[nodiscard]] bool is_empty() const { return teams_.empty(); }

 private:
  struct Worker {
    WorkerGrant grant;
    HostActor host = {};  // null: not started
    bool is_over = false;
    bool is_busy = false;  // with a call
  };
  struct Team {
    TrialRun run;  // of the workers, but for place and grant
    NodeId node;
    HostActor trial = {};
    std::vector<Worker> workers;
    std::optional<engine::TrialMessage> end = {};  // of the trial, held back
  };
  void start(Team& team, std::size_t rank, WorkerPool& pool);
  void tell_death(const Team& team, std::size_t rank, const std::string& text);
  [[nodiscard]] static bool is_over(const Team& team);

  AgentActor::pointer agent_;
  std::map<TrialId, Team> teams_;
};

}  // namespace tune::runtime
