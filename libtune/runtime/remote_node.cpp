#include "runtime/remote_node.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <caf/all.hpp>

#include "actor_faults.hpp"
#include "core/number_text.hpp"

namespace tune::runtime {
namespace {

/// How long the end of an experiment waits for a node to say that it knows.
constexpr std::chrono::seconds farewell_time{5};

template <class T>
std::vector<T> take_some(std::vector<T>& items) {
  const auto end =
      items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), max_node_items));
  std::vector<T> some(std::make_move_iterator(items.begin()), std::make_move_iterator(end));
  items.erase(items.begin(), end);
  return some;
}

}  // namespace

RemoteNodeActor::behavior_type RemoteNode::make_behavior(RemoteNodeSetup setup) {
  setup_ = std::move(setup);
  heartbeat_ = Heartbeat(setup_.offer.node_timeout, self_->clock().now());
  self_->set_down_handler([this](const caf::down_msg&) { end_connection("its connection broke"); });
  self_->monitor(setup_.peer);
  deliveries_.emplace(self_, setup_.files,
                      setup_.node.name + ", process " + std::to_string(setup_.node.pid));
  if (setup_.files.server) {
    self_->send(caf::actor_cast<PeerActor>(setup_.peer), FilesAt{setup_.files.server});
  }
  send(setup_.offer);
  self_->delayed_send(self_, heartbeat_.interval(), HeartbeatDue{});
  return {
      [this](const NodeWelcome& welcome) {
        id_ = welcome.node;
        if (state_ == State::joined) send(welcome);
        tell_loss();
        quit_if_done();
      },
      [this](NodeTurn& turn) { on(turn); },
      [this](NodeLetter& letter) {
        if (state_ == State::joined) send(std::move(letter));
      },
      [this](const NodeGone& gone) {
        if (state_ == State::joined) send(gone);
      },
      [this](const NodeFrame& frame) { on(frame); },
      [this](const HeartbeatDue&) { look(); },
      [this](const NodeCameAgain&) { end_connection("it came again"); },
      [this](const EndNode&) { end(); },
      [this](const FilesAt& files) {
        if (!node_files_) node_files_ = files.server;
      },
      [this](const DeliveryDue& due) { deliveries_->go_on(due.directory); },
  };
}

void RemoteNode::on(NodeTurn& turn) {
  if (state_ != State::joined) return;
  do {
    const std::string fault =
        send_turn({take_some(turn.commands), take_some(turn.acknowledgements)});
    if (!fault.empty()) {
      send(NodeFenced{fault});
      return end_connection(fault);
    }
  } while (!turn.commands.empty() || !turn.acknowledgements.empty());
}

// In halves where they are too long together. Returns what is wrong with one that is so alone.
std::string RemoteNode::send_turn(NodeTurn turn) {
  ToNode message(std::move(turn));
  try {
    send(message);
    return {};
  } catch (const std::length_error& error) {
    turn = std::get<NodeTurn>(std::move(message));
    if (turn.commands.size() + turn.acknowledgements.size() < 2) {
      return std::string("it cannot be told what to do: ") + error.what();
    }
  }
  const auto halve = [](auto& list) {
    const auto middle = list.begin() + std::ssize(list) / 2;
    std::remove_reference_t<decltype(list)> rest(std::make_move_iterator(middle),
                                                 std::make_move_iterator(list.end()));
    list.erase(middle, list.end());
    return rest;
  };
  if (turn.commands.empty()) {
    NodeTurn rest{{}, halve(turn.acknowledgements)};
    const std::string fault = send_turn(std::move(turn));
    return fault.empty() ? send_turn(std::move(rest)) : fault;
  }
  NodeTurn rest{halve(turn.commands), std::exchange(turn.acknowledgements, {})};
  if (turn.commands.empty()) std::swap(turn.commands, rest.commands);  // there was only one
  const std::string fault = send_turn(std::move(turn));
  return fault.empty() ? send_turn(std::move(rest)) : fault;
}

void RemoteNode::on(const NodeFrame& frame) {
  if (caf::actor_cast<FrameActor>(self_->current_sender()) != setup_.peer) return;
  heartbeat_.hear(self_->clock().now());
  const auto json = frames_.add(frame);
  std::string fault;
  if (!json) {
    fault = json.error().message;
  } else if (*json) {
    try {
      return on(to_driver_from_json(**json));
    } catch (const std::exception& error) {
      fault = error.what();
    }
  }
  if (fault.empty()) return;
  send(NodeFenced{"it sent " + fault});
  end_connection("it sent " + fault);
}

void RemoteNode::on(ToDriver message) {
  if (state_ == State::fenced) {
    if (const auto* news = std::get_if<NodeNews>(&message)) {
      late_messages_ += news->messages.size();
    } else if (std::holds_alternative<NodeLetter>(message)) {
      ++late_messages_;
    }
  }
  std::visit(
      [this](auto& m) {
        using Message = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<Message, NodeReady>) {
          if (state_ == State::offered) join(m);
        } else if constexpr (std::is_same_v<Message, NodeRefusal>) {
          tell_driver("node " + setup_.node.name + " refused to join: " + m.reason);
          end_connection("it refused to join");
        } else if constexpr (std::is_same_v<Message, NodeLeaves>) {
          is_back_ = state_ == State::fenced;
          end_connection(m.reason);
        } else if constexpr (std::is_same_v<Message, NodeNews>) {
          if (state_ != State::joined || !id_) return;
          m.node = *id_;
          self_->send(setup_.driver, std::move(m));
        } else if constexpr (std::is_same_v<Message, NodeLetter>) {
          if (state_ != State::joined || !id_) return;
          m.from = *id_;
          self_->send(setup_.driver, std::move(m));
        } else if constexpr (std::is_same_v<Message, NodeWarning> ||
                             std::is_same_v<Message, NodeNote>) {
          if (state_ == State::joined) self_->send(setup_.driver, std::move(m));
        } else if constexpr (std::is_same_v<Message, FilesReady>) {
          if (state_ != State::joined) return;
          deliveries_->take(node_files_, std::move(m),
                            [this](const FilesTaken& taken) { send(taken); });
        }
      },
      message);
}

void RemoteNode::join(const NodeReady& ready) {
  state_ = State::joined;
  was_told_ = true;
  NodeHello hello{setup_.node.name,     setup_.node.ip,   setup_.node.pid,
                  setup_.node.capacity, NodeActor(self_), setup_.node.labels};
  hello.is_local = false;
  hello.shares_files = ready.shares_files;
  hello.held = ready.held;
  self_->send(setup_.driver, std::move(hello));
}

void RemoteNode::look() {
  if (state_ == State::ending) {
    is_connected_ = false;
    return quit_if_done();
  }
  if (state_ == State::fenced) return;
  if (heartbeat_.is_lost(self_->clock().now())) {
    lose("nothing was heard of it for " + core::number_text(setup_.offer.node_timeout.count()) +
         " s");
    return send(NodeFenced{loss_});
  }
  if (state_ == State::joined) send(NodePing{++pings_});
  self_->delayed_send(self_, heartbeat_.interval(), HeartbeatDue{});
}

void RemoteNode::send(const ToNode& message) {
  for (NodeFrame& frame : to_frames(to_json(message))) self_->send(setup_.peer, std::move(frame));
}

void RemoteNode::tell_driver(std::string text) {
  self_->send(setup_.driver, NodeNote{std::move(text)});
}

void RemoteNode::lose(const std::string& reason) {
  if (state_ == State::fenced || state_ == State::ending) return;
  state_ = State::fenced;
  deliveries_->cancel();
  loss_ = reason;
  tell_loss();
}

void RemoteNode::tell_loss() {
  if (loss_.empty() || !id_ || std::exchange(is_loss_told_, true)) return;
  self_->send(setup_.driver, NodeLost{*id_, loss_});
}

void RemoteNode::end_connection(const std::string& reason) {
  lose(reason);
  if (is_connected_ && (is_back_ || late_messages_ > 0)) {
    tell_driver("node " + setup_.node.name + ", process " + std::to_string(setup_.node.pid) +
                ", was back after it was lost: it was told to stop, " +
                std::to_string(late_messages_) + " late messages of its trials were refused");
  }
  is_connected_ = false;
  quit_if_done();
}

void RemoteNode::end() {
  send(NodeOver{});
  if (state_ == State::fenced) {
    is_connected_ = false;  // it may be frozen, and nobody waits for it
    is_loss_told_ = true;   // the driver, if it has gone before, will not give it a number
  } else {
    state_ = State::ending;
    deliveries_->cancel();
    self_->delayed_send(self_, farewell_time, HeartbeatDue{});
  }
  quit_if_done();
}

void RemoteNode::quit_if_done() {
  // The driver answers each node that it was told of; before that it cannot be told of the loss.
  const bool is_told = !was_told_ || is_loss_told_ || state_ == State::ending;
  if (!is_connected_ && is_told) self_->quit();
}

RemoteNodeActor::behavior_type stand_for_node(RemoteNodeActor::stateful_pointer<RemoteNode> self,
                                              RemoteNodeSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
