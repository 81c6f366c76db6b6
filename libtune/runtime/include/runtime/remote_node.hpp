#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <caf/actor.hpp>
#include <caf/stateful_actor.hpp>

#include "runtime/file_deliveries.hpp"
#include "runtime/heartbeat.hpp"
#include "runtime/node_messages.hpp"
#include "runtime/node_wire.hpp"

namespace tune::runtime {

struct RemoteNodeSetup {
  DriverActor driver;
  FrameActor peer;  ///< The node's link.
  NodeIntroduction node;
  NodeOffer offer;
  FileActors files = {};  ///< For a node that does not see the driver's directory.
};

/// Stands for a node on another machine in the driver's process, from its introduction to the end
/// of its connection.
///
/// Once it is lost it is fenced: it may come back, since it was frozen or cut off, and still run
/// what runs elsewhere by now. Then it is told so, and what it says is refused and counted; it is
/// welcome again as another node.
class RemoteNode {
 public:
  explicit RemoteNode(RemoteNodeActor::pointer self) : self_(self) {}
  RemoteNodeActor::behavior_type make_behavior(RemoteNodeSetup setup);

 private:
  enum class State { offered, joined, fenced, ending };

  void on(const NodeFrame& frame);
  void on(ToDriver message);
  void on(NodeTurn& turn);
  void look();
  void send(const ToNode& message);
  [[nodiscard]] std::string send_turn(NodeTurn turn);
  void tell_driver(std::string text);
  void join(const NodeReady& ready);
  /// Gives the node up.
  void lose(const std::string& reason);
  /// The connection is of no use any more.
  void end_connection(const std::string& reason);
  void end();
  void tell_loss();
  void quit_if_done();

  RemoteNodeActor::pointer self_;
  RemoteNodeSetup setup_;
  State state_ = State::offered;
  FrameJoiner frames_;
  Heartbeat heartbeat_;
  std::optional<NodeId> id_;   // once the driver has given it one
  bool was_told_ = false;      // the driver knows of the node
  std::string loss_;           // why it was lost
  bool is_loss_told_ = false;  // to the driver
  bool is_connected_ = true;
  bool is_back_ = false;  // it has heard that it was lost
  std::uint64_t pings_ = 0;
  std::uint64_t late_messages_ = 0;  // of trials, that came after the loss
  FileServerActor node_files_;
  std::optional<FileDeliveries> deliveries_;
};

/// The body of the actor.
RemoteNodeActor::behavior_type stand_for_node(RemoteNodeActor::stateful_pointer<RemoteNode> self,
                                              RemoteNodeSetup setup);

}  // namespace tune::runtime
