#include "runtime/driver_actor.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include <caf/all.hpp>

#include <tune/error.hpp>

#include "actor_faults.hpp"
#include "runtime/record_keeper.hpp"

namespace tune::runtime {
namespace {

// What lies further ahead never comes; so no clock overflows.
constexpr Time longest_delay{10.0 * 365 * 24 * 3600};
// So many records wait for no others. Trials get credit for what is in the journal: half of one's.
constexpr std::size_t many_records = 128;

template <class T, class Variant>
inline constexpr bool is_one_of = false;
template <class T, class... Ts>
inline constexpr bool is_one_of<T, std::variant<Ts...>> = (std::is_same_v<T, Ts> || ...);

}  // namespace

DriverActor::behavior_type Driver::make_behavior(DriverSetup setup) {
  setup_ = std::move(setup);
  begin_ = self_->clock().now() -
           std::chrono::duration_cast<std::chrono::nanoseconds>(setup_.begin.time);
  last_event_ = setup_.begin.last_event;
  scheduler_pace_ = searcher_pace_ = SnapshotPace(last_event_);
  handle(std::move(setup_.begin.event));
  for (std::string& note : setup_.notes) {
    record_turn_.records.emplace_back(NodeNote{std::move(note)});
  }
  end_turn();
  return {
      [this](NodeHello& hello) { on(std::move(hello)); },
      [this](const NodeLost& lost) { on(lost); },
      [this](NodeNews& news) { on(std::move(news)); },
      [this](NodeWarning& warning) {
        record_turn_.records.emplace_back(
            engine::RecordWarning{std::nullopt, std::move(warning.text)});
        end_turn();
      },
      [this](NodeNote& note) {
        record_turn_.records.emplace_back(std::move(note));
        end_turn();
      },
      [this](NodeLetter& letter) { pass_on(letter); },
      [this](SearcherTurnDone& done) { on(std::move(done)); },
      [this](const TurnCommitted& turn) { on(turn); },
      [this](RecordTurnDone& done) { on(std::move(done)); },
      [this](const engine::TimerFired& fired) {
        handle(fired);
        end_turn();
      },
      [this](const StatusDue&) {
        is_status_timer_set_ = false;
        end_turn();
      },
      [this](const RecordsDue&) {
        is_record_timer_set_ = false;
        end_turn();
      },
      [this](const engine::StopRequested& request) {
        if (request.interrupts) {
          record_turn_.records.emplace_back(engine::RecordWarning{
              std::nullopt, request.reason + ": running trials are saved and end"});
        }
        handle(request);
        end_turn();
      },
  };
}

void Driver::on(NodeHello hello) {
  const NodeId id(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.agent = std::move(hello.agent);
  node.origin.node = hello.name;
  node.origin.node_ip = std::move(hello.ip);
  node.origin.pid = hello.pid;
  node.capacity = hello.capacity;
  node.has_own_files = !hello.shares_files;
  const bool is_remote = !hello.is_local;
  if (!is_remote) local_node_ = id;
  std::string note = "node " + node_text(id) + " has joined with " + hello.capacity.describe();
  const std::size_t held = hello.held.size();
  if (hello.takes_part) {
    handle(engine::NodeJoined{id, std::move(hello.name), std::move(hello.capacity),
                              std::move(hello.labels), is_remote, std::move(hello.held)});
  }
  if (held > 0) {
    note += "; held since the last driver: " + std::to_string(held) +
            ", taken over: " + std::to_string(node.adopted.size());
  }
  if (is_remote) record_turn_.records.emplace_back(NodeNote{std::move(note)});
  self_->send(node.agent, NodeWelcome{id, std::exchange(node.adopted, {})});
  end_turn();
}

void Driver::on(const NodeLost& lost) {
  Node& node = nodes_.at(lost.node.value());
  node.agent = nullptr;
  node.turn = {};
  record_turn_.records.emplace_back(
      NodeNote{"node " + node_text(lost.node) + " is lost: " + lost.reason});
  for (const Node& other : nodes_) {
    if (other.agent) self_->send(other.agent, NodeGone{lost.node});
  }
  handle(engine::NodeLeft{lost.node});
  const std::string waiting = setup_.engine->waiting_reason();
  if (!waiting.empty()) {
    record_turn_.records.emplace_back(NodeNote{"the experiment waits: " + waiting});
  }
  end_turn();
}

void Driver::pass_on(NodeLetter& letter) {
  if (letter.to.value() >= nodes_.size()) return;
  const NodeActor& agent = nodes_[letter.to.value()].agent;
  if (agent) self_->send(agent, std::move(letter));  // else its sender hears of the loss
}

std::string Driver::node_text(NodeId id) const {
  const TrialInfo& origin = nodes_.at(id.value()).origin;
  return std::to_string(id.value()) + " (" + origin.node + ", process " +
         std::to_string(origin.pid) + ")";
}

void Driver::on(NodeNews news) {
  if (is_behind() || !held_news_.empty()) {
    held_news_.push_back(std::move(news));
    return;
  }
  handle_news(news);
  end_turn();
}

void Driver::on(SearcherTurnDone done) {
  waiting_searcher_commands_ -= done.commands;
  if (done.snapshot) {
    searcher_pace_.note_taken(done.snapshot->state);
    record_turn_.records.emplace_back(std::move(*done.snapshot));
  }
  for (engine::SuggestionReady& suggestion : done.suggestions) handle(std::move(suggestion));
  if (!done.fault.empty()) fail("the searcher failed", done.fault);
  handle_held_news();
  end_turn();
}

void Driver::on(const TurnCommitted& turn) {
  waiting_commits_ -= turn.records;
  for (const Acknowledgement& acknowledgement : turn.acknowledgements) {
    nodes_[acknowledgement.node.value()].turn.acknowledgements.push_back(acknowledgement);
  }
  if (!turn.storage_error.empty()) fail("the storage failed", turn.storage_error);
  handle_held_news();
  end_turn();
}

void Driver::on(RecordTurnDone done) {
  waiting_records_ -= done.records;
  deletions_.insert(deletions_.end(), done.deletions.begin(), done.deletions.end());
  if (!done.storage_error.empty()) fail("the storage failed", done.storage_error);
  handle_held_news();
  end_turn();
}

Time Driver::now() const { return self_->clock().now() - begin_; }

bool Driver::is_behind() const {
  return waiting_records_ > setup_.max_waiting || waiting_searcher_commands_ > setup_.max_waiting;
}

void Driver::handle(engine::Event event) {
  // What comes after the end is of no account any more.
  if (setup_.engine->is_finished() && last_event_ > setup_.begin.last_event) return;
  is_status_new_ = true;
  setup_.engine->handle(event, now(), commands_);
  // The event stands before the records that came of it.
  record_turn_.records.emplace_back(journal_event(++last_event_, setup_.engine->context().now(),
                                                  std::move(event), setup_.engine->take_decisions(),
                                                  commands_));
  carry_out_commands();
}

void Driver::handle_news(NodeNews& news) {
  for (engine::TrialMessage& message : news.messages) {
    Acknowledgement credit{news.node, message.trial, message.incarnation, message.sequence + 1};
    auto& credits = record_turn_.acknowledgements;
    // A trial's messages stand together: the last one's credit is for all of them.
    if (!credits.empty() && credits.back().trial == credit.trial &&
        credits.back().incarnation == credit.incarnation) {
      credits.back() = credit;
    } else {
      credits.push_back(credit);
    }
    handle(std::move(message));
  }
}

void Driver::handle_held_news() {
  while (!held_news_.empty() && !is_behind()) {
    handle_news(held_news_.front());
    held_news_.pop_front();
    end_turn();  // so that what it makes wait is counted
  }
}

void Driver::fail(const std::string& reason, const std::string& fault) {
  if (!fault_.empty()) return;
  fault_ = fault;
  // What runs is left unfinished, so that it can go on once the fault is mended.
  handle(engine::StopRequested{reason, /*interrupts=*/true});
}

void Driver::carry_out_commands() {
  for (engine::Command& command : commands_) {
    std::visit([this](auto& c) { carry_out(c); }, command);
  }
  commands_.clear();
}

void Driver::end_turn() {
  take_snapshots();
  send_turn();
  // Those who are not through yet may still meet a fault, or set checkpoints free.
  const bool is_quiet = waiting_commits_ + waiting_records_ + waiting_searcher_commands_ == 0;
  if (!end_ || !is_quiet) return;
  ExperimentEnd end = *std::exchange(end_, std::nullopt);
  if (end.error.empty()) end.error = fault_;
  caf::anon_send(setup_.owner, ExperimentOver{std::move(end)});
  self_->quit();
}

template <class Command>
void Driver::carry_out(Command& command) {
  if constexpr (is_one_of<Command, SearcherCommand>) {
    searcher_turn_.commands.emplace_back(std::move(command));
  } else if constexpr (std::is_same_v<Command, engine::DeleteCheckpoint>) {
    record_turn_.records.emplace_back(std::move(command));  // and to a node when that is done
  } else if constexpr (std::is_same_v<Command, engine::Adopt>) {
    nodes_[command.node.value()].adopted.push_back(command);
  } else if constexpr (is_one_of<Command, NodeCommand>) {
    nodes_[command.node.value()].turn.commands.emplace_back(std::move(command));
  } else if constexpr (std::is_same_v<Command, engine::RecordTrialStarted>) {
    record_turn_.records.emplace_back(describe(std::move(command.start)));
  } else if constexpr (std::is_same_v<Command, engine::RecordTrialAdopted>) {
    record_turn_.records.emplace_back(TrialAdopted{describe(std::move(command.start))});
  } else if constexpr (is_one_of<Command, Record>) {
    record_turn_.records.emplace_back(std::move(command));
  } else if constexpr (std::is_same_v<Command, engine::SetTimer>) {
    set_timer(command);
  } else {
    static_assert(std::is_same_v<Command, engine::Finish>);
    end_ = std::move(command.end);
  }
}

TrialInfo Driver::describe(engine::TrialStart start) const {
  TrialInfo trial = nodes_[start.node.value()].origin;
  trial.id = start.trial;
  trial.name = std::move(start.name);
  trial.config = std::move(start.config);
  trial.incarnation = start.incarnation;
  trial.start_iteration = start.start_iteration;
  return trial;
}

void Driver::set_timer(const engine::SetTimer& command) {
  const Time delay = std::max(command.at - now(), Time(0));
  if (delay > longest_delay) return;
  self_->delayed_send(self_, std::chrono::duration_cast<std::chrono::nanoseconds>(delay),
                      engine::TimerFired{command.timer});
}

// A snapshot of the searcher is that of a moment in which it owes no answer.
void Driver::take_snapshots() {
  if (searcher_pace_.is_due(last_event_) && setup_.engine->counts().asked == 0) {
    searcher_pace_.note_asked(last_event_);
    searcher_turn_.snapshot_after = last_event_;
  }
  if (!scheduler_pace_.is_due(last_event_)) return;
  scheduler_pace_.note_asked(last_event_);
  const auto do_without = [this](const std::string& fault) {
    scheduler_pace_.switch_off();
    record_turn_.records.emplace_back(engine::RecordWarning{
        std::nullopt,
        "the scheduler's save() threw, so a resume will go through all events "
        "again: " +
            fault});
  };
  try {
    Json state = setup_.engine->scheduler().save();
    if (state.is_null()) return scheduler_pace_.switch_off();
    scheduler_pace_.note_taken(state);
    record_turn_.records.emplace_back(SnapshotTaken{"scheduler", last_event_, std::move(state)});
  } catch (const std::exception& error) {
    do_without(error.what());
  } catch (...) {
    do_without("what is no std::exception");
  }
}

// A few times a second at most, and not at all where nothing happens.
void Driver::add_status() {
  if (setup_.status_interval <= Time(0) || !is_status_new_) return;
  const Time time = now();
  if (time < next_status_) {
    if (std::exchange(is_status_timer_set_, true)) return;
    self_->delayed_send(self_,
                        std::chrono::duration_cast<std::chrono::nanoseconds>(next_status_ - time),
                        StatusDue{});
    return;
  }
  is_status_new_ = false;
  next_status_ = time + setup_.status_interval;
  record_turn_.status = status();
}

report::RunStatus Driver::status() const {
  report::RunStatus status;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::optional<ResourceAmounts> free = setup_.engine->free_resources(NodeId{i});
    if (!free) continue;
    status.resources += nodes_[i].capacity;
    ResourceAmounts in_use = nodes_[i].capacity;
    in_use -= *free;
    status.resources_in_use += in_use;
    const TrialInfo& origin = nodes_[i].origin;
    status.nodes.push_back({NodeId{i}, origin.node, origin.pid, local_node_ == NodeId{i},
                            nodes_[i].capacity, std::move(in_use)});
  }
  try {
    status.scheduler = setup_.engine->scheduler().describe();
  } catch (...) {
    // A user's code; what it cannot describe is left out.
    status.scheduler.clear();
  }
  status.waiting = setup_.engine->waiting_reason();
  return status;
}

void Driver::send_turn() {
  add_status();
  waiting_searcher_commands_ += searcher_turn_.commands.size();
  if (local_node_) {
    for (engine::DeleteCheckpoint& deletion : std::exchange(deletions_, {})) {
      for (Node& node : nodes_) {
        if (node.agent && node.has_own_files) node.turn.commands.emplace_back(deletion);
      }
      nodes_[local_node_->value()].turn.commands.emplace_back(std::move(deletion));
    }
  }
  if (!searcher_turn_.commands.empty() || searcher_turn_.snapshot_after != 0) {
    self_->send(setup_.searcher, std::exchange(searcher_turn_, {}));
  }
  send_records();
  for (Node& node : nodes_) {
    if (node.turn.commands.empty() && node.turn.acknowledgements.empty()) continue;
    NodeTurn turn = std::exchange(node.turn, {});
    if (node.agent) self_->send(node.agent, std::move(turn));
  }
}

void Driver::send_records() {
  const std::size_t count = record_turn_.records.size();
  if (count == 0 && record_turn_.acknowledgements.empty() && !record_turn_.status) return;
  const Time time = now();
  if (time < next_records_ && count < many_records && !end_) {
    if (std::exchange(is_record_timer_set_, true)) return;
    self_->delayed_send(self_,
                        std::chrono::duration_cast<std::chrono::nanoseconds>(next_records_ - time),
                        RecordsDue{});
    return;
  }
  next_records_ = time + setup_.record_interval;
  waiting_commits_ += count;
  waiting_records_ += count;
  self_->send(setup_.journal, std::exchange(record_turn_, {}));
}

DriverActor::behavior_type drive(DriverActor::stateful_pointer<Driver> self, DriverSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
