#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <caf/actor.hpp>
#include <caf/stateful_actor.hpp>

#include "runtime/agent_actor.hpp"
#include "runtime/file_transfer.hpp"
#include "runtime/heartbeat.hpp"
#include "runtime/held_runs.hpp"
#include "runtime/node_messages.hpp"
#include "runtime/node_wire.hpp"
#include "runtime/process_stage.hpp"
#include "runtime/scratch_directory.hpp"
#include "runtime/trial_packages.hpp"

namespace tune::runtime {

/// Told to the link's owner: the node's time with this driver is over, and nothing of it runs.
struct NodeSessionOver {
  enum class End {
    over,     ///< The experiment has ended.
    refused,  ///< By driver or node: trying again would bring nothing else.
    lost,     ///< The driver is gone, or has given this node up.
    left,     ///< As told by NodeLeaves.
    fault,    ///< One of ours.
  };
  End end = End::lost;
  std::string reason;
};

/// Told to the link's owner: the driver is gone, and what runs here goes on for a while. It wants
/// a DriverFound as soon as there is one, until NodeSessionOver.
struct NodeAdrift {};

struct NodeLinkSetup {
  FrameActor gate;  ///< The driver's.
  caf::actor owner;
  NodeIntroduction node;
  std::vector<std::string> gpus;        ///< LocalMachine::gpus of this machine.
  std::shared_ptr<ProcessStage> stage;  // with the one who runs the node
  bool is_shown = true;                 ///< Tell on stderr what happens.
  /// With the one who runs the node: where files go if this machine does not see the driver's.
  std::shared_ptr<ScratchDirectory> scratch = {};
  std::vector<KeptDirectory> kept = {};  ///< What is there from an earlier session.
};

/// A node's end of the connection to its driver. The agent takes it for the driver.
///
/// Once the driver is silent for too long, or says that it has given the node up, all that runs
/// here is ended at once: it runs elsewhere by then. A node that leaves of its own accord has its
/// trials save first.
///
/// Where the experiment has a driver_grace, a driver that is silent or gone may be dead: what runs
/// here goes on, until it needs the driver, and is offered to the one that comes next. What that
/// does not take is ended. A node that takes part in gangs, whose parts may be on several nodes,
/// does not wait.
class NodeLink {
 public:
  explicit NodeLink(NodeLinkActor::pointer self) : self_(self) {}
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;
  NodeLinkActor::behavior_type make_behavior(NodeLinkSetup setup);

 private:
  void on(const NodeFrame& frame);
  void on(ToNode message);
  void on(const NodeOffer& offer);
  void on(NodeNews& news);
  void on_down(const caf::down_msg& down);
  void look();
  void leave(NodeLeaves leaves);
  void send(const ToDriver& message);
  /// In messages of a bounded size.
  void send_all(NodeNews news);
  void send_news(NodeNews news);
  void start_agent(const NodeOffer& offer);
  /// For a machine that does not see the driver's files.
  void use_scratch(const NodeOffer& offer, AgentSetup& setup);
  /// The actors that move files to and from `directory`.
  void start_files(const std::filesystem::path& directory);
  void on(const FilesTaken& taken);
  void on(NodeWelcome& welcome);
  void on(NodeTurn& turn);
  [[nodiscard]] caf::typed_response_promise<FilesTaken> pass_on(FilesReady& files);
  void end_files();
  /// Ends the agent, with all that runs, and then this actor. `farewell` is told to the driver.
  void end(NodeSessionOver::End end, std::string reason,
           const std::optional<ToDriver>& farewell = {});
  void say_farewell();
  void quit_if_done();

  // node_drift.cpp
  /// The driver is gone: waits for another one, or ends.
  void lose_driver(std::string reason);
  [[nodiscard]] bool may_drift() const;
  void drift(const std::string& reason);
  void meet(const DriverFound& found);
  /// What another driver offers to a node that has something running.
  void hand_over(const NodeOffer& offer);
  /// What the driver does not take ends before anything new begins.
  void end_refused(const std::vector<engine::HeldRun>& refused);
  /// Takes from a turn what has to wait for that.
  void hold_starts(NodeTurn& turn);
  void begin_held_starts();
  [[nodiscard]] bool is_refused(const engine::TrialMessage& message);
  [[nodiscard]] bool is_refused(const FilesReady& files) const;
  void go_on_with_driver();
  /// A note, which the next driver may hear as well as this one.
  void tell(ToDriver note);

  /// Until the driver has said how long a silence may last.
  static constexpr std::chrono::seconds offer_time{10};

  NodeLinkActor::pointer self_;
  NodeLinkSetup setup_;
  FrameActor peer_;  // the driver's end: the gate, until it has offered something
  FrameJoiner frames_;
  Heartbeat heartbeat_;
  AgentActor agent_;
  bool has_agent_ = false;  // it runs
  bool is_connected_ = true;
  bool waits_for_peer_ = false;  // to have heard the farewell, until
  Heartbeat::Clock::time_point farewell_end_;
  std::chrono::duration<double> leave_time_{0};  // that trials have to save, until
  Heartbeat::Clock::time_point leave_end_;
  std::optional<NodeLeaves> leaves_;  // once all that runs has saved
  FileServerActor driver_files_;
  bool shares_files_ = true;  // this machine sees the driver's directory
  FileServerActor server_;    // of the files here, if not
  FetcherActor fetcher_;
  PackerActor packer_;
  std::set<caf::actor_addr> file_actors_;  // those of the three that live
  bool are_files_ending_ = false;
  struct FilesOnTheirWay {
    FilesReady files;
    caf::typed_response_promise<FilesTaken> promise;
  };
  std::map<std::string, FilesOnTheirWay> on_their_way_;
  bool is_quiet_ = false;          // nothing was on its way when it was looked last
  NodeOffer offer_;                // the one that was taken
  bool is_joined_ = false;         // the driver has welcomed this node
  bool is_part_of_gangs_ = false;  // since it was welcomed first
  std::optional<HeldRuns> held_;   // where there is a driver_grace
  std::optional<Heartbeat::Clock::time_point> adrift_until_;
  std::vector<ToDriver> kept_notes_;  // since then, for the next driver
  using Start = std::pair<TrialId, std::uint32_t>;
  std::set<Start> refused_;            // that are to end
  std::set<Start> held_starts_;        // that are to begin once those have ended
  std::vector<NodeCommand> for_them_;  // in their order
  std::optional<NodeSessionOver> over_;
  std::optional<ToDriver> farewell_;
};

/// The body of the actor.
NodeLinkActor::behavior_type link_node(NodeLinkActor::stateful_pointer<NodeLink> self,
                                       NodeLinkSetup setup);

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeSessionOver)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeAdrift)
