#pragma once

#include <map>
#include <string>

#include <caf/stateful_actor.hpp>

#include "runtime/node_messages.hpp"
#include "runtime/remote_node.hpp"

namespace tune::runtime {

struct NodeGateSetup {
  DriverActor driver;
  NodeOffer offer;
  FileActors files = {};  ///< See RemoteNodeSetup.
};

/// Whom other machines find at the driver's port: refuses those that do not fit, and has each other
/// one its own actor. Knows nodes by the name that they have drawn, not by that of their
/// connection.
class NodeGate {
 public:
  explicit NodeGate(NodeGateActor::pointer self) : self_(self) {}
  NodeGateActor::behavior_type make_behavior(NodeGateSetup setup);

 private:
  void on(const NodeFrame& frame);
  void admit(const FrameActor& peer, NodeIntroduction node);
  void refuse_stranger(const std::string& fault);
  void end();
  void on_down(const caf::actor_addr& node);

  NodeGateActor::pointer self_;
  NodeGateSetup setup_;
  std::string program_;
  std::map<std::string, RemoteNodeActor> nodes_;  // by NodeIntroduction::node: the newest of each
  std::map<caf::actor_addr, RemoteNodeActor> alive_;
  bool was_stranger_logged_ = false;
  bool is_ending_ = false;
};

/// The body of the actor.
NodeGateActor::behavior_type keep_gate(NodeGateActor::stateful_pointer<NodeGate> self,
                                       NodeGateSetup setup);

}  // namespace tune::runtime
