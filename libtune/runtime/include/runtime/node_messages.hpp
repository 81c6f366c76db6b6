#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <tune/checkpoint.hpp>
#include <tune/resources.hpp>

#include "runtime/messages.hpp"
#include "runtime/worker_times.hpp"

/// What a driver and a node on another machine tell each other.
///
/// All of it crosses the network as the bytes of one CAF message, NodeFrame: our own encoding keeps
/// the bits of doubles, and nothing can be sent that only fails between two machines.
namespace tune::runtime {

/// Both must speak the same; the introduction says so first.
inline constexpr int node_protocol = 2;

/// A part of an encoded message; the last part ends it. Parts are small, so that none holds up
/// what others send over the same connection.
struct NodeFrame {
  std::string bytes;
  bool is_last = true;
};
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, NodeFrame& frame) {
  return f(caf::meta::type_name("tune::NodeFrame"), frame.bytes, frame.is_last);
}

/// A node introduces itself.
struct NodeIntroduction {
  int protocol = node_protocol;
  std::string build;    ///< Of tune: see this_build().
  std::string program;  ///< Identifies the program file: see this_program().
  std::string node;     ///< Drawn once by the node's process.
  std::string name;     ///< Host name.
  std::string ip;
  std::int64_t pid = 0;
  ResourceAmounts capacity;
  Labels labels;
  std::vector<std::string> trainables;  ///< Names of those that are registered.
  std::string experiment;               ///< The one that it is for; empty: any.
};
/// The driver takes the node, if that can do this.
struct NodeOffer {
  std::string experiment_name;
  std::string experiment_path;
  std::string experiment_id;
  std::string trainable;  ///< Its TrainableSpec::key.
  std::vector<std::string> plugins;
  WorkerTimes times;
  bool reuse_workers = true;
  CheckpointOptions checkpoint;
  std::string resume_from;
  std::chrono::duration<double> node_timeout{0};
};
/// Driver or node: it cannot be, and why.
struct NodeRefusal {
  std::string reason;
};
/// The node takes the offer.
struct NodeReady {};
/// The node goes of its own accord.
struct NodeLeaves {
  std::string reason;
};
/// The driver has given this node up; what ran there runs elsewhere.
struct NodeFenced {
  std::string reason;
};
/// The experiment has ended.
struct NodeOver {};

using ToNode = std::variant<NodeOffer, NodeRefusal, NodeWelcome, NodeTurn, NodePing, NodeFenced,
                            NodeOver, NodeLetter, NodeGone>;
using ToDriver = std::variant<NodeIntroduction, NodeReady, NodeRefusal, NodeNews, NodeWarning,
                              NodeNote, NodePong, NodeLeaves, NodeLetter>;

/// An actor to itself: time to look whether the other side still lives.
struct HeartbeatDue {};
/// The gate to one of its remote nodes: the same node has come again.
struct NodeCameAgain {};

/// The other side, on another machine.
using FrameActor = caf::typed_actor<caf::reacts_to<NodeFrame>>;

/// The driver's end of a node on another machine.
using RemoteNodeActor = NodeActor::extend<caf::reacts_to<NodeFrame>, caf::reacts_to<HeartbeatDue>,
                                          caf::reacts_to<NodeCameAgain>, caf::reacts_to<EndNode>>;

/// The actor that other machines find at the driver's port.
using NodeGateActor = caf::typed_actor<caf::reacts_to<NodeFrame>, caf::reacts_to<EndNode>>;

/// A node's end.
using NodeLinkActor = UpstreamActor::extend<caf::reacts_to<NodeFrame>, caf::reacts_to<HeartbeatDue>,
                                            caf::reacts_to<NodeLeaves>>;

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeLeaves)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::HeartbeatDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeCameAgain)
