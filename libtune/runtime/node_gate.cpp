#include "runtime/node_gate.hpp"

#include <utility>
#include <variant>

#include <caf/all.hpp>

#include "actor_faults.hpp"
#include "runtime/node_wire.hpp"

namespace tune::runtime {

NodeGateActor::behavior_type NodeGate::make_behavior(NodeGateSetup setup) {
  setup_ = std::move(setup);
  program_ = this_program();
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down.source); });
  return {
      [this](const NodeFrame& frame) { on(frame); },
      [this](const EndNode&) { end(); },
  };
}

void NodeGate::on(const NodeFrame& frame) {
  const auto peer = caf::actor_cast<FrameActor>(self_->current_sender());
  if (!peer) return;
  FrameJoiner joiner;  // an introduction is short
  const auto json = joiner.add(frame);
  if (!json || !*json) return refuse_stranger(json ? "an endless message" : json.error().message);
  try {
    ToDriver message = to_driver_from_json(**json);
    if (auto* node = std::get_if<NodeIntroduction>(&message)) return admit(peer, std::move(*node));
  } catch (const std::exception& error) {
    return refuse_stranger(error.what());
  }
  refuse_stranger("no introduction");
}

void NodeGate::refuse_stranger(const std::string& fault) {
  if (std::exchange(was_stranger_logged_, true)) return;
  self_->send(setup_.driver, NodeNote{"a stranger at the port for nodes sent " + fault +
                                      ": dropped, and further ones are not told of"});
}

void NodeGate::admit(const FrameActor& peer, NodeIntroduction node) {
  const auto answer = [&](const ToNode& message) {
    for (NodeFrame& frame : to_frames(to_json(message))) self_->send(peer, std::move(frame));
  };
  if (is_ending_) return answer(NodeOver{});
  if (const std::string reason = refusal_of(node, setup_.offer, program_); !reason.empty()) {
    self_->send(setup_.driver, NodeNote{"node " + node.name + " is refused: " + reason});
    return answer(NodeRefusal{reason});
  }
  if (const auto old = nodes_.find(node.node); old != nodes_.end()) {
    self_->send(old->second, NodeCameAgain{});
  }
  const std::string key = node.node;
  RemoteNodeActor actor = self_->spawn<caf::linked + caf::monitored>(
      stand_for_node,
      RemoteNodeSetup{setup_.driver, peer, std::move(node), setup_.offer, setup_.files});
  alive_.emplace(actor.address(), actor);
  nodes_.insert_or_assign(key, std::move(actor));
}

void NodeGate::end() {
  is_ending_ = true;
  for (const auto& [address, node] : alive_) self_->send(node, EndNode{});
  if (alive_.empty()) self_->quit();
}

void NodeGate::on_down(const caf::actor_addr& node) {
  alive_.erase(node);
  std::erase_if(nodes_, [&](const auto& entry) { return entry.second.address() == node; });
  if (is_ending_ && alive_.empty()) self_->quit();
}

NodeGateActor::behavior_type keep_gate(NodeGateActor::stateful_pointer<NodeGate> self,
                                       NodeGateSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
