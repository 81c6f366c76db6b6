#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tune/ids.hpp>
#include <tune/resources.hpp>

#include "engine/events.hpp"
#include "runtime/team_post.hpp"

namespace tune::runtime {

/// What TeamBooks have done. Must not call them back.
class TeamWorld {
 public:
  virtual ~TeamWorld() = default;
  /// To the process of a trial that runs here, from one of its workers.
  virtual void tell_trial(const TeamId& team, std::size_t rank, Json body) = 0;
  /// A text if it cannot be started at all; else TeamBooks::on_member_end() says when it is gone.
  virtual std::optional<std::string> start_member(const MemberId& member,
                                                  const MemberStart& start) = 0;
  virtual void tell_member(const MemberId& member, Json body) = 0;
  /// `at_once`: nothing that it does is of use any more.
  virtual void stop_member(const MemberId& member, bool at_once) = 0;
  /// To the books of another node. What one node posts to another arrives in order, or else one of
  /// them is lost to the other.
  virtual void post(NodeId to, TeamPost post) = 0;
  /// The end of a trial and of all its workers.
  virtual void tell_end(engine::TrialMessage end) = 0;
};

/// One agent's books on the parallel workers of trials: on those of the trials that it runs itself,
/// wherever they are, and on those that it runs for any trial. Pure: all that it has done goes to a
/// TeamWorld.
///
/// A worker is started with the first order for it. The end of a trial gives back what its workers
/// hold too, so it is held back until they are gone, or their node is. A worker whose trial is lost
/// with its node is ended at once. What it holds has been granted anew by then, and whoever gets
/// that waits for its end: see is_clearing().
class TeamBooks {
 public:
  explicit TeamBooks(TeamWorld& world) : world_(world) {}

  /// Before all else; and when another driver takes over, which numbers all nodes anew.
  /// @pre is_empty()
  void set_node(NodeId own) {
    own_ = own;
    gone_.clear();
  }

  // ---- Trials that run here ----

  void begin(const TeamId& team, std::string trial_name, const std::vector<WorkerGrant>& workers);
  /// The trial says this to a worker.
  void on_trial_word(const MemberId& member, Json body);
  /// True: the trial had workers, and its end comes from TeamWorld::tell_end(), now or later.
  [[nodiscard]] bool takes_end(const engine::TrialMessage& end);

  // ---- Workers that run here ----

  void on_member_word(const MemberId& member, Json body);
  void on_member_end(const MemberId& member, const std::string& how);

  // ---- Other nodes ----

  void on_post(NodeId from, TeamPost post);
  /// It sent what is no post: what is missing now, nobody knows. The gangs that have parts both
  /// here and there fail.
  void on_bad_post(NodeId from);
  /// It does not come back under this id.
  void on_node_gone(NodeId node);

  /// The experiment is over: workers end, and nobody waits for other nodes.
  void end();
  /// A worker is still here that holds what others have been granted: nothing may start.
  [[nodiscard]] bool is_clearing() const { return orphans_ > 0; }
  [[nodiscard]] bool is_empty() const { return teams_.empty() && members_.empty(); }
  /// No trial here has workers any more, but trials elsewhere have some here.
  [[nodiscard]] bool serves_only_others() const { return teams_.empty() && !members_.empty(); }
  /// Posts of other nodes that were of trials that have ended here.
  [[nodiscard]] std::uint64_t stale_posts() const { return stale_posts_; }

 private:
  enum class State { waiting, started, over };
  struct Worker {
    WorkerGrant grant;
    State state = State::waiting;
  };
  struct Team {
    std::string trial_name;
    std::vector<Worker> workers;
    std::optional<engine::TrialMessage> end = {};  // of the trial, held back
  };
  struct Member {
    NodeId trial_node;
    std::optional<MemberStart> start = {};  // not started yet
    std::deque<Json> orders = {};           // for then
    bool is_busy = false;                   // with a call
    bool is_orphan = false;                 // its trial is lost
  };

  void send(NodeId to, TeamPost post);
  void settle();
  void receive(NodeId from, TeamPost post);
  void receive_as_trial(NodeId from, TeamPost& post);
  void receive_as_member(NodeId from, TeamPost& post);
  void begin_member(NodeId trial_node, const MemberId& id, MemberStart start);
  void start(const MemberId& id, Member& member);
  void order(const MemberId& id, Member& member, Json body);
  void stop(const MemberId& id, Member& member);
  void start_waiting_members();
  [[nodiscard]] std::vector<MemberId> started_workers(
      const std::function<bool(NodeId)>& is_there) const;
  void end_worker(const TeamId& id, Team& team, std::size_t rank, const std::string& how);
  /// Tells the end of a trial that has waited for its last worker, and forgets the team.
  void tell_end_if_over(const TeamId& id);

  TeamWorld& world_;
  NodeId own_;
  std::map<TeamId, Team> teams_;
  std::map<MemberId, Member> members_;
  std::set<NodeId> gone_;
  std::deque<TeamPost> own_posts_;  // of these books to themselves
  std::size_t orphans_ = 0;
  std::uint64_t stale_posts_ = 0;
};

}  // namespace tune::runtime
