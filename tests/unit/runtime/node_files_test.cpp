#include "runtime/node_files.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using Texts = std::vector<std::string>;

core::SharedManifest manifest_of(std::uint64_t size_bytes) {
  return std::make_shared<const core::CheckpointManifest>(
      core::CheckpointManifest{{"state", size_bytes, "0"}});
}

/// What the actors around were told, and what waits for an answer of the test's.
struct Surroundings {
  Texts fetched;
  std::map<std::string, caf::typed_response_promise<DirectoryFetched>> fetches;
  std::map<std::string, caf::typed_response_promise<FilesTaken>> deliveries;
  std::vector<PackTrial> packed;
  std::vector<PackWorker> packed_workers;
  Texts removed;  // packages, by their names
  Texts deleted;  // checkpoints that were kept for too long
  std::uint64_t printed_bytes = 0;
};

FetcherActor::behavior_type scripted_fetcher(FetcherActor::pointer self, Surroundings* around) {
  return {[=](const FetchDirectory& order) {
            auto promise = self->make_response_promise<DirectoryFetched>();
            around->fetched.push_back(order.directory);
            around->fetches[order.directory] = promise;
            return promise;
          },
          [](const CancelFetch&) {},
          [=](const RemoveFetched& order) {
            around->deleted.push_back(order.directory.substr(order.directory.find('/') + 1));
          }};
}

PackerActor::behavior_type scripted_packer(PackerActor::pointer, Surroundings* around) {
  return {[=](const PackTrial& order) {
            around->packed.push_back(order);
            store::PackedTrial packed;
            packed.is_empty = around->printed_bytes == order.before.stdout_bytes;
            packed.read.stdout_bytes = around->printed_bytes;
            return TrialPacked{packed};
          },
          [=](const PackWorker& order) {
            around->packed_workers.push_back(order);
            store::PackedTrial packed;
            packed.is_empty = around->printed_bytes == 0;
            return TrialPacked{packed};
          },
          [=](const RemoveDirectory& order) {
            around->removed.push_back(order.path.filename().string());
          }};
}

using LinkStub = caf::typed_actor<caf::replies_to<FilesReady>::with<FilesTaken>>;
LinkStub::behavior_type scripted_link(LinkStub::pointer self, Surroundings* around) {
  return {[=](const FilesReady& files) {
    auto promise = self->make_response_promise<FilesTaken>();
    around->deliveries[files.directory] = promise;
    return promise;
  }};
}

AgentActor::behavior_type stub_agent(AgentActor::pointer self, std::unique_ptr<NodeFiles>* files,
                                     const NodeFilesSetup& setup) {
  *files = std::make_unique<NodeFiles>(self, setup);
  return {[](const NodeWelcome&) {}, [](const NodeTurn&) {},
          [](const NodeLetter&) {},  [](const NodeGone&) {},
          [](const TrialNews&) {},   [](const FlushNews&) {},
          [](const WorkerIdle&) {},  [](const WorkerDied&) {},
          [](const WorkerGone&) {},  [](const TeamMail&) {},
          [](const NodeNote&) {},    [](const NodePing& ping) { return NodePong{ping.number}; },
          [](const FilesAt&) {},     [](const EndNode&) {},
          [](const LeaveNode&) {},   [](const GpusFree&) {}};
}

struct OneThread : caf::actor_system_config {
  OneThread() { set("scheduler.policy", caf::atom("testing")); }
};

/// A node's files, with nobody real around them.
class NodeFilesFixture {
 public:
  NodeFilesFixture() {
    NodeFilesSetup setup;
    setup.experiment = "/scratch";
    setup.fetcher = system_.spawn(scripted_fetcher, &around);
    setup.packer = system_.spawn(scripted_packer, &around);
    setup.link = caf::actor_cast<NodeLinkActor>(system_.spawn(scripted_link, &around));
    setup.node_name = "far";
    setup.most_kept_bytes = 100;
    setup.kept = {{"00009/checkpoint_000001", 30}};
    actors_ = {caf::actor_cast<caf::strong_actor_ptr>(setup.fetcher),
               caf::actor_cast<caf::strong_actor_ptr>(setup.packer),
               caf::actor_cast<caf::strong_actor_ptr>(setup.link)};
    agent_ = system_.spawn(stub_agent, &files, setup);
    actors_.push_back(caf::actor_cast<caf::strong_actor_ptr>(agent_));
    run();
  }
  ~NodeFilesFixture() {
    around.fetches.clear();
    around.deliveries.clear();
    for (const auto& actor : actors_) caf::anon_send_exit(actor, caf::exit_reason::kill);
    run();
    files.reset();
    system_.await_actors_before_shutdown(false);
  }

 protected:
  struct Outcome {
    bool is_there = false;
    std::optional<Error> fault;
  };
  void run() {
    dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler()).run();
    // What the test itself has them do, they do outside of any turn.
    for (const auto& actor : actors_) {
      auto* const local =
          dynamic_cast<caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(actor));
      if (local != nullptr) local->context(nullptr);
    }
  }
  /// Launches a trial from checkpoint 4 of trial 1.
  std::shared_ptr<Outcome> bring(std::uint64_t trial, std::vector<engine::SavedValue> saves = {}) {
    engine::Launch launch;
    launch.trial = TrialId{trial};
    launch.incarnation = 1;
    launch.trial_name = "0000" + std::to_string(trial);
    launch.start_iteration = 4;
    launch.checkpoint = engine::CheckpointLocation{"00001", "checkpoint_000004"};
    launch.checkpoint_files = manifest_of(40);
    launch.saves = std::move(saves);
    const auto outcome = std::make_shared<Outcome>();  // the callback's
    files->bring(launch, [outcome](const std::optional<Error>& fault) {
      *outcome = {true, fault};
    });
    run();
    return outcome;
  }
  void answer(const std::string& directory, std::optional<Error> error = {},
              bool can_go_on = false) {
    DirectoryFetched fetched{.directory = directory};
    if (!error) fetched.manifest = manifest_of(40);
    fetched.error = std::move(error);
    fetched.can_go_on = can_go_on;
    auto promise = around.fetches.extract(directory);
    REQUIRE_FALSE(promise.empty());
    promise.mapped().deliver(std::move(fetched));
    run();
  }
  std::shared_ptr<Outcome> tell(std::uint64_t trial, engine::TrialReport report) {
    const auto outcome = std::make_shared<Outcome>();  // the callback's
    files->deliver({TrialId{trial}, 1, 0, std::move(report)},
                   [outcome](const std::optional<Error>& fault) {
                     *outcome = {true, fault};
                   });
    run();
    return outcome;
  }
  void take(const std::string& directory, const std::string& fault = {}) {
    auto promise = around.deliveries.extract(directory);
    REQUIRE_FALSE(promise.empty());
    promise.mapped().deliver(FilesTaken{directory, fault});
    run();
  }

  Surroundings around;
  std::unique_ptr<NodeFiles> files;

 private:
  OneThread config_;
  caf::actor_system system_{config_};
  std::vector<caf::strong_actor_ptr> actors_;
  AgentActor agent_;
};

const std::string donor = "00001/checkpoint_000004";

TEST_CASE_METHOD(NodeFilesFixture, "what two trials start from comes once", "[node_files]") {
  const auto first = bring(2);
  const auto second = bring(3);
  CHECK(around.fetched == Texts{donor});
  CHECK_FALSE(first->is_there);
  answer(donor);
  CHECK((first->is_there && !first->fault));
  CHECK((second->is_there && !second->fault));
}

TEST_CASE_METHOD(NodeFilesFixture, "what does not come is told with the node's name",
                 "[node_files]") {
  const auto trial = bring(2);
  SECTION("after a few tries, if the other side is silent") {
    const Error silence{ErrorCode::io, "no answer"};
    for (int i = 0; i < 3; ++i) {
      CHECK_FALSE(trial->is_there);
      answer(donor, silence, /*can_go_on=*/true);
    }
    CHECK(around.fetched.size() == 3);
    REQUIRE(trial->fault);
    CHECK(trial->fault->code == ErrorCode::io);
    CHECK(trial->fault->message == "node far: no answer");
  }
  SECTION("a checkpoint that is gone is a damaged one") {
    answer(donor, Error{ErrorCode::not_found, "it is not there"});
    REQUIRE(trial->fault);
    CHECK(trial->fault->code == ErrorCode::damaged);
  }
}

TEST_CASE_METHOD(NodeFilesFixture, "a value without its files is told to who asks for it",
                 "[node_files]") {
  engine::SavedValue saved{"model", 3, {}, 0, "artifacts/model_000003", manifest_of(1)};
  engine::SavedValue later{"model", 5, {}, 0, "artifacts/model_000005", manifest_of(1)};
  const auto trial = bring(2, {saved, later});
  CHECK(around.fetched == Texts{donor, "00002/artifacts/model_000003"});
  answer("00002/artifacts/model_000003", Error{ErrorCode::damaged, "model is missing"});
  CHECK_FALSE(trial->is_there);
  answer(donor);
  CHECK((trial->is_there && !trial->fault));
}

TEST_CASE_METHOD(NodeFilesFixture, "what a trial prints goes with its checkpoints and at its end",
                 "[node_files]") {
  (void)bring(2);
  answer(donor);
  around.printed_bytes = 10;
  const auto stored = tell(2, engine::CheckpointStored{"checkpoint_000005", 5, 0, manifest_of(40)});
  REQUIRE(around.deliveries.contains("00002/checkpoint_000005"));
  REQUIRE(around.deliveries.contains("00002/outgoing_1_1"));
  around.printed_bytes = 25;
  const auto end = tell(2, engine::Ended{});
  CHECK(around.packed.size() == 1);  // one at a time
  take("00002/checkpoint_000005", "no room");
  REQUIRE(stored->fault);
  CHECK(stored->fault->message == "no room");
  SECTION("each part once") {
    take("00002/outgoing_1_1");
    REQUIRE(around.packed.size() == 2);
    CHECK(around.packed[1].before.stdout_bytes == 10);
  }
  SECTION("and again what did not get through") {
    take("00002/outgoing_1_1", "no room");
    REQUIRE(around.packed.size() == 2);
    CHECK(around.packed[1].before.stdout_bytes == 0);
  }
  CHECK_FALSE(around.packed[0].takes_files);
  CHECK(around.packed[1].takes_files);
  CHECK_FALSE(end->is_there);
  take("00002/outgoing_1_2", "no room");
  REQUIRE(end->is_there);
  CHECK(end->fault);
  CHECK(around.removed == Texts{"outgoing_1_1", "outgoing_1_2"});
}

TEST_CASE_METHOD(NodeFilesFixture, "what a parallel worker printed goes when it has ended",
                 "[node_files]") {
  const auto outcome = std::make_shared<Outcome>();  // the callback's
  const auto deliver = [&] {
    files->deliver_worker("00002", 3, 1, [outcome](const std::optional<Error>& fault) {
      *outcome = {true, fault};
    });
    run();
  };
  SECTION("nothing") {
    deliver();
    CHECK((outcome->is_there && !outcome->fault));
    CHECK(around.deliveries.empty());
  }
  SECTION("something") {
    around.printed_bytes = 10;
    deliver();
    REQUIRE(around.packed_workers.size() == 1);
    CHECK(around.packed_workers[0].rank == 1);
    CHECK_FALSE(outcome->is_there);
    const std::string fault = GENERATE(std::string(), std::string("no room"));
    take("00002/outgoing_3_worker_1", fault);
    REQUIRE(outcome->is_there);
    CHECK(outcome->fault.has_value() == !fault.empty());
    CHECK(around.removed == Texts{"outgoing_3_worker_1"});
  }
}

TEST_CASE_METHOD(NodeFilesFixture, "a node keeps no more than it may of what no trial needs",
                 "[node_files]") {
  (void)bring(2);
  answer(donor);
  const auto stored = tell(2, engine::CheckpointStored{"checkpoint_000005", 5, 0, manifest_of(60)});
  take("00002/checkpoint_000005");
  CHECK(around.deleted.empty());  // 30 from before and 60 may stay; the donor's 40 is in use
  (void)tell(2, engine::Ended{});
  CHECK(around.deleted == Texts{"checkpoint_000001"});
  SECTION("what the driver deletes counts no more") {
    files->forget({"00002", "checkpoint_000005"});
    (void)bring(3);
    answer(donor);
    (void)tell(3, engine::Ended{});
    CHECK(around.deleted.size() == 1);
  }
}

}  // namespace
}  // namespace tune::runtime
