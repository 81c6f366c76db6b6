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
#include "runtime/transfer_messages.hpp"
#include "runtime/worker_times.hpp"

/// What a driver and a node on another machine tell each other.
///
/// All of it crosses the network as the bytes of one CAF message, NodeFrame: our own encoding keeps
/// the bits of doubles, and nothing can be sent that only fails between two machines. The files of
/// checkpoints have messages of their own, between the actors that FilesAt makes known.
namespace tune::runtime {

/// Both must speak the same; the introduction says so first.
inline constexpr int node_protocol = 4;

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
  std::chrono::duration<double> driver_grace{0};  ///< How long the node waits for another driver.
  /// A store::DirectoryToken in the experiment's directory: who finds it sees that directory.
  std::string token_path = {};
  std::string token_content = {};
};
/// Driver or node: it cannot be, and why.
struct NodeRefusal {
  std::string reason;
};
/// The node takes the offer.
struct NodeReady {
  bool shares_files = true;                ///< It sees the driver's directory.
  std::vector<engine::HeldRun> held = {};  ///< What it has kept since its last driver died.
};
/// A directory of a trial's at a node, which the driver is to fetch.
struct FilesReady {
  std::string directory;  ///< As FetchDirectory has it.
  std::uint32_t incarnation = 0;
  core::SharedManifest files = {};  ///< Null: whatever is there.
};
/// What became of it; `fault` is empty if it is in its place at the driver.
struct FilesTaken {
  std::string directory;
  std::string fault = {};
};
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
                            NodeOver, NodeLetter, NodeGone, FilesTaken>;
using ToDriver = std::variant<NodeIntroduction, NodeReady, NodeRefusal, NodeNews, NodeWarning,
                              NodeNote, NodePong, NodeLeaves, NodeLetter, FilesReady>;

/// An actor to itself: time to look whether the other side still lives.
struct HeartbeatDue {};
/// The gate to one of its remote nodes: the same node has come again.
struct NodeCameAgain {};

/// The driver's end of a node to itself: time to try again to fetch a directory.
struct DeliveryDue {
  std::string directory;
};

/// The other side, on another machine.
using FrameActor = caf::typed_actor<caf::reacts_to<NodeFrame>>;
/// The same, once the node has made itself known.
using PeerActor = FrameActor::extend<caf::reacts_to<FilesAt>>;

/// The driver's end of a node on another machine.
using RemoteNodeActor = NodeActor::extend<caf::reacts_to<NodeFrame>, caf::reacts_to<HeartbeatDue>,
                                          caf::reacts_to<NodeCameAgain>, caf::reacts_to<EndNode>,
                                          caf::reacts_to<FilesAt>, caf::reacts_to<DeliveryDue>>;

/// The actor that other machines find at the driver's port.
using NodeGateActor = caf::typed_actor<caf::reacts_to<NodeFrame>, caf::reacts_to<EndNode>>;

/// The one who runs a node to its end of the connection: a driver is there again.
struct DriverFound {
  FrameActor gate;
};

/// A node's end.
using NodeLinkActor = UpstreamActor::extend<caf::reacts_to<NodeFrame>, caf::reacts_to<HeartbeatDue>,
                                            caf::reacts_to<NodeLeaves>, caf::reacts_to<FilesAt>,
                                            caf::reacts_to<DriverFound>,
                                            caf::replies_to<FilesReady>::with<FilesTaken>>;

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeLeaves)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::HeartbeatDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeCameAgain)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::DeliveryDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::DriverFound)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::FilesReady)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::FilesTaken)
