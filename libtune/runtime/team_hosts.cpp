#include "runtime/team_hosts.hpp"

#include <exception>
#include <stdexcept>
#include <utility>
#include <variant>

#include <caf/all.hpp>

namespace tune::runtime {

TeamHosts::TeamHosts(AgentActor::pointer agent) : agent_(agent), books_(*this) {}

void TeamHosts::set_node(NodeId node) {
  node_ = node;
  books_.set_node(node);
  mail_ = NodeMail(max_post_bytes);
}

void TeamHosts::begin(const engine::Launch& launch) {
  books_.begin({launch.trial, launch.incarnation}, launch.trial_name, launch.workers);
}

void TeamHosts::set_trial(TrialId trial, std::uint32_t incarnation, HostActor host) {
  trials_[{trial, incarnation}] = std::move(host);
}

void TeamHosts::on(TeamMail& mail) {
  const MemberId member{{mail.trial, mail.incarnation}, mail.rank};
  if (mail.to_worker) {
    books_.on_trial_word(member, std::move(mail.body));
  } else {
    books_.on_member_word(member, std::move(mail.body));
  }
}

void TeamHosts::on_worker_news(const TrialNews& news) {
  const engine::TrialMessage& last = news.messages.back();
  const auto* ended = std::get_if<engine::Ended>(&last.report);
  if (ended == nullptr) return;
  const MemberId member{{last.trial, last.incarnation}, *news.rank};
  const auto found = members_.find(member);
  if (setup_.files == nullptr || found == members_.end()) return end_member(member, ended->message);
  setup_.files->deliver_worker(
      found->second.trial_name, last.incarnation, member.rank,
      [this, member, how = ended->message](const std::optional<Error>& fault) {
        if (fault) agent_->send(setup_.driver, NodeWarning{fault->message});
        end_member(member, how);
        setup_.on_ended();
      });
}

void TeamHosts::end_member(const MemberId& member, const std::string& how) {
  members_.erase(member);
  books_.on_member_end(member, how);
}

void TeamHosts::on(const NodeLetter& letter) {
  std::optional<TeamPost> post;
  try {
    const auto message = mail_.receive(letter);
    if (!message) throw std::invalid_argument(message.error().message);
    if (*message) post = decode_post(**message);
  } catch (const std::exception& error) {
    agent_->send(setup_.driver, NodeNote{"node " + std::to_string(letter.from.value()) +
                                         " sent node " + std::to_string(node_.value()) + " " +
                                         error.what() + ": trials that have workers on both fail"});
    return books_.on_bad_post(letter.from);
  }
  if (post) books_.on_post(letter.from, *std::move(post));
  note_stale_posts();
  send_letters();
}

void TeamHosts::on(const NodeGone& gone) {
  mail_.forget(gone.node);
  books_.on_node_gone(gone.node);
}

void TeamHosts::note_stale_posts() {
  if (books_.stale_posts() == 0 || std::exchange(has_noted_stale_posts_, true)) return;
  agent_->send(setup_.driver,
               NodeNote{"node " + std::to_string(node_.value()) +
                        " refused a letter of a worker whose trial has ended there; further ones "
                        "are not told of"});
}

// --- what the books have done

void TeamHosts::tell_trial(const TeamId& team, std::size_t rank, Json body) {
  const auto trial = trials_.find(team);
  if (trial == trials_.end()) return;
  agent_->send(trial->second, TeamMail{team.trial, team.incarnation, false, rank, std::move(body)});
}

std::optional<std::string> TeamHosts::start_member(const MemberId& member,
                                                   const MemberStart& start) {
  if (setup_.pool == nullptr) return "its node runs no trials";
  TrialRun run;
  run.experiment_name = setup_.experiment_name;
  run.experiment_path = setup_.experiment_path;
  run.launch.trial = member.team.trial;
  run.launch.incarnation = member.team.incarnation;
  run.launch.node = node_;
  run.launch.trial_name = start.trial_name;
  run.launch.grant = start.grant;
  run.place = TeamPlace{member.rank, start.size};
  members_[member] = {setup_.pool->start(std::move(run)), start.trial_name};
  return std::nullopt;
}

void TeamHosts::tell_member(const MemberId& member, Json body) {
  agent_->send(members_.at(member).host, TeamMail{member.team.trial, member.team.incarnation, true,
                                                  member.rank, std::move(body)});
}

void TeamHosts::stop_member(const MemberId& member, bool at_once) {
  const HostActor& host = members_.at(member).host;
  TrialOrders orders;
  orders.orders.emplace_back(
      engine::Stop{member.team.trial, member.team.incarnation, node_, false});
  agent_->send(host, std::move(orders));
  if (!at_once) return;
  agent_->send(host, AbortWorker{member.team.trial, member.team.incarnation, member.rank});
}

void TeamHosts::post(NodeId to, TeamPost post) {
  mail_.send(to, encode_post(post));
  send_letters();
}

void TeamHosts::send_letters() {
  for (NodeLetter& letter : mail_.take()) agent_->send(setup_.driver, std::move(letter));
}

void TeamHosts::tell_end(engine::TrialMessage end) {
  trials_.erase({end.trial, end.incarnation});
  setup_.tell_end(std::move(end));
}

}  // namespace tune::runtime
