#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/messages.hpp"
#include "runtime/node_mail.hpp"
#include "runtime/process_messages.hpp"
#include "runtime/team_books.hpp"
#include "runtime/travelling_files.hpp"
#include "runtime/trial_run.hpp"
#include "runtime/worker_pool.hpp"

namespace tune::runtime {

/// What an agent's TeamBooks say, done: the processes of parallel workers here, and the letters to
/// other agents. Part of the agent.
class TeamHosts final : private TeamWorld {
 public:
  struct Setup {
    UpstreamActor driver;
    WorkerPool* pool = nullptr;  ///< The agent's; null: no worker can run here.
    std::string experiment_name;
    std::filesystem::path experiment_path;
    /// Where the driver's files are not seen; else null.
    TravellingFiles* files = nullptr;
    /// Tells an end that takes_end() took.
    std::function<void(engine::TrialMessage)> tell_end;
    /// A worker has ended, and what it held is free, some time after on_worker_news().
    std::function<void()> on_ended;
  };

  explicit TeamHosts(AgentActor::pointer agent);
  void set_up(Setup setup) { setup_ = std::move(setup); }
  /// Of the agent.
  void set_node(NodeId node);

  void begin(const engine::Launch& launch);
  void set_trial(TrialId trial, std::uint32_t incarnation, HostActor host);
  /// A trial's end, see TeamBooks.
  [[nodiscard]] bool takes_end(const engine::TrialMessage& end) { return books_.takes_end(end); }
  void on(TeamMail& mail);
  void on_worker_news(const TrialNews& news);
  void on(const NodeLetter& letter);
  void on(const NodeGone& gone);
  void end() { books_.end(); }
  [[nodiscard]] bool is_clearing() const { return books_.is_clearing(); }
  [[nodiscard]] bool is_empty() const { return books_.is_empty(); }
  [[nodiscard]] bool serves_only_others() const { return books_.serves_only_others(); }

 private:
  void tell_trial(const TeamId& team, std::size_t rank, Json body) override;
  std::optional<std::string> start_member(const MemberId& member,
                                          const MemberStart& start) override;
  void tell_member(const MemberId& member, Json body) override;
  void stop_member(const MemberId& member, bool at_once) override;
  void post(NodeId to, TeamPost post) override;
  void tell_end(engine::TrialMessage end) override;
  void end_member(const MemberId& member, const std::string& how);
  void send_letters();
  void note_stale_posts();

  AgentActor::pointer agent_;
  Setup setup_;
  NodeId node_;
  TeamBooks books_;
  NodeMail mail_{max_post_bytes};
  std::map<TeamId, HostActor> trials_;
  struct Member {
    HostActor host;
    std::string trial_name;
  };
  std::map<MemberId, Member> members_;
  bool has_noted_stale_posts_ = false;
};

}  // namespace tune::runtime
