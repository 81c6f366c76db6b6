#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>

#include "runtime/worker_meeting.hpp"
#include "runtime/worker_team.hpp"

namespace tune::runtime {
namespace {

using Catch::Contains;

// --- where they meet

TeamArrival reduction(Reduction reduction, std::vector<double> values) {
  return {.call = 1, .is_reduction = true, .reduction = reduction, .values = std::move(values)};
}

TEST_CASE("a barrier holds until the last one is there", "[workers]") {
  WorkerMeeting meeting(3);
  CHECK(meeting.arrive(2, {}).empty());
  CHECK(meeting.arrive(0, {}).empty());
  CHECK(meeting.is_waiting(0));
  const auto releases = meeting.arrive(1, {});
  REQUIRE(releases.size() == 3);
  for (const auto& release : releases) CHECK(release.error.empty());
  CHECK_FALSE(meeting.is_waiting(0));
  CHECK(meeting.arrive(0, {}).empty());  // the next one
}

TEST_CASE("a reduction is made in the order of ranks, whoever comes first", "[workers]") {
  const std::vector<double> values{1e16, 1, -1e16};  // the sum depends on the order
  for (const auto& order : {std::vector<std::size_t>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    WorkerMeeting meeting(3);
    std::vector<WorkerMeeting::Release> releases;
    for (const std::size_t rank : order) {
      releases = meeting.arrive(rank, reduction(Reduction::sum, {values[rank], 1}));
    }
    REQUIRE(releases.size() == 3);
    for (const auto& release : releases) {
      CHECK(release.values == std::vector<double>{(1e16 + 1) - 1e16, 3});
    }
  }
}

TEST_CASE("mean, least and greatest, and NaN for all if one has it", "[workers]") {
  const auto of_two = [](Reduction kind, double a, double b) {
    WorkerMeeting meeting(2);
    (void)meeting.arrive(0, reduction(kind, {a}));
    return meeting.arrive(1, reduction(kind, {b})).at(0).values.at(0);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(of_two(Reduction::mean, 1, 2) == 1.5);
  CHECK(of_two(Reduction::min, 3, -infinity) == -infinity);
  CHECK(of_two(Reduction::max, 3, infinity) == infinity);
  for (const Reduction kind : {Reduction::sum, Reduction::mean, Reduction::min, Reduction::max}) {
    CHECK(std::isnan(of_two(kind, NAN, 1)));
    CHECK(std::isnan(of_two(kind, 1, NAN)));
  }
}

TEST_CASE("nobody waits for one who has left", "[workers]") {
  WorkerMeeting meeting(3);
  (void)meeting.arrive(0, {});
  const auto releases = meeting.leave(2, "died");
  REQUIRE(releases.size() == 1);
  CHECK(releases[0].rank == 0);
  CHECK(releases[0].error == "barrier() cannot be met: worker 2 died");
  const auto late = meeting.arrive(1, reduction(Reduction::max, {1, 2}));
  REQUIRE(late.size() == 1);
  CHECK(late[0].error == "all_reduce() of 2 numbers (max) cannot be met: worker 2 died");
}

TEST_CASE("those who make different calls get an error", "[workers]") {
  WorkerMeeting meeting(3);
  (void)meeting.arrive(0, {});
  const auto releases = meeting.arrive(1, reduction(Reduction::sum, {1}));
  REQUIRE(releases.size() == 2);
  for (const auto& release : releases) {
    CHECK(release.error ==
          "worker 1 calls all_reduce() of 1 numbers (sum) while worker 0 waits in barrier()");
  }
  CHECK(meeting.arrive(2, {}).empty());
}

// --- threads

Json doubles_rank(TrialWorker& worker, const Json& argument) {
  return argument.get<int>() + 2 * static_cast<int>(worker.rank());
}
TUNE_REGISTER_WORKER_FUNCTION(doubles_rank);

Json sums_ranks(TrialWorker& worker, const Json&) {
  worker.barrier();
  return worker.all_reduce({static_cast<double>(worker.rank()), 1}).at(0);
}
TUNE_REGISTER_WORKER_FUNCTION(sums_ranks);

Json counts_calls(TrialWorker& worker, const Json&) {
  if (!worker.state().has_value()) worker.state() = 0;
  return ++std::any_cast<int&>(worker.state());
}
TUNE_REGISTER_WORKER_FUNCTION(counts_calls);

Json throws_on_one(TrialWorker& worker, const Json& argument) {
  if (worker.rank() == argument.get<std::size_t>()) throw std::runtime_error("no data");
  worker.barrier();
  return {};
}
TUNE_REGISTER_WORKER_FUNCTION(throws_on_one);

Json forgets_barrier(TrialWorker& worker, const Json&) {
  if (worker.rank() != 0) worker.barrier();
  return {};
}
TUNE_REGISTER_WORKER_FUNCTION(forgets_barrier);

std::shared_ptr<WorkerTeam> threads(std::size_t size) {
  return make_thread_team("00007_x=1", std::vector<WorkerGrant>(size));
}

TEST_CASE("a function runs on each worker, and answers come by rank", "[workers]") {
  const auto team = threads(3);
  CHECK(team->size() == 3);
  CHECK(team->run("doubles_rank", 10) == std::vector<Json>{10, 12, 14});
  CHECK(team->run_each("doubles_rank", {1, 2, 3}) == std::vector<Json>{1, 4, 7});
  CHECK(team->run("sums_ranks") == std::vector<Json>{3.0, 3.0, 3.0});
  CHECK(team->run("counts_calls") == std::vector<Json>{1, 1, 1});
  CHECK(team->run("counts_calls") == std::vector<Json>{2, 2, 2});
}

TEST_CASE("a worker that throws fails the call by name, and hangs nobody", "[workers]") {
  const auto team = threads(4);
  for (int round = 0; round < 50; ++round) {
    CHECK_THROWS_WITH(team->run("throws_on_one", 2), "worker 2: throws_on_one: no data");
    CHECK_THROWS_WITH(team->run("forgets_barrier"),
                      Contains("cannot be met: worker 0 has ended the call"));
    CHECK(team->run("doubles_rank", 0).size() == 4);  // the team works on
  }
}

TEST_CASE("what cannot be called is refused", "[workers]") {
  const auto team = threads(2);
  CHECK_THROWS_WITH(team->run("nothing"), Contains("nothing") && Contains("doubles_rank"));
  CHECK_THROWS_WITH(team->run_each("doubles_rank", {1}), Contains("1 arguments for 2 workers"));
  team->close();
  CHECK_THROWS_WITH(team->run("doubles_rank", 1), Contains("00007_x=1: it has ended"));
  CHECK_THROWS_WITH(register_worker_function("doubles_rank", sums_ranks), Contains("twice"));
  TrialContext context;
  context.trial_name = "00007";
  CHECK_THROWS_WITH(context.workers(), Contains("00007 has no parallel workers"));
}

// --- a worker that dies

/// Keeps what is sent.
class Mailbox final : public TeamTransport {
 public:
  explicit Mailbox(std::atomic<int>& calls) : calls_(calls) {}
  void send(std::size_t, TeamOrder order) override {
    if (std::holds_alternative<TeamCall>(order)) ++calls_;
  }
  [[nodiscard]] std::size_t most_bytes() const override { return 100; }

 private:
  std::atomic<int>& calls_;
};

TEST_CASE("a death fails the call and every one after it", "[workers]") {
  std::atomic<int> calls{0};
  WorkerTeam team("00001", 2, std::make_unique<Mailbox>(calls));
  std::thread world([&] {
    while (calls < 2) std::this_thread::yield();
    team.hear(0, TeamAnswer{1, 5});
    team.hear(0, TeamAnswer{1, 6});  // once is enough
    team.on_death(1, "killed by signal 9");
  });
  CHECK_THROWS_WITH(team.run("doubles_rank", 1), "worker 1 died: killed by signal 9");
  world.join();
  CHECK_THROWS_WITH(team.run("doubles_rank", 1), "worker 1 died: killed by signal 9");
  CHECK(calls == 2);
}

TEST_CASE("an argument that is too long is refused", "[workers]") {
  std::atomic<int> calls{0};
  WorkerTeam team("00001", 1, std::make_unique<Mailbox>(calls));
  CHECK_THROWS_WITH(team.run("doubles_rank", std::string(200, 'x')),
                    Contains("worker 0 has 202 bytes") && Contains("at most 100"));
}

TEST_CASE("orders and words keep their value as JSON", "[workers]") {
  const TeamOrder call = TeamCall{3, "f", {{"x", 1}}};
  CHECK(std::get<TeamCall>(team_order_from_json(to_json(call))).argument == Json{{"x", 1}});
  const TeamOrder release = TeamRelease{3, "why", {0.1, -0.0}};
  CHECK(std::get<TeamRelease>(team_order_from_json(to_json(release))).values ==
        std::vector<double>{0.1, -0.0});
  CHECK(std::get<TeamAnswer>(team_word_from_json(to_json(TeamWord(TeamAnswer{4, "a"})))).answer ==
        "a");
  CHECK(std::get<TeamFault>(team_word_from_json(to_json(TeamWord(TeamFault{4, "f"})))).text == "f");
  const TeamWord word = TeamArrival{4, true, Reduction::max, {1, 2}};
  const auto arrival = std::get<TeamArrival>(team_word_from_json(to_json(word)));
  CHECK((arrival.is_reduction && arrival.reduction == Reduction::max && arrival.call == 4));
  CHECK_THROWS(team_word_from_json(Json{{"call", 1}, {"reduction", 9}, {"values", Json::array()}}));
}

}  // namespace
}  // namespace tune::runtime
