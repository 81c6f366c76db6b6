// How a node outlives its driver: see NodeLink.
#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>
#include <variant>

#include <caf/all.hpp>

#include "core/number_text.hpp"
#include "live_output.hpp"
#include "runtime/node_link.hpp"
#include "store/directory_token.hpp"
#include "trial_of_path.hpp"

namespace tune::runtime {
namespace {

/// Warnings and notes that a node keeps for the next driver.
constexpr std::size_t most_kept_notes = 100;

/// All of an offer by which a node's agent works: another driver that offers the same may have it.
Json terms_of(const NodeOffer& offer) {
  Json terms = to_json(ToNode(offer));
  for (const char* const of_the_driver : {"token_path", "token", "node_timeout", "driver_grace"}) {
    terms.erase(of_the_driver);
  }
  return terms;
}

}  // namespace

bool NodeLink::may_drift() const {
  return held_ && has_agent_ && !leaves_ && !is_part_of_gangs_ && (is_joined_ || adrift_until_);
}

void NodeLink::lose_driver(std::string reason) {
  if (over_) return;
  if (!may_drift()) return end(NodeSessionOver::End::lost, std::move(reason));
  drift(reason);
}

void NodeLink::drift(const std::string& reason) {
  is_connected_ = is_joined_ = waits_for_peer_ = false;
  // What has not begun by now will not.
  for_them_.clear();
  for (const auto& [trial, incarnation] : std::exchange(held_starts_, {})) {
    held_->keep({{trial, incarnation, 0, engine::Ended{engine::EndKind::stopped, {}}}});
  }
  self_->demonitor(peer_.address());
  frames_ = {};
  const bool is_new = !adrift_until_;
  if (is_new) {
    // An infinite grace is no time of the clock.
    constexpr std::chrono::duration<double> longest = std::chrono::hours(24 * 365);
    const auto grace = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::min(offer_.driver_grace, longest));
    adrift_until_ = self_->clock().now() + grace;
  }
  if (is_new && setup_.is_shown) {
    const std::size_t count = held_->all().size();
    LiveOutput().show("tune: node: " + reason + ": " + std::to_string(count) +
                      (count == 1 ? " trial goes" : " trials go") + " on, and wait" +
                      (count == 1 ? "s " : " ") + core::number_text(offer_.driver_grace.count()) +
                      " s for another driver (driver_grace)\n");
  }
  caf::anon_send(setup_.owner, NodeAdrift{});
}

void NodeLink::meet(const DriverFound& found) {
  if (over_ || !adrift_until_ || is_connected_) return;
  peer_ = setup_.gate = found.gate;
  frames_ = {};
  is_connected_ = true;
  self_->monitor(peer_);
  heartbeat_ = Heartbeat(offer_time, self_->clock().now());
  send(setup_.node);
}

void NodeLink::hand_over(const NodeOffer& offer) {
  if (!adrift_until_ || is_joined_) return;
  const bool sees = store::sees_token(offer.token_path, offer.token_content);
  if (terms_of(offer) != terms_of(offer_) || sees != shares_files_) {
    return end(NodeSessionOver::End::lost,
               "the driver that came runs another experiment, or runs it otherwise");
  }
  offer_ = offer;
  heartbeat_ = Heartbeat(offer.node_timeout, self_->clock().now());
  if (!shares_files_) {
    self_->send(caf::actor_cast<PeerActor>(peer_), FilesAt{server_});
    self_->send(agent_, FilesAt{driver_files_});
  }
  send(NodeReady{shares_files_, held_->all()});
}

void NodeLink::end_refused(const std::vector<engine::HeldRun>& refused) {
  NodeTurn turn;
  for (const engine::HeldRun& run : refused) {
    turn.commands.emplace_back(engine::Stop{run.trial, run.incarnation, NodeId{}, false});
    refused_.emplace(run.trial, run.incarnation);
  }
  if (!turn.commands.empty()) self_->send(agent_, std::move(turn));
  for (auto way = on_their_way_.begin(); way != on_their_way_.end();) {
    if (!is_refused(way->second.files)) {
      ++way;
      continue;
    }
    way->second.promise.deliver(FilesTaken{way->first, "the driver does not want it"});
    way = on_their_way_.erase(way);
  }
}

void NodeLink::hold_starts(NodeTurn& turn) {
  if (refused_.empty()) return;
  std::erase_if(turn.commands, [this](NodeCommand& command) {
    const bool waits = std::visit(
        [this](const auto& c) {
          using Command = std::decay_t<decltype(c)>;
          if constexpr (std::is_same_v<Command, engine::DeleteCheckpoint>) {
            return false;
          } else {
            const Start start(c.trial, c.incarnation);
            if constexpr (std::is_same_v<Command, engine::Launch>) held_starts_.insert(start);
            return held_starts_.contains(start);
          }
        },
        command);
    if (waits) for_them_.push_back(std::move(command));
    return waits;
  });
}

void NodeLink::begin_held_starts() {
  held_starts_.clear();
  if (for_them_.empty()) return;
  self_->send(agent_, NodeTurn{std::exchange(for_them_, {}), {}});
}

bool NodeLink::is_refused(const engine::TrialMessage& message) {
  const auto found = refused_.find({message.trial, message.incarnation});
  if (found == refused_.end()) return false;
  if (!std::holds_alternative<engine::Ended>(message.report)) return true;
  refused_.erase(found);
  if (refused_.empty()) begin_held_starts();
  return true;
}

bool NodeLink::is_refused(const FilesReady& files) const {
  return refused_.contains({trial_of_path(files.directory), files.incarnation});
}

void NodeLink::go_on_with_driver() {
  const bool was_adrift = adrift_until_.has_value();
  adrift_until_.reset();
  if (!was_adrift) return;
  for (ToDriver& note : std::exchange(kept_notes_, {})) send(note);
  send_all({NodeId{}, held_->unacknowledged()});
  for (const auto& [directory, way] : on_their_way_) send(way.files);
  if (!setup_.is_shown) return;
  const std::size_t count = held_->all().size();
  LiveOutput().show("tune: node: a driver is there again, and has taken " + std::to_string(count) +
                    (count == 1 ? " trial" : " trials") + " over\n");
}

void NodeLink::tell(ToDriver note) {
  if (!adrift_until_) return send(note);
  if (kept_notes_.size() < most_kept_notes) kept_notes_.push_back(std::move(note));
}

}  // namespace tune::runtime
