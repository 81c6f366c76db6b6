#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <caf/stateful_actor.hpp>

#include <tune/checkpoint.hpp>
#include <tune/resources.hpp>

#include "runtime/messages.hpp"
#include "runtime/process_stage.hpp"
#include "runtime/runner_pool.hpp"
#include "runtime/team_hosts.hpp"
#include "runtime/travelling_files.hpp"
#include "runtime/trial_actor.hpp"
#include "runtime/trial_run.hpp"
#include "runtime/worker_pool.hpp"

namespace tune::runtime {

struct AgentSetup {
  UpstreamActor driver;
  // One of them, with the one who runs the experiment.
  std::shared_ptr<RunnerPool> threads;
  std::shared_ptr<ProcessStage> processes;
  WorkerPoolOptions worker_options;  ///< For processes.
  ResourceAmounts capacity;
  Labels labels = {};
  bool takes_part = true;  ///< False: it runs no trials, and only deletes checkpoints.
  std::string experiment_name = {};
  std::filesystem::path experiment_path;  ///< Absolute.
  CheckpointOptions checkpoint;
  std::filesystem::path resume_from = {};  ///< A checkpoint for trials without one of their own.
  std::chrono::duration<double> stop_grace{0};
  /// Makes what moves files, where the driver's are not seen; empty: they are. Then
  /// `experiment_path` is a place of the node's own.
  std::function<std::unique_ptr<TravellingFiles>(AgentActor::pointer)> make_files = {};
};

/// A node of an experiment: offers its resources to the driver, starts the driver's trials, each
/// with an actor of its own, and passes orders and news on, in batches.
class NodeAgent {
 public:
  explicit NodeAgent(AgentActor::pointer self) : self_(self), teams_(self) {}
  AgentActor::behavior_type make_behavior(AgentSetup setup);

 private:
  struct RunningTrial {
    std::uint32_t incarnation = 0;
    OrdersActor actor;
    TrialActor watch;    // the same, if it runs on a thread
    TrialOrders orders;  // what goes to it at the end of this turn, or once it has started
    std::deque<engine::TrialMessage> held;  // the first one's files are on their way
    bool is_told_to_stop = false;           // by the driver
  };

  void on(NodeTurn& turn);
  void on(TrialNews& news);
  void go_on();
  void keep(engine::TrialMessage message);
  /// Whether it is the end of a trial of which the driver must not hear: see LeaveNode.
  [[nodiscard]] bool is_own_doing(const engine::TrialMessage& message) const;
  void launch(engine::Launch& launch);
  void start_when_clear(TrialRun run);
  void start(TrialRun run);
  /// The running trial of that start; null if it is gone.
  [[nodiscard]] RunningTrial* find(TrialId id, std::uint32_t incarnation);
  [[nodiscard]] TrialActor free_watch();
  void forget(TrialId id, std::uint32_t incarnation);
  void tell(engine::TrialMessage message);
  void tell_in_order(engine::TrialMessage message);
  void deliver_first(TrialId id, RunningTrial& trial);
  void tell_undelivered(engine::TrialMessage& message, const std::string& fault);
  /// Made when it is first needed.
  [[nodiscard]] DiskActor& disk();
  /// Keeps `order` for its trial; one for a trial that has just ended comes to nothing.
  template <class Order>
  void order(Order& order);
  void send_orders();
  void flush_news();
  void end(bool saves);
  void quit_if_done();

  AgentActor::pointer self_;
  AgentSetup setup_;
  NodeId node_;
  std::map<TrialId, RunningTrial> trials_;
  std::unique_ptr<WorkerPool> workers_;  // null: trials run on threads
  std::vector<TrialActor> free_watches_;
  TeamHosts teams_;
  std::deque<TrialRun> waiting_runs_;       // for what they were granted
  std::unique_ptr<TravellingFiles> files_;  // null: all see the same
  std::vector<engine::TrialMessage> news_;
  std::set<TrialId> warned_;  // of reserved names in their metrics
  DiskActor disk_;            // see disk()
  bool flush_is_due_ = false;
  bool is_ending_ = false;
  bool is_leaving_ = false;                           // see LeaveNode
  std::set<std::pair<TrialId, std::uint32_t>> left_;  // starts of trials that ended for it
};

/// The body of a node's agent.
AgentActor::behavior_type run_agent(AgentActor::stateful_pointer<NodeAgent> self, AgentSetup setup);

}  // namespace tune::runtime
