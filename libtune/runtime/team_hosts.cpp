#include "runtime/team_hosts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <caf/all.hpp>

namespace tune::runtime {

void TeamHosts::begin(const TrialRun& run, NodeId node) {
  Team team;
  team.node = node;
  team.run.experiment_name = run.experiment_name;
  team.run.experiment_path = run.experiment_path;
  team.run.launch.trial = run.launch.trial;
  team.run.launch.incarnation = run.launch.incarnation;
  team.run.launch.node = node;
  team.run.launch.trial_name = run.launch.trial_name;
  for (const WorkerGrant& grant : run.launch.workers) team.workers.push_back({grant});
  teams_[run.launch.trial] = std::move(team);
}

void TeamHosts::pass_on(TeamMail& mail, WorkerPool& pool) {
  const auto found = teams_.find(mail.trial);
  if (found == teams_.end() || found->second.end) return;
  Team& team = found->second;
  if (mail.incarnation != team.run.launch.incarnation || mail.rank >= team.workers.size()) return;
  Worker& worker = team.workers[mail.rank];
  if (!mail.to_worker) {
    if (mail.body.contains("answer") || mail.body.contains("fault")) worker.is_busy = false;
    return agent_->send(team.trial, std::move(mail));
  }
  if (!worker.host && !worker.is_over) start(team, mail.rank, pool);
  if (worker.is_over) return;  // the trial has been told, or will be
  if (mail.body.contains("function")) worker.is_busy = true;
  agent_->send(worker.host, std::move(mail));
}

void TeamHosts::start(Team& team, std::size_t rank, WorkerPool& pool) {
  Worker& worker = team.workers[rank];
  if (worker.grant.node != team.node) {
    worker.is_over = true;
    return tell_death(team, rank,
                      "its place is on another node than the trial's, where it cannot be called: "
                      "ask for GangStrategy::strict_pack");
  }
  TrialRun run = team.run;
  run.launch.grant = worker.grant.resources;
  run.place = TeamPlace{rank, team.workers.size()};
  worker.host = pool.start(std::move(run));
}

std::optional<engine::TrialMessage> TeamHosts::on_worker_news(const TrialNews& news) {
  const engine::TrialMessage& last = news.messages.back();
  const auto* ended = std::get_if<engine::Ended>(&last.report);
  const auto found = teams_.find(last.trial);
  if (ended == nullptr || found == teams_.end()) return std::nullopt;
  Team& team = found->second;
  if (last.incarnation != team.run.launch.incarnation) return std::nullopt;
  Worker& worker = team.workers.at(*news.rank);
  worker.is_over = true;
  worker.host = nullptr;
  if (!team.end) {
    tell_death(team, *news.rank, ended->message);
    return std::nullopt;
  }
  if (!is_over(team)) return std::nullopt;
  std::optional<engine::TrialMessage> end = std::move(team.end);
  teams_.erase(found);
  return end;
}

void TeamHosts::tell_death(const Team& team, std::size_t rank, const std::string& text) {
  const engine::Launch& launch = team.run.launch;
  Json body;
  body["died"] = text;
  agent_->send(team.trial,
               TeamMail{launch.trial, launch.incarnation, false, rank, std::move(body)});
}

bool TeamHosts::holds_back(const engine::TrialMessage& end) {
  const auto found = teams_.find(end.trial);
  if (found == teams_.end()) return false;
  Team& team = found->second;
  if (is_over(team)) {
    teams_.erase(found);
    return false;
  }
  team.end = end;
  const engine::Launch& launch = team.run.launch;
  for (Worker& worker : team.workers) {
    if (!worker.host) continue;
    TrialOrders orders;
    orders.orders.emplace_back(engine::Stop{launch.trial, launch.incarnation, launch.node, false});
    agent_->send(worker.host, std::move(orders));
    // Whoever called it is gone, or has given it up.
    if (worker.is_busy) agent_->send(worker.host, AbortWorker{});
  }
  return true;
}

bool TeamHosts::is_over(const Team& team) {
  return std::all_of(team.workers.begin(), team.workers.end(),
                     [](const Worker& worker) { return !worker.host; });
}

}  // namespace tune::runtime
