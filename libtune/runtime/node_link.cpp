#include "runtime/node_link.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

#include <caf/all.hpp>

#include <tune/registry.hpp>

#include "actor_faults.hpp"
#include "core/number_text.hpp"
#include "live_output.hpp"
#include "plugin_loader.hpp"
#include "runtime/agent_actor.hpp"
#include "runtime/node_files.hpp"
#include "store/directory_token.hpp"

namespace tune::runtime {
namespace {

/// How long the end waits for the driver to have heard of it.
constexpr std::chrono::seconds last_words_time{2};

/// Only what is in the driver's directory is brought here.
void require_start(const NodeOffer& offer) {
  std::error_code ignored;
  if (offer.resume_from.empty() || std::filesystem::is_directory(offer.resume_from, ignored))
    return;
  throw std::invalid_argument("it sees neither the driver's directory nor the checkpoint " +
                              offer.resume_from +
                              " (resume_from): that must be at the same place on each machine");
}

void require_offer(const NodeOffer& offer) {
  load_plugins(offer.plugins);
  // A function that is not registered is found by its place in the program, which is the same.
  if (!offer.trainable.starts_with("function:")) (void)detail::find_key(offer.trainable);
}

}  // namespace

NodeLinkActor::behavior_type NodeLink::make_behavior(NodeLinkSetup setup) {
  setup_ = std::move(setup);
  peer_ = setup_.gate;
  heartbeat_ = Heartbeat(offer_time, self_->clock().now());
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  self_->monitor(peer_);
  send(setup_.node);
  self_->delayed_send(self_, heartbeat_.interval(), HeartbeatDue{});
  return {
      [this](const NodeHello&) {
        send(NodeReady{shares_files_, {}});
      },
      [this](NodeNews& news) { on(news); },
      [this](NodeWarning& warning) { tell(std::move(warning)); },
      [this](NodeNote& note) { tell(std::move(note)); },
      [this](NodeLetter& letter) {
        is_part_of_gangs_ = true;
        send(std::move(letter));
      },
      [this](const NodeFrame& frame) { on(frame); },
      [this](const HeartbeatDue&) { look(); },
      [this](const NodeLeaves& leaves) { leave(leaves); },
      [this](const FilesAt& files) {
        if (!is_joined_) driver_files_ = files.server;
      },
      [this](const DriverFound& found) { meet(found); },
      [this](FilesReady& files) { return pass_on(files); },
  };
}

void NodeLink::on(const NodeFrame& frame) {
  const auto sender = caf::actor_cast<FrameActor>(self_->current_sender());
  if (!sender || !is_connected_) return;
  if (sender != peer_) {
    // The gate has handed this node on.
    if (peer_ != setup_.gate) return;
    peer_ = sender;
    self_->monitor(peer_);
  }
  heartbeat_.hear(self_->clock().now());
  const auto json = frames_.add(frame);
  try {
    if (!json) throw std::invalid_argument(json.error().message);
    if (*json) on(to_node_from_json(**json));
  } catch (const std::exception& error) {
    end(NodeSessionOver::End::lost, std::string("the driver sent ") + error.what());
  }
}

void NodeLink::on(ToNode message) {
  if (over_) return;
  std::visit(
      [this](auto& m) {
        using Message = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<Message, NodeOffer> || std::is_same_v<Message, FilesTaken> ||
                      std::is_same_v<Message, NodeWelcome> || std::is_same_v<Message, NodeTurn>) {
          on(m);
        } else if constexpr (std::is_same_v<Message, NodeRefusal>) {
          end(NodeSessionOver::End::refused, m.reason);
        } else if constexpr (std::is_same_v<Message, NodeFenced>) {
          end(NodeSessionOver::End::lost, "the driver has given this node up: " + m.reason,
              NodeLeaves{"it was given up"});
        } else if constexpr (std::is_same_v<Message, NodeOver>) {
          end(NodeSessionOver::End::over, {}, NodeLeaves{});
        } else if constexpr (std::is_same_v<Message, NodePing>) {
          if (!has_agent_) return;
          self_->request(agent_, std::chrono::seconds(10), m)
              .then([this](const NodePong& pong) { send(pong); }, [](const caf::error&) {});
        } else {
          is_part_of_gangs_ |= std::is_same_v<Message, NodeLetter>;
          if (has_agent_) self_->send(agent_, std::move(m));
        }
      },
      message);
}

void NodeLink::on(const NodeOffer& offer) {
  if (has_agent_) return hand_over(offer);
  try {
    require_offer(offer);
    start_agent(offer);
    offer_ = offer;
    if (offer.driver_grace.count() > 0) held_.emplace();
  } catch (const std::exception& error) {
    return end(NodeSessionOver::End::refused, error.what(), NodeRefusal{error.what()});
  }
  heartbeat_ = Heartbeat(offer.node_timeout, self_->clock().now());
  if (!setup_.is_shown) return;
  LiveOutput().show("tune: node: joined experiment " + offer.experiment_name + " with " +
                    setup_.node.capacity.describe() +
                    (shares_files_ ? "" : "; what it needs of the driver's files is copied") +
                    "\n");
}

// After a fault of its own: what it started would keep the process, and its trials, for ever.
NodeLink::~NodeLink() {
  if (has_agent_) caf::anon_send_exit(agent_, caf::exit_reason::kill);
  for (const caf::actor_addr& actor : file_actors_) {
    caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(actor), caf::exit_reason::kill);
  }
}

void NodeLink::start_agent(const NodeOffer& offer) {
  AgentSetup setup;
  setup.driver = UpstreamActor(self_);
  setup.processes = setup_.stage;
  setup.worker_options = {offer.trainable, offer.plugins, offer.times, offer.reuse_workers,
                          setup_.gpus};
  setup.capacity = setup_.node.capacity;
  setup.labels = setup_.node.labels;
  setup.experiment_name = offer.experiment_name;
  setup.experiment_path = offer.experiment_path;
  setup.checkpoint = offer.checkpoint;
  setup.resume_from = offer.resume_from;
  setup.stop_grace = offer.times.stop_grace;
  leave_time_ = offer.times.stop_grace + offer.times.kill_grace;
  shares_files_ = store::sees_token(offer.token_path, offer.token_content);
  if (!shares_files_) use_scratch(offer, setup);
  agent_ = self_->spawn<caf::monitored>(run_agent, std::move(setup));
  has_agent_ = true;
}

// @throws std::invalid_argument
void NodeLink::use_scratch(const NodeOffer& offer, AgentSetup& setup) {
  require_start(offer);
  if (!driver_files_ || !setup_.scratch) {
    throw std::invalid_argument("it does not see the driver's directory " + offer.experiment_path);
  }
  const auto directory = setup_.scratch->open(offer.experiment_id);
  if (!directory) throw std::invalid_argument(directory.error().message);
  start_files(*directory);
  setup.experiment_path = *directory;
  NodeFilesSetup files{*directory, driver_files_, fetcher_, packer_, NodeLinkActor(self_)};
  files.node_name = setup_.node.name + ", process " + std::to_string(setup_.node.pid);
  files.most_kept_bytes = setup_.scratch->most_kept_bytes();
  files.kept = setup_.kept;
  setup.make_files = [files = std::move(files)](AgentActor::pointer agent) {
    return std::make_unique<NodeFiles>(agent, files);
  };
}

void NodeLink::start_files(const std::filesystem::path& directory) {
  server_ = self_->spawn<caf::monitored>(serve_files, directory);
  fetcher_ = self_->spawn<caf::monitored + caf::detached>(fetch_files,
                                                          FetcherOptions{.experiment = directory});
  packer_ = self_->spawn<caf::monitored + caf::detached>(pack_trials, directory);
  file_actors_ = {server_.address(), fetcher_.address(), packer_.address()};
  self_->send(caf::actor_cast<PeerActor>(peer_), FilesAt{server_});
}

void NodeLink::end_files() {
  if (std::exchange(are_files_ending_, true)) return;
  for (const caf::actor_addr& actor : file_actors_) {
    caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(actor),
                        caf::exit_reason::user_shutdown);
  }
}

caf::typed_response_promise<FilesTaken> NodeLink::pass_on(FilesReady& files) {
  auto promise = self_->make_response_promise<FilesTaken>();
  if (over_ || is_refused(files)) {
    promise.deliver(FilesTaken{files.directory, over_ ? "the connection to the driver is over"
                                                      : "the driver does not want it"});
    return promise;
  }
  on_their_way_.insert_or_assign(files.directory, FilesOnTheirWay{files, promise});
  if (is_joined_) send(std::move(files));
  return promise;
}

void NodeLink::on(const FilesTaken& taken) {
  auto way = on_their_way_.extract(taken.directory);
  if (!way.empty()) way.mapped().promise.deliver(taken);
}

void NodeLink::on(NodeWelcome& welcome) {
  is_joined_ = true;
  is_part_of_gangs_ = false;
  if (!has_agent_) return;
  std::vector<engine::Adopt> adopted = std::exchange(welcome.adopted, {});
  self_->send(agent_, std::move(welcome));
  if (!held_) return;
  NodeTurn turn;
  for (const engine::Adopt& run : adopted) {
    turn.acknowledgements.push_back({run.node, run.trial, run.incarnation, run.next});
  }
  const std::vector<engine::HeldRun> refused = held_->drop_all_but(adopted);
  on(turn);
  end_refused(refused);
  go_on_with_driver();
}

void NodeLink::on(NodeTurn& turn) {
  if (!has_agent_) return;
  if (held_) {
    for (const NodeCommand& command : turn.commands) {
      const auto* const launch = std::get_if<engine::Launch>(&command);
      if (launch == nullptr) continue;
      held_->launch(launch->trial, launch->incarnation);
      is_part_of_gangs_ |= !launch->workers.empty();
    }
    for (const Acknowledgement& credit : turn.acknowledgements) held_->acknowledge(credit);
    hold_starts(turn);
  }
  if (!turn.commands.empty() || !turn.acknowledgements.empty())
    self_->send(agent_, std::move(turn));
}

void NodeLink::on(NodeNews& news) {
  if (over_) return;
  if (!refused_.empty()) {
    std::erase_if(news.messages, [this](const auto& message) { return is_refused(message); });
  }
  if (held_) held_->keep(news.messages);
  if (is_joined_) send_all(std::move(news));
}

void NodeLink::send_all(NodeNews news) {
  auto begin = news.messages.begin();
  while (begin != news.messages.end()) {
    const auto left = static_cast<std::size_t>(news.messages.end() - begin);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(left, max_node_items));
    send_news({news.node, {std::make_move_iterator(begin), std::make_move_iterator(end)}});
    begin = end;
  }
}

// In halves where they are too long together.
void NodeLink::send_news(NodeNews news) {
  ToDriver message(std::move(news));
  try {
    return send(message);
  } catch (const std::length_error&) {
    news = std::get<NodeNews>(std::move(message));
    if (news.messages.size() < 2) throw;
  }
  const auto middle = news.messages.begin() + std::ssize(news.messages) / 2;
  NodeNews rest{news.node,
                {std::make_move_iterator(middle), std::make_move_iterator(news.messages.end())}};
  news.messages.erase(middle, news.messages.end());
  send_news(std::move(news));
  send_news(std::move(rest));
}

void NodeLink::on_down(const caf::down_msg& down) {
  if (agent_ && down.source == agent_.address()) {
    has_agent_ = false;
    if (!over_ && leaves_) {
      end(NodeSessionOver::End::left, leaves_->reason, *leaves_);
    } else if (!over_) {
      end(NodeSessionOver::End::fault, "its agent ended: " + self_->system().render(down.reason));
    }
    return quit_if_done();
  }
  if (file_actors_.erase(down.source) > 0) {
    if (!over_) {
      end(NodeSessionOver::End::fault,
          "an actor for its files ended: " + self_->system().render(down.reason));
    }
    return quit_if_done();
  }
  if (!is_connected_ || down.source != peer_.address()) return;  // the gate, whose part is over
  waits_for_peer_ = is_connected_ = false;
  lose_driver("the connection to the driver broke");
  quit_if_done();
}

void NodeLink::look() {
  if (over_) {
    if (self_->clock().now() < farewell_end_) return;  // the tick of a heartbeat
    waits_for_peer_ = false;
    return quit_if_done();
  }
  if (adrift_until_ && *adrift_until_ <= self_->clock().now()) {
    return end(NodeSessionOver::End::lost, "no driver came back within " +
                                               core::number_text(offer_.driver_grace.count()) +
                                               " s (driver_grace)");
  }
  if (is_connected_ && heartbeat_.is_lost(self_->clock().now())) {
    lose_driver("nothing was heard of the driver for too long");
    if (over_) return;
  }
  // What its trials have saved counts only at the driver; and the news of it follows the files.
  const bool was_quiet = std::exchange(is_quiet_, on_their_way_.empty());
  if (leaves_ && leave_end_ <= self_->clock().now() && was_quiet && is_quiet_) {
    return end(NodeSessionOver::End::left, leaves_->reason, *leaves_);
  }
  self_->delayed_send(self_, heartbeat_.interval(), HeartbeatDue{});
}

void NodeLink::leave(NodeLeaves leaves) {
  if (!has_agent_ || adrift_until_) {
    return end(NodeSessionOver::End::left, leaves.reason, leaves);
  }
  if (leaves_ || over_) return;
  // An infinite grace is no time of the clock.
  constexpr std::chrono::duration<double> longest = std::chrono::hours(24);
  const auto time = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::min(leave_time_, longest));
  leave_end_ = self_->clock().now() + time;
  self_->delayed_send(self_, time, HeartbeatDue{});
  send(NodeNote{"node " + setup_.node.name + ", process " + std::to_string(setup_.node.pid) +
                ", leaves: " + leaves.reason + "; its trials save first"});
  leaves_ = std::move(leaves);
  self_->send(agent_, LeaveNode{});
}

void NodeLink::send(const ToDriver& message) {
  if (over_ || !is_connected_) return;
  for (NodeFrame& frame : to_frames(to_json(message))) self_->send(peer_, std::move(frame));
}

void NodeLink::end(NodeSessionOver::End end, std::string reason,
                   const std::optional<ToDriver>& farewell) {
  if (over_) return;
  farewell_ = farewell;
  adrift_until_.reset();
  over_ = NodeSessionOver{end, std::move(reason)};
  for (auto& [directory, way] : std::exchange(on_their_way_, {})) {
    way.promise.deliver(FilesTaken{directory, "the connection to the driver is over"});
  }
  if (has_agent_ && end == NodeSessionOver::End::over) {
    self_->send(agent_, EndNode{});
  } else if (has_agent_) {
    self_->send_exit(agent_, caf::exit_reason::kill);
  }
  quit_if_done();
}

void NodeLink::say_farewell() {
  const ToDriver farewell = *std::exchange(farewell_, {});
  if (!is_connected_) return;
  for (NodeFrame& frame : to_frames(to_json(farewell))) self_->send(peer_, std::move(frame));
  // The driver's end goes once it has heard that.
  waits_for_peer_ = is_connected_;
  farewell_end_ = self_->clock().now() + last_words_time;
  self_->delayed_send(self_, last_words_time, HeartbeatDue{});
}

void NodeLink::quit_if_done() {
  if (!over_ || has_agent_) return;
  if (!file_actors_.empty()) return end_files();
  if (farewell_) say_farewell();
  if (waits_for_peer_) return;
  caf::anon_send(setup_.owner, *over_);
  self_->quit();
}

NodeLinkActor::behavior_type link_node(NodeLinkActor::stateful_pointer<NodeLink> self,
                                       NodeLinkSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
