#include "runtime/team_books.hpp"

#include <algorithm>

namespace tune::runtime {
namespace {

using Kind = TeamPost::Kind;

constexpr const char* lost_node_text = "its node is lost";

}  // namespace

// --- trials that run here

void TeamBooks::begin(const TeamId& team, std::string trial_name,
                      const std::vector<WorkerGrant>& workers) {
  Team& entry = teams_[team];
  entry = {std::move(trial_name), {}};
  for (const WorkerGrant& grant : workers) entry.workers.push_back({grant});
}

void TeamBooks::on_trial_word(const MemberId& member, Json body) {
  const auto found = teams_.find(member.team);
  if (found == teams_.end() || found->second.end) return;
  Team& team = found->second;
  if (member.rank >= team.workers.size()) return;
  Worker& worker = team.workers[member.rank];
  if (worker.state == State::over) return;  // the trial has been told
  const NodeId to = worker.grant.node;
  if (gone_.contains(to)) {
    end_worker(member.team, team, member.rank, lost_node_text);
    return;
  }
  if (worker.state == State::waiting) {
    worker.state = State::started;
    const MemberStart start{team.trial_name, team.workers.size(), worker.grant.resources};
    send(to, {member, Kind::start, to_json(start)});
  }
  send(to, {member, Kind::order, std::move(body)});
  settle();
}

bool TeamBooks::takes_end(const engine::TrialMessage& end) {
  const TeamId id{end.trial, end.incarnation};
  const auto found = teams_.find(id);
  if (found == teams_.end()) return false;
  found->second.end = end;
  for (std::size_t rank = 0; rank < found->second.workers.size(); ++rank) {
    const Worker& worker = found->second.workers[rank];
    if (worker.state == State::started) send(worker.grant.node, {{id, rank}, Kind::stop});
  }
  tell_end_if_over(id);
  settle();
  return true;
}

void TeamBooks::end_worker(const TeamId& id, Team& team, std::size_t rank, const std::string& how) {
  team.workers[rank].state = State::over;
  if (team.end) return tell_end_if_over(id);
  Json body;
  body["died"] = how;
  world_.tell_trial(id, rank, std::move(body));
}

void TeamBooks::tell_end_if_over(const TeamId& id) {
  const auto found = teams_.find(id);
  Team& team = found->second;
  const bool is_over = std::none_of(team.workers.begin(), team.workers.end(),
                                    [](const Worker& w) { return w.state == State::started; });
  if (!team.end || !is_over) return;
  engine::TrialMessage end = *std::move(team.end);
  teams_.erase(found);
  world_.tell_end(std::move(end));
}

void TeamBooks::receive_as_trial(NodeId from, TeamPost& post) {
  const MemberId& id = post.member;
  const auto found = teams_.find(id.team);
  const bool is_known = found != teams_.end() && id.rank < found->second.workers.size();
  if (!is_known || found->second.workers[id.rank].grant.node != from ||
      found->second.workers[id.rank].state != State::started) {
    if (post.kind == Kind::word) ++stale_posts_;
    return;
  }
  if (post.kind == Kind::over) {
    return end_worker(id.team, found->second, id.rank, post.body.get<std::string>());
  }
  if (!found->second.end) world_.tell_trial(id.team, id.rank, std::move(post.body));
}

// --- workers that run here

void TeamBooks::on_member_word(const MemberId& member, Json body) {
  const auto found = members_.find(member);
  if (found == members_.end() || found->second.is_orphan) return;
  if (body.contains("answer") || body.contains("fault")) found->second.is_busy = false;
  send(found->second.trial_node, {member, Kind::word, std::move(body)});
  settle();
}

void TeamBooks::on_member_end(const MemberId& member, const std::string& how) {
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  const Member ended = std::move(found->second);
  members_.erase(found);
  if (!ended.is_orphan) {
    send(ended.trial_node, {member, Kind::over, how});
  } else if (--orphans_ == 0) {
    start_waiting_members();
  }
  settle();
}

void TeamBooks::receive_as_member(NodeId from, TeamPost& post) {
  const MemberId& id = post.member;
  const auto found = members_.find(id);
  if (post.kind == Kind::start) {
    if (found != members_.end()) {
      ++stale_posts_;
      return;
    }
    return begin_member(from, id, member_start_from_json(post.body));
  }
  // It has died when that was on its way, or what should have started it was no post.
  if (found == members_.end()) return send(from, {id, Kind::over, "it is not there"});
  if (found->second.trial_node != from) {
    ++stale_posts_;
    return;
  }
  if (post.kind == Kind::order) {
    order(id, found->second, std::move(post.body));
  } else {
    stop(id, found->second);
  }
}

void TeamBooks::begin_member(NodeId trial_node, const MemberId& id, MemberStart start) {
  Member& member = members_[id];
  member.trial_node = trial_node;
  member.start = std::move(start);
  if (!is_clearing()) this->start(id, member);
}

void TeamBooks::start(const MemberId& id, Member& member) {
  const auto fault = world_.start_member(id, *std::exchange(member.start, std::nullopt));
  if (fault) {
    send(member.trial_node, {id, Kind::over, *fault});
    members_.erase(id);
    return;
  }
  for (Json& body : std::exchange(member.orders, {})) order(id, member, std::move(body));
}

void TeamBooks::start_waiting_members() {
  std::vector<MemberId> waiting;
  for (const auto& [id, member] : members_) {
    if (member.start) waiting.push_back(id);
  }
  for (const MemberId& id : waiting) start(id, members_.at(id));
}

void TeamBooks::order(const MemberId& id, Member& member, Json body) {
  if (member.start) {
    member.orders.push_back(std::move(body));
    return;
  }
  if (body.contains("function")) member.is_busy = true;
  world_.tell_member(id, std::move(body));
}

void TeamBooks::stop(const MemberId& id, Member& member) {
  if (!member.start) return world_.stop_member(id, member.is_busy || member.is_orphan);
  const NodeId trial_node = member.trial_node;
  members_.erase(id);
  send(trial_node, {id, Kind::over, "it was not started"});
}

// --- other nodes

void TeamBooks::send(NodeId to, TeamPost post) {
  if (to == own_) {
    own_posts_.push_back(std::move(post));
  } else if (!gone_.contains(to)) {
    world_.post(to, std::move(post));
  }
}

// What these books tell themselves waits until nothing else is being done with them.
void TeamBooks::settle() {
  while (!own_posts_.empty()) {
    TeamPost post = std::move(own_posts_.front());
    own_posts_.pop_front();
    receive(own_, std::move(post));
  }
}

void TeamBooks::on_post(NodeId from, TeamPost post) {
  if (gone_.contains(from)) {
    ++stale_posts_;
    return;
  }
  receive(from, std::move(post));
  settle();
}

void TeamBooks::receive(NodeId from, TeamPost post) {
  if (post.kind == Kind::word || post.kind == Kind::over) {
    receive_as_trial(from, post);
  } else {
    receive_as_member(from, post);
  }
}

std::vector<MemberId> TeamBooks::started_workers(
    const std::function<bool(NodeId)>& is_there) const {
  std::vector<MemberId> workers;
  for (const auto& [id, team] : teams_) {
    for (std::size_t rank = 0; rank < team.workers.size(); ++rank) {
      const Worker& worker = team.workers[rank];
      if (worker.state != State::started || !is_there(worker.grant.node)) continue;
      workers.push_back({id, rank});
    }
  }
  return workers;
}

void TeamBooks::on_bad_post(NodeId from) {
  // They count until they are gone.
  for (const MemberId& id : started_workers([&](NodeId node) { return node == from; })) {
    send(from, {id, Kind::stop});
    Json body;
    body["died"] = "its node sent what is no message";
    if (!teams_.at(id.team).end) world_.tell_trial(id.team, id.rank, std::move(body));
  }
  std::vector<MemberId> here;
  for (auto& [id, member] : members_) {
    if (member.trial_node == from && !member.is_orphan) here.push_back(id);
  }
  for (const MemberId& id : here) {
    members_.at(id).is_busy = true;  // for all that is known
    stop(id, members_.at(id));
  }
  settle();
}

void TeamBooks::on_node_gone(NodeId node) {
  if (!gone_.insert(node).second) return;
  for (const MemberId& id : started_workers([&](NodeId there) { return there == node; })) {
    end_worker(id.team, teams_.at(id.team), id.rank, lost_node_text);
  }
  std::erase_if(members_, [&](const auto& entry) {
    return entry.second.trial_node == node && entry.second.start;
  });
  for (auto& [id, member] : members_) {
    if (member.trial_node != node) continue;
    member.is_orphan = true;
    ++orphans_;
    world_.stop_member(id, /*at_once=*/true);
  }
  settle();
}

void TeamBooks::end() {
  for (const MemberId& id : started_workers([&](NodeId node) { return node != own_; })) {
    end_worker(id.team, teams_.at(id.team), id.rank, "the experiment is over");
  }
  std::vector<MemberId> here;
  for (const auto& [id, member] : members_) {
    if (member.trial_node != own_ && !member.is_orphan) here.push_back(id);
  }
  for (const MemberId& id : here) stop(id, members_.at(id));
  settle();
}

}  // namespace tune::runtime
