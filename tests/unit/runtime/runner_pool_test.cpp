#include "runtime/runner_pool.hpp"

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/trainable.hpp>

#include "scripted_trainable.hpp"
#include "trial_harness.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

TEST_CASE("RS-05: a reusable object serves trial after trial if it takes the configuration",
          "[RS-05]") {
  Script script;
  script.step = done_at(2);
  TrainableSpec spec = scripted(script);
  SECTION("reset_config is not overridden: a new object") {
    TrialHarness harness(spec);
    for (int i = 0; i < 2; ++i) {
      harness.start();
      CHECK(TrialHarness::describe(harness.wait_for_end()) ==
            "started, result 1, result 2 done, finished");
    }
    const std::vector<std::string> one{"made", "setup", "step 1", "step 2", "cleanup", "destroyed"};
    std::vector<std::string> both = one;
    both.insert(both.end(), one.begin(), one.end());
    CHECK(script.calls == both);
    CHECK(harness.pool.size() == 1);
  }
  SECTION("true: the same object, its counters back at the start") {
    spec.reusable = true;
    TrialHarness harness(spec);
    harness.start();
    harness.wait_for_end();
    harness.run.launch.trial = TrialId{1};
    harness.run.launch.trial_name = "00001_trial";
    fs::path seen;
    script.reset = [&](Trainable& self) {
      seen = self.context().trial_dir;
      return true;
    };
    harness.start();
    const auto messages = harness.wait_for_end();
    CHECK(TrialHarness::describe(messages) == "started, result 1, result 2 done, finished");
    CHECK(seen.filename() == "00001_trial");
    CHECK(harness.pool.shut_down().empty());
    CHECK(script.calls == std::vector<std::string>{"made", "setup", "step 1", "step 2", "reset",
                                                   "step 1", "step 2", "cleanup", "destroyed"});
  }
  SECTION("false: cleaned up, then a new object") {
    spec.reusable = true;
    script.reset = [](Trainable&) { return false; };
    TrialHarness harness(spec);
    harness.start();
    harness.wait_for_end();
    harness.start();
    harness.wait_for_end();
    harness.pool.shut_down();
    CHECK(script.calls == std::vector<std::string>{"made", "setup", "step 1", "step 2", "reset",
                                                   "cleanup", "destroyed", "made", "setup",
                                                   "step 1", "step 2", "cleanup", "destroyed"});
  }
  SECTION("a fault in reset_config fails the start, and nothing is kept") {
    spec.reusable = true;
    script.reset = [](Trainable&) -> bool { throw std::runtime_error("stuck"); };
    TrialHarness harness(spec);
    harness.start();
    harness.wait_for_end();
    harness.start();
    CHECK(harness.ended().message == "reset_config: stuck");
    CHECK(script.calls.back() == "destroyed");
  }
  SECTION("never after a fault") {
    spec.reusable = true;
    script.step = [](Trainable&, int) -> Metrics { throw std::runtime_error("boom"); };
    TrialHarness harness(spec);
    harness.start();
    harness.wait_for_end();
    harness.start();
    harness.wait_for_end();
    CHECK(script.calls == std::vector<std::string>{"made", "setup", "step 1", "destroyed", "made",
                                                   "setup", "step 1", "destroyed"});
  }
  SECTION("a checkpoint is loaded after the reset") {
    spec.reusable = true;
    TrialHarness harness(spec);
    harness.run.checkpoint.at_end = true;
    harness.start();
    harness.wait_for_end();
    script.step = done_at(3);
    harness.run.launch.checkpoint = {"00000_trial", "checkpoint_000002"};
    harness.run.launch.start_iteration = 2;
    harness.start();
    harness.wait_for_end();
    harness.pool.shut_down();
    CHECK(script.calls == std::vector<std::string>{"made", "setup", "step 1", "step 2", "save 2",
                                                   "reset", "load 2", "step 3", "save 3", "cleanup",
                                                   "destroyed"});
  }
}

TEST_CASE("a fault in the cleanup of a kept object is told when the threads end", "[class_trial]") {
  Script script;
  script.step = done_at(1);
  script.cleanup = [] { throw std::runtime_error("still busy"); };
  TrainableSpec spec = scripted(script);
  spec.reusable = true;
  TrialHarness harness(spec);
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) == "started, result 1 done, finished");
  CHECK(harness.pool.shut_down() ==
        std::vector<std::string>{"cleanup of trial 00000_trial: still busy"});
}

TEST_CASE("a kept object whose cleanup hangs is left behind", "[runner_pool]") {
  static Gate leave;
  static Gate gone;
  static Script script;
  script.step = done_at(1);
  script.cleanup = [] {
    leave.wait();
    gone.open();
  };
  TrainableSpec spec = scripted(script);
  spec.reusable = true;
  TrialHarness harness(spec, std::chrono::milliseconds(1));
  harness.start();
  CHECK(harness.ended().kind == engine::EndKind::finished);
  CHECK_THAT(harness.pool.shut_down().at(0), Catch::Contains("did not end within 0.001 s"));
  leave.open();
  gone.wait();
}

TEST_CASE("an abandoned step ends by itself later and changes nothing", "[class_trial]") {
  // The abandoned thread may still be in them when the test ends.
  static Gate entered;
  static Gate leave;
  static Gate gone;
  static auto& script = *new Script;  // notes the end of the object
  script.step = [](Trainable&, int step) {
    entered.open();
    leave.wait();
    return Metrics{{"x", step}};
  };
  script.cleanup = [] { gone.open(); };
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 1;
  harness.start();
  entered.wait();
  harness.link->abandon("too slow");
  harness.pool.abandon(*harness.link);
  CHECK(harness.pool.size() == 0);
  CHECK(harness.ended().kind == engine::EndKind::abandoned);
  CHECK(harness.pool.shut_down().empty());  // does not wait for it
  leave.open();
  gone.wait();
  CHECK(harness.link->take().empty());
  CHECK(fs::is_empty(harness.folder.path() / "00000_trial"));
}

TEST_CASE("a pool has as many threads as trials ran at once", "[runner_pool]") {
  Gate entered;
  Gate leave;
  Script script;
  script.step = [&](Trainable&, int) {
    entered.open();
    leave.wait();
    return Metrics{{"done", true}};
  };
  TrialHarness harness(scripted(script));
  std::vector<std::shared_ptr<TrialLink>> links;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2; ++i) {
      auto& link = links.emplace_back(std::make_shared<TrialLink>(TrialLink::Options{}));
      harness.pool.start(harness.run, link);
    }
    entered.wait();
    entered.wait();
    leave.open(2);
    for (const auto& link : links) {
      while (!link->has_ended()) std::this_thread::yield();
    }
  }
  CHECK(harness.pool.size() == 2);
}

}  // namespace
}  // namespace tune::runtime
