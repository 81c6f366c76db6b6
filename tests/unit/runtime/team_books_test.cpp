// The books of several agents, the driver between them, and made-up processes of trials and
// workers: in any order of what may come in any order, with deaths, losses of nodes, and posts that
// are damaged.
#include "runtime/team_books.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "runtime/worker_meeting.hpp"
#include "support/seed.hpp"

namespace tune::runtime {
namespace {

using Kind = TeamPost::Kind;

engine::TrialMessage end_of(const TeamId& team) {
  return {team.trial, team.incarnation, 9, engine::Ended{engine::EndKind::finished, {}}};
}

/// Keeps what the books have done.
struct Done final : TeamWorld {
  struct Told {
    std::size_t rank;
    Json body;
  };
  std::vector<Told> trial;
  std::vector<MemberId> started;
  std::vector<std::pair<MemberId, Json>> members;
  std::vector<std::pair<MemberId, bool>> stopped;
  std::vector<std::pair<NodeId, TeamPost>> posts;
  std::vector<engine::TrialMessage> ends;
  bool can_start = true;

  void tell_trial(const TeamId&, std::size_t rank, Json body) override {
    trial.push_back({rank, std::move(body)});
  }
  std::optional<std::string> start_member(const MemberId& member, const MemberStart&) override {
    if (!can_start) return "no processes here";
    started.push_back(member);
    return std::nullopt;
  }
  void tell_member(const MemberId& member, Json body) override {
    members.emplace_back(member, std::move(body));
  }
  void stop_member(const MemberId& member, bool at_once) override {
    stopped.emplace_back(member, at_once);
  }
  void post(NodeId to, TeamPost post) override {
    posts.emplace_back(to, decode_post(encode_post(post)));
  }
  void tell_end(engine::TrialMessage end) override { ends.push_back(std::move(end)); }
};

/// The books of node 0. Its trial 1 has a worker here and one on node 1.
struct BooksOfZero {
  Done done;
  TeamBooks books{done};
  TeamId team{TrialId{1}, 2};

  BooksOfZero() {
    books.set_node(NodeId{0});
    books.begin(team, "00001_x", {{NodeId{0}, {}}, {NodeId{1}, {}}});
  }
  void call_both() {
    for (const std::size_t rank : {0U, 1U}) {
      books.on_trial_word({team, rank}, {{"call", 1}, {"function", "f"}});
    }
  }
};

TEST_CASE("a worker starts with the first order, here or elsewhere", "[team_books]") {
  BooksOfZero zero;
  zero.call_both();
  CHECK(zero.done.started == std::vector<MemberId>{{zero.team, 0}});
  REQUIRE(zero.done.members.size() == 1);
  CHECK(zero.done.members[0].second["function"] == "f");
  REQUIRE(zero.done.posts.size() == 2);
  CHECK(zero.done.posts[0].first == NodeId{1});
  CHECK(zero.done.posts[0].second.kind == Kind::start);
  const MemberStart start = member_start_from_json(zero.done.posts[0].second.body);
  CHECK(start.trial_name == "00001_x");
  CHECK(start.size == 2);
  CHECK(zero.done.posts[1].second.kind == Kind::order);
  zero.call_both();  // again: nobody starts twice
  CHECK(zero.done.started.size() == 1);
  CHECK(zero.done.posts.size() == 3);
}

TEST_CASE("the end of a trial waits for its workers everywhere", "[team_books]") {
  BooksOfZero zero;
  zero.call_both();
  REQUIRE(zero.books.takes_end(end_of(zero.team)));
  REQUIRE(zero.done.stopped.size() == 1);
  CHECK(zero.done.stopped[0].second);  // it was in a call
  CHECK(zero.done.posts.back().second.kind == Kind::stop);
  zero.books.on_member_end({zero.team, 0}, "stopped");
  CHECK(zero.done.ends.empty());
  SECTION("until the last one is gone") {
    zero.books.on_post(NodeId{1}, {{zero.team, 1}, Kind::over, "stopped"});
  }
  SECTION("or its node is") { zero.books.on_node_gone(NodeId{1}); }
  CHECK(zero.done.ends.size() == 1);
  CHECK(zero.done.trial.empty());
  CHECK(zero.books.is_empty());
}

TEST_CASE("a trial without workers keeps its end", "[team_books]") {
  BooksOfZero zero;
  CHECK_FALSE(zero.books.takes_end(end_of({TrialId{7}, 1})));
  CHECK_FALSE(zero.books.takes_end(end_of({TrialId{1}, 1})));  // another start
  CHECK(zero.books.takes_end(end_of(zero.team)));              // none was started
  CHECK(zero.done.ends.size() == 1);
}

TEST_CASE("a trial hears of a worker's death, and of its node's loss", "[team_books]") {
  BooksOfZero zero;
  zero.call_both();
  zero.books.on_member_end({zero.team, 0}, "killed by signal 9");
  zero.books.on_node_gone(NodeId{1});
  zero.books.on_node_gone(NodeId{1});
  REQUIRE(zero.done.trial.size() == 2);
  CHECK(zero.done.trial[0].body["died"] == "killed by signal 9");
  CHECK(zero.done.trial[1].rank == 1);
  CHECK(zero.done.trial[1].body["died"] == "its node is lost");
}

TEST_CASE("a worker on a node that was lost before is never started", "[team_books]") {
  BooksOfZero zero;
  zero.books.on_node_gone(NodeId{1});
  CHECK(zero.done.trial.empty());  // nobody has asked for it
  zero.call_both();
  REQUIRE(zero.done.trial.size() == 1);
  CHECK(zero.done.trial[0].body["died"] == "its node is lost");
  CHECK(zero.done.posts.empty());
}

TEST_CASE("another driver's numbers of nodes are not those of the last one", "[team_books]") {
  BooksOfZero zero;
  zero.books.on_node_gone(NodeId{1});
  REQUIRE(zero.books.takes_end(end_of(zero.team)));
  zero.books.set_node(NodeId{1});
  const TeamId team{TrialId{4}, 1};
  zero.books.begin(team, "00004_x", {{NodeId{1}, {}}});
  zero.books.on_trial_word({team, 0}, {{"call", 1}, {"function", "f"}});
  CHECK(zero.done.started == std::vector<MemberId>{{team, 0}});
  CHECK(zero.done.trial.empty());
}

TEST_CASE("what others were granted waits for the workers of a lost trial", "[team_books]") {
  Done done;
  TeamBooks books(done);
  books.set_node(NodeId{0});
  const MemberId old{{TrialId{1}, 1}, 0};
  const MemberId next{{TrialId{1}, 2}, 0};
  const Json start = to_json(MemberStart{"00001_x", 1, {}});
  books.on_post(NodeId{1}, {old, Kind::start, start});
  books.on_post(NodeId{1}, {old, Kind::order, {{"call", 1}, {"function", "f"}}});
  books.on_node_gone(NodeId{1});
  CHECK(done.stopped == std::vector<std::pair<MemberId, bool>>{{old, true}});
  CHECK(books.is_clearing());
  books.on_post(NodeId{2}, {next, Kind::start, start});
  books.on_post(NodeId{2}, {next, Kind::order, {{"call", 1}, {"function", "g"}}});
  CHECK(done.started.size() == 1);
  books.on_member_word(old, {{"call", 1}, {"answer", 3}});  // nobody hears that
  CHECK(done.posts.empty());
  SECTION("and then starts") {
    books.on_member_end(old, "killed");
    CHECK_FALSE(books.is_clearing());
    CHECK(done.started.back() == next);
    CHECK(done.members.back().second["function"] == "g");
    CHECK(done.posts.empty());
  }
  SECTION("unless it was told to end meanwhile") {
    books.on_post(NodeId{2}, {next, Kind::stop});
    REQUIRE(done.posts.size() == 1);
    CHECK(done.posts[0].second.kind == Kind::over);
    books.on_member_end(old, "killed");
    CHECK(done.started.size() == 1);
    CHECK(books.is_empty());
  }
}

TEST_CASE("a worker that cannot be started is one that died", "[team_books]") {
  BooksOfZero zero;
  zero.done.can_start = false;
  zero.call_both();
  REQUIRE(zero.done.trial.size() == 1);
  CHECK(zero.done.trial[0].body["died"] == "no processes here");
}

TEST_CASE("posts of a trial that has ended are refused and counted", "[team_books]") {
  BooksOfZero zero;
  zero.call_both();
  const Json answer = {{"call", 1}, {"answer", 3}};
  zero.books.on_post(NodeId{1}, {{{TrialId{1}, 1}, 1}, Kind::word, answer});  // an older start
  zero.books.on_post(NodeId{1}, {{zero.team, 5}, Kind::word, answer});        // no such rank
  zero.books.on_post(NodeId{2}, {{zero.team, 1}, Kind::word, answer});        // not its node
  CHECK(zero.books.stale_posts() == 3);
  CHECK(zero.done.trial.empty());
  zero.books.on_post(NodeId{1}, {{zero.team, 1}, Kind::word, answer});
  CHECK(zero.done.trial.size() == 1);
  zero.books.on_node_gone(NodeId{1});
  zero.books.on_post(NodeId{1}, {{zero.team, 1}, Kind::word, answer});
  CHECK(zero.books.stale_posts() == 4);
}

TEST_CASE("an order for a worker that is not there is answered", "[team_books]") {
  Done done;
  TeamBooks books(done);
  books.set_node(NodeId{0});
  books.on_post(NodeId{1}, {{{TrialId{5}, 1}, 0}, Kind::order, {{"call", 1}}});
  REQUIRE(done.posts.size() == 1);
  CHECK(done.posts[0].second.kind == Kind::over);
}

TEST_CASE("what is no post fails the gangs that both nodes share", "[team_books]") {
  BooksOfZero zero;
  zero.call_both();
  const MemberId of_one{{TrialId{5}, 1}, 0};
  const MemberId of_two{{TrialId{6}, 1}, 0};
  for (const auto& [node, member] : {std::pair(NodeId{1}, of_one), {NodeId{2}, of_two}}) {
    zero.books.on_post(node, {member, Kind::start, to_json(MemberStart{"n", 1, {}})});
  }
  zero.books.on_bad_post(NodeId{1});
  REQUIRE(zero.done.trial.size() == 1);
  CHECK(zero.done.trial[0].body["died"] == "its node sent what is no message");
  CHECK(zero.done.posts.back().second.kind == Kind::stop);
  CHECK(zero.done.stopped == std::vector<std::pair<MemberId, bool>>{{of_one, true}});
  zero.books.on_member_end(of_one, "killed");
  CHECK(zero.done.posts.back().second.kind == Kind::over);  // so that nobody there waits for it
  // What its worker holds is held until it is gone.
  REQUIRE(zero.books.takes_end(end_of(zero.team)));
  zero.books.on_member_end({zero.team, 0}, "stopped");
  CHECK(zero.done.ends.empty());
  zero.books.on_post(NodeId{1}, {{zero.team, 1}, Kind::over, "stopped"});
  CHECK(zero.done.ends.size() == 1);
}

TEST_CASE("the end of the experiment ends workers, and waits for no other node", "[team_books]") {
  BooksOfZero zero;
  zero.call_both();
  zero.books.on_post(NodeId{2},
                     {{{TrialId{5}, 1}, 0}, Kind::start, to_json(MemberStart{"00005", 1, {}})});
  REQUIRE(zero.books.takes_end(end_of(zero.team)));
  zero.books.end();
  zero.books.on_member_end({zero.team, 0}, "stopped");
  CHECK(zero.done.ends.size() == 1);
  CHECK(zero.done.stopped.back().first.team.trial == TrialId{5});
  zero.books.on_member_end({{TrialId{5}, 1}, 0}, "stopped");
  CHECK(zero.books.is_empty());
}

TEST_CASE("a post keeps its value, and what is none is told from one", "[team_books]") {
  ResourceGrant grant;
  grant.amounts.set("cpu", 333);
  grant.gpu_ids = {1};
  const TeamPost post{{{TrialId{3}, 4}, 5}, Kind::start, to_json(MemberStart{"n", 6, grant})};
  const TeamPost read = decode_post(encode_post(post));
  CHECK(read.member == post.member);
  CHECK(read.kind == Kind::start);
  CHECK(member_start_from_json(read.body).grant.amounts == grant.amounts);
  CHECK(member_start_from_json(read.body).grant.gpu_ids == grant.gpu_ids);
  CHECK_THROWS(decode_post("\xFF"));
  CHECK_THROWS(decode_post(encode_post({}).substr(0, 3)));
  CHECK_THROWS(decode_post("\x85\x01\x01\x01\x09\xF6"));  // of unknown kind
  for (const Kind kind : {Kind::start, Kind::order, Kind::word, Kind::over}) {
    CHECK_THROWS(decode_post(encode_post({{}, kind, 5})));
  }
  CHECK_THROWS_AS(encode_post({{}, Kind::word, std::string(max_post_bytes, 'x')}),
                  std::length_error);
}

// --- whole clusters

/// A process of a trial: calls its workers now and then, and lets them meet.
struct TrialProcess {
  std::size_t size = 0;
  std::uint64_t call = 0;
  std::optional<WorkerMeeting> meeting = {};  // of the call that runs
  std::set<std::size_t> busy = {};
  std::set<std::size_t> dead = {};
  std::deque<std::pair<std::size_t, Json>> inbox = {};
};

/// A process of a worker: meets with the others in each call, and answers.
struct MemberProcess {
  std::deque<Json> inbox = {};
  bool is_ending = false;
};

class SimulatedNode final : public TeamWorld {
 public:
  SimulatedNode(class SimulatedCluster& cluster, NodeId id, std::size_t slots)
      : cluster_(cluster), id_(id), slots_(slots) {
    books.set_node(id);
  }
  void tell_trial(const TeamId& team, std::size_t rank, Json body) override {
    trials.at(team).inbox.emplace_back(rank, std::move(body));
  }
  std::optional<std::string> start_member(const MemberId& member, const MemberStart&) override {
    REQUIRE(members.emplace(member, MemberProcess{}).second);
    check_room();
    return std::nullopt;
  }
  void tell_member(const MemberId& member, Json body) override {
    members.at(member).inbox.push_back(std::move(body));
  }
  void stop_member(const MemberId& member, bool) override { members.at(member).is_ending = true; }
  void post(NodeId to, TeamPost post) override;
  void tell_end(engine::TrialMessage end) override;

  void launch(const TeamId& team, const std::vector<WorkerGrant>& workers) {
    waiting.emplace_back(team, workers);
    start_waiting();
  }
  // As the agent does.
  void start_waiting() {
    while (!waiting.empty() && !books.is_clearing()) {
      const auto [team, workers] = waiting.front();
      waiting.pop_front();
      books.begin(team, "name", workers);
      trials[team].size = workers.size();
      check_room();
    }
  }
  void check_room() const { REQUIRE(trials.size() + members.size() <= slots_); }

  TeamBooks books{*this};
  std::map<TeamId, TrialProcess> trials;
  std::map<MemberId, MemberProcess> members;
  std::deque<std::pair<TeamId, std::vector<WorkerGrant>>> waiting;

 private:
  SimulatedCluster& cluster_;
  NodeId id_;
  std::size_t slots_;
};

/// Nodes with three slots each, and the driver, to which each has one connection.
class SimulatedCluster {
 public:
  explicit SimulatedCluster(std::uint64_t seed) : random_(seed, "team books") {
    for (int i = 0; i < 3; ++i) join();
  }

  void run() {
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t choice = random_.below(60);
      if (choice == 0 && nodes_.size() > 1) {
        lose(pick_node());
      } else if (choice == 1 && nodes_.size() < 4) {
        join();
      } else if (choice < 6) {
        launch();
      } else if (choice == 6) {
        kill_something();
      } else {
        go_on();
      }
    }
    is_ending_ = true;
    for (int step = 0; go_on(); ++step) REQUIRE(step < 100'000);
    check_quiet();
  }

  void post(NodeId from, NodeId to, TeamPost post) {
    up_[from].push_back([this, from, to, bytes = encode_post(post)] {
      if (nodes_.contains(to)) {
        const bool is_bad = random_.below(500) == 0;
        down_[to].push_back([this, from, to, bytes, is_bad] {
          TeamBooks& books = nodes_.at(to)->books;
          if (is_bad) return books.on_bad_post(from);
          books.on_post(from, decode_post(bytes));
        });
      }
    });
  }
  void tell_end(NodeId from, const TeamId& team) {
    up_[from].push_back([this, team] { free(team); });
  }

 private:
  using Deed = std::function<void()>;
  static constexpr std::size_t slots = 3;

  NodeId pick_node() {
    auto node = nodes_.begin();
    std::advance(node, random_.below(nodes_.size()));
    return node->first;
  }

  void join() {
    const NodeId id{next_node_++};
    nodes_[id] = std::make_unique<SimulatedNode>(*this, id, slots);
    free_[id] = slots;
  }

  // What the engine does: what the lost node's trials hold is free at once, and trials that lose
  // only workers are told to end.
  void lose(NodeId lost) {
    nodes_.erase(lost);
    up_.erase(lost);
    down_.erase(lost);
    free_.erase(lost);
    for (auto& [id, node] : nodes_) {
      down_[id].push_back([this, id = id, lost] { nodes_.at(id)->books.on_node_gone(lost); });
    }
    std::vector<TeamId> gone;
    for (auto& [team, places] : granted_) {
      if (places.front() == lost) gone.push_back(team);
      const bool has_workers_there = std::count(places.begin() + 1, places.end(), lost) > 0;
      if (places.front() != lost && has_workers_there) tell_to_end(team, places.front());
    }
    for (const TeamId& team : gone) free(team);
  }

  void tell_to_end(const TeamId& team, NodeId node) {
    down_[node].push_back([this, team, node] { end_trial(*nodes_.at(node), team); });
  }

  void free(const TeamId& team) {
    for (const NodeId place : granted_.at(team)) {
      if (free_.contains(place)) ++free_[place];
    }
    granted_.erase(team);
  }

  void launch() {
    std::vector<NodeId> places;
    const std::size_t size = 2 + random_.below(3);
    for (int tries = 0; tries < 20 && places.size() < size; ++tries) {
      const NodeId node = pick_node();
      if (free_[node] == 0) continue;
      --free_[node];
      places.push_back(node);
    }
    if (places.size() < size) {
      for (const NodeId node : places) ++free_[node];
      return;
    }
    const TeamId team{TrialId{next_trial_++ % 3}, ++incarnation_};
    granted_[team] = places;
    std::vector<WorkerGrant> workers;
    for (std::size_t i = 1; i < places.size(); ++i) workers.push_back({places[i], {}});
    down_[places[0]].push_back(
        [this, team, workers, node = places[0]] { nodes_.at(node)->launch(team, workers); });
  }

  static void end_trial(SimulatedNode& node, const TeamId& team) {
    std::erase_if(node.waiting, [&](const auto& entry) {
      if (entry.first != team) return false;
      node.books.begin(team, "name", entry.second);
      node.trials[team];
      return true;
    });
    if (node.trials.erase(team) > 0) REQUIRE(node.books.takes_end(end_of(team)));
  }

  void kill_something() {
    SimulatedNode& node = *nodes_.at(pick_node());
    if (!node.members.empty()) {
      auto member = node.members.begin();
      std::advance(member, random_.below(node.members.size()));
      member->second.is_ending = true;
    } else if (!node.trials.empty()) {
      end_trial(node, TeamId(node.trials.begin()->first));
    }
  }

  /// Does one of the things that may come next.
  bool go_on() {
    std::vector<Deed> deeds;
    for (auto* ways : {&up_, &down_}) {
      for (auto& [node, way] : *ways) {
        if (way.empty()) continue;
        deeds.emplace_back([this, &way, id = node] {
          const Deed deed = std::move(way.front());
          way.pop_front();
          deed();
          if (nodes_.contains(id)) nodes_.at(id)->start_waiting();
        });
      }
    }
    for (auto& [id, node] : nodes_) add_deeds_of(*node, deeds);
    if (deeds.empty()) return false;
    deeds[random_.below(deeds.size())]();
    return true;
  }

  void add_deeds_of(SimulatedNode& node, std::vector<Deed>& deeds) {
    for (auto& entry : node.members) {
      const MemberId id = entry.first;
      MemberProcess& process = entry.second;
      if (process.is_ending) {
        deeds.emplace_back([&node, id] {
          node.members.erase(id);
          node.books.on_member_end(id, "died");
          node.start_waiting();
        });
      } else if (!process.inbox.empty()) {
        deeds.emplace_back([&node, &process, id] { work(node, process, id); });
      }
    }
    for (auto& entry : node.trials) {
      const TeamId id = entry.first;
      TrialProcess& process = entry.second;
      if (!process.inbox.empty()) {
        deeds.emplace_back([&node, &process, id] { hear(node, process, id); });
      } else if (process.busy.empty()) {
        // Between two calls: another one, or its end.
        const bool ends = is_ending_ || process.call >= 4 || !process.dead.empty();
        deeds.emplace_back([&node, &process, id, ends] {
          if (ends) return end_trial(node, id);
          call(node, process, id);
        });
      }
    }
  }

  static void call(SimulatedNode& node, TrialProcess& process, const TeamId& id) {
    ++process.call;
    process.meeting.emplace(process.size);
    for (std::size_t rank = 0; rank < process.size; ++rank) process.busy.insert(rank);
    for (std::size_t rank = 0; rank < process.size; ++rank) {
      node.books.on_trial_word({id, rank}, {{"call", process.call}, {"function", "f"}});
    }
  }

  static void work(SimulatedNode& node, MemberProcess& process, const MemberId& id) {
    const Json order = std::move(process.inbox.front());
    process.inbox.pop_front();
    if (order.contains("function")) {
      node.books.on_member_word(id, {{"call", order["call"]}, {"values", Json::array()}});
    } else if (order["error"] == "") {
      node.books.on_member_word(id, {{"call", order["call"]}, {"answer", id.rank}});
    } else {
      node.books.on_member_word(id, {{"call", order["call"]}, {"fault", order["error"]}});
    }
  }

  static void hear(SimulatedNode& node, TrialProcess& process, const TeamId& id) {
    const auto [rank, body] = std::move(process.inbox.front());
    process.inbox.pop_front();
    std::vector<WorkerMeeting::Release> releases;
    if (body.contains("values")) {
      REQUIRE(body["call"] == process.call);
      if (process.dead.contains(rank)) return;  // its node is not trusted
      REQUIRE(process.busy.contains(rank));
      releases = process.meeting->arrive(rank, {.call = process.call});
    } else {
      if (body.contains("died")) process.dead.insert(rank);
      if (body.contains("answer")) REQUIRE(body["answer"] == rank);
      if (process.busy.erase(rank) > 0) releases = process.meeting->leave(rank, "is gone");
    }
    for (const WorkerMeeting::Release& release : releases) {
      node.books.on_trial_word(
          {id, release.rank},
          {{"call", process.call}, {"error", release.error}, {"values", Json::array()}});
    }
  }

  void check_quiet() const {
    CHECK(granted_.empty());
    for (const auto& [id, node] : nodes_) {
      CHECK(node->trials.empty());
      CHECK(node->members.empty());
      CHECK(node->waiting.empty());
      CHECK(node->books.is_empty());
      CHECK_FALSE(node->books.is_clearing());
      CHECK(free_.at(id) == slots);
    }
  }

  Random random_;
  std::map<NodeId, std::unique_ptr<SimulatedNode>> nodes_;
  std::map<NodeId, std::deque<Deed>> up_;    // to the driver
  std::map<NodeId, std::deque<Deed>> down_;  // from it
  std::map<NodeId, std::size_t> free_;
  std::map<TeamId, std::vector<NodeId>> granted_;  // the trial's node first
  std::uint64_t next_node_ = 0;
  std::uint64_t next_trial_ = 0;
  std::uint32_t incarnation_ = 0;
  bool is_ending_ = false;
};

void SimulatedNode::post(NodeId to, TeamPost post) { cluster_.post(id_, to, std::move(post)); }

void SimulatedNode::tell_end(engine::TrialMessage end) {
  cluster_.tell_end(id_, {end.trial, end.incarnation});
}

TEST_CASE("gangs end as one, hold no more than was granted, and hang nowhere",
          "[team_books][property]") {
  const std::uint64_t first = test::test_seed(1);
  const std::uint64_t count = std::getenv("TUNE_TEST_SEED") != nullptr ? 1 : 3000;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("TUNE_TEST_SEED=" << seed);
    SimulatedCluster(seed).run();
  }
}

}  // namespace
}  // namespace tune::runtime
