#include "runtime/gpu_watch.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>

#include "support/fake_gpus.hpp"

namespace tune::runtime {
namespace {

using namespace std::chrono_literals;

AgentActor::behavior_type fake_agent(AgentActor::pointer, std::vector<GpusFree>* free) {
  return {[](const NodeWelcome&) {}, [](const NodeTurn&) {},
          [](const TrialNews&) {},   [](const FlushNews&) {},
          [](const WorkerIdle&) {},  [](const WorkerDied&) {},
          [](const WorkerGone&) {},  [=](const GpusFree& message) { free->push_back(message); },
          [](const TeamMail&) {},    [](const NodeNote&) {},
          [](const FilesAt&) {},     [](const NodePing& ping) { return NodePong{ping.number}; },
          [](const EndNode&) {},     [](const NodeLetter&) {},
          [](const NodeGone&) {},    [](const LeaveNode&) {}};
}

struct GpuWatchConfig : caf::actor_system_config {
  GpuWatchConfig() { set("scheduler.policy", caf::atom("testing")); }
};

class GpuWatchFixture {
 public:
  explicit GpuWatchFixture(const std::string& gpus) : fake(gpus) {
    agent_ = system_.spawn(fake_agent, &free);
    watch_ = system_.spawn(watch_gpus, agent_);
  }
  ~GpuWatchFixture() {
    caf::anon_send(watch_, EndNode{});
    caf::anon_send_exit(agent_, caf::exit_reason::kill);
    scheduler().run();
  }
  void ask(const AwaitGpus& what) {
    caf::anon_send(watch_, what);
    scheduler().run();
  }
  void pass(std::chrono::milliseconds time) {
    scheduler().advance_time(time);
    scheduler().run();
  }

  test::FakeGpus fake;
  std::vector<GpusFree> free;

 private:
  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  GpuWatchConfig config_;
  caf::actor_system system_{config_};
  AgentActor agent_;
  GpuWatchActor watch_;
};

TEST_CASE("gpu_watch: what nobody holds is free at once", "[gpu_watch]") {
  GpuWatchFixture watch("gpu GPU-a 80 A\nprocess 77 5\ngpu GPU-b 80 A\n");
  watch.ask({3, 76, {"GPU-a", "GPU-b"}});
  watch.ask({4, 77, {"GPU-b"}});
  watch.ask({5, 77, {"0"}});  // a number: the driver was not asked for it
  REQUIRE(watch.free.size() == 3);
  for (const GpusFree& free : watch.free) CHECK(free.warning.empty());
}

TEST_CASE("gpu_watch: waits until the process is off the GPU", "[gpu_watch]") {
  GpuWatchFixture watch("gpu GPU-a 80 A\nprocess 77 5\ngpu GPU-b 80 A\n");
  watch.ask({3, 77, {"GPU-b", "GPU-a"}});
  watch.pass(5s);
  CHECK(watch.free.empty());
  watch.fake.write("gpu GPU-a 80 A\ngpu GPU-b 80 A\n");
  watch.pass(100ms);
  REQUIRE(watch.free.size() == 1);
  CHECK(watch.free[0].worker == 3);
  CHECK(watch.free[0].warning.empty());
}

TEST_CASE("gpu_watch: gives up, and says what is held", "[gpu_watch]") {
  GpuWatchFixture watch("gpu GPU-a 80000 A\nprocess 77 70000\n");
  watch.ask({3, 77, {"GPU-a"}});
  for (int i = 0; i < 101; ++i) watch.pass(100ms);
  REQUIRE(watch.free.size() == 1);
  CHECK(watch.free[0].warning ==
        "GPU-a still has 70000 MiB of process 77, which is gone, after 10 s");
}

}  // namespace
}  // namespace tune::runtime
