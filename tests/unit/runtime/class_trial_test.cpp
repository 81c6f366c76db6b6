#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/error.hpp>
#include <tune/trainable.hpp>

#include "scripted_trainable.hpp"
#include "trial_harness.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a class trainable steps until it says done", "[class_trial]") {
  Script script;
  script.step = done_at(3);
  TrialHarness harness(scripted(script));
  harness.start();
  const auto messages = harness.wait_for_end();
  CHECK(TrialHarness::describe(messages) == "started, result 1, result 2, result 3 done, finished");
  for (std::size_t i = 0; i < messages.size(); ++i) CHECK(messages[i].sequence == i);
  CHECK(script.calls == std::vector<std::string>{"made", "setup", "step 1", "step 2", "step 3",
                                                 "cleanup", "destroyed"});
  const auto results = TrialHarness::results(messages);
  CHECK(results[1].metrics == Metrics{{"x", 2}});
  CHECK(results[2].timestamp > 1.6e9);
}

TEST_CASE("done alone ends a trial without a result", "[class_trial]") {
  Script script;
  script.step = [](Trainable&, int step) {
    return step == 2 ? Metrics{{"done", true}} : Metrics{{"x", step}};
  };
  TrialHarness harness(scripted(script));
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) == "started, result 1, finished");
}

TEST_CASE("done as text is a fault of the step that says what it may be", "[class_trial]") {
  Script script;
  script.step = [](Trainable&, int) { return Metrics{{"done", "yes"}}; };
  TrialHarness harness(scripted(script));
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, failed step: metric done must be a boolean, is text");
}

TEST_CASE("RA-02: reserved names in metrics are ignored with one warning", "[RA-02]") {
  Script script;
  script.step = [](Trainable&, int step) {
    return Metrics{{"training_iteration", 99},
                   {"trial_id", "x"},
                   {"done", step == 2},
                   {"config", 1},
                   {"loss", 0.5}};
  };
  TrialHarness harness(scripted(script));
  harness.start();
  const auto messages = harness.wait_for_end();
  CHECK(TrialHarness::describe(messages) ==
        "started, warned: metrics with reserved names are ignored: training_iteration, trial_id, "
        "config, result 1, result 2 done, finished");
  CHECK(TrialHarness::results(messages).at(0).metrics == Metrics{{"loss", 0.5}});

  harness.run.warns_of_reserved_names = false;
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, result 2 done, finished");
}

TEST_CASE("iterations and time go on from where the start began", "[class_trial]") {
  static std::atomic<int> ticks;
  ticks = 0;
  Script script;
  script.step = done_at(2);
  TrialHarness harness(scripted(script));
  harness.run.launch.start_iteration = 7;
  harness.run.launch.start_time_total_s = 100;
  // A second passes between any two looks at the clock: one for each step, none for what is
  // between.
  harness.run.now = [] {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(++ticks));
  };
  harness.start();
  const auto results = TrialHarness::results(harness.wait_for_end());
  REQUIRE(results.size() == 2);
  CHECK(results[0].training_iteration == 8);
  CHECK(results[0].time_this_iter_s == 1);
  CHECK(results[0].time_total_s == 101);
  CHECK(results[1].training_iteration == 9);
  CHECK(results[1].time_this_iter_s == 1);
  CHECK(results[1].time_total_s == 102);
}

TEST_CASE("the context says what the trial is and was given", "[class_trial]") {
  TrialContext seen;
  Script script;
  script.setup = [&](Trainable& self) { seen = self.context(); };
  script.step = done_at(1);
  TrialHarness harness(scripted(script));
  harness.run.launch.trial = TrialId{4};
  harness.run.launch.incarnation = 3;
  harness.run.launch.seed = 99;
  harness.run.launch.start_iteration = 5;
  harness.run.launch.grant.amounts.set("cpu", 2000);
  harness.run.launch.grant.gpu_ids = {1};
  harness.start();
  harness.wait_for_end();
  CHECK(seen.trial_id == TrialId{4});
  CHECK(seen.trial_name == "00000_trial");
  CHECK(seen.trial_dir == harness.folder.path() / "00000_trial");
  CHECK(fs::is_directory(seen.trial_dir));
  CHECK(seen.experiment_name == "experiment");
  CHECK(seen.resources.cpu() == 2);
  CHECK(seen.resources.gpu_ids == std::vector<int>{1});
  CHECK(seen.seed == 99);
  CHECK(seen.incarnation == 3);
  CHECK(seen.start_iteration == 5);
  CHECK_FALSE(seen.checkpoint);
}

TEST_CASE("a trial waits at its horizon until it may proceed", "[class_trial]") {
  Script script;
  script.step = done_at(3);
  TrialHarness harness(scripted(script));
  harness.run.launch.horizon.every_result = true;
  harness.start();
  for (std::size_t i = 1; i <= 2; ++i) {
    harness.wait_for(1 + i);
    CHECK(script.calls.size() == 2 + i);  // made, setup and i steps: no further one was begun
    engine::Horizon horizon;
    horizon.every_result = true;
    horizon.decided_until = static_cast<std::int64_t>(i);
    harness.link->proceed(horizon);
  }
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, result 2, result 3 done, finished");
}

TEST_CASE("a stop ends the trial at the next step boundary, and no step follows", "[class_trial]") {
  Gate entered;
  Gate leave;
  Script script;
  script.step = [&](Trainable& self, int step) {
    entered.open();
    leave.wait();
    return Metrics{{"x", step}, {"should_stop", self.context().should_stop()}};
  };
  TrialHarness harness(scripted(script));
  harness.start();
  entered.wait();
  harness.link->stop(false);
  leave.open(10);
  const auto messages = harness.wait_for_end();
  CHECK(TrialHarness::describe(messages) == "started, result 1, stopped");
  CHECK(TrialHarness::results(messages)[0].metrics.at("should_stop") == MetricValue(true));
  CHECK(script.calls.back() == "destroyed");
  CHECK(script.calls[script.calls.size() - 2] == "cleanup");
}

TEST_CASE("a stop before the first step makes none", "[class_trial]") {
  Gate entered;
  Gate leave;
  Script script;
  script.setup = [&](Trainable&) {
    entered.open();
    leave.wait();
  };
  TrialHarness harness(scripted(script));
  harness.start();
  entered.wait();
  harness.link->stop(false);
  leave.open();
  CHECK(TrialHarness::describe(harness.wait_for_end()) == "started, stopped");
}

TEST_CASE("checkpoints are stored after each multiple, and at the end if asked", "[class_trial]") {
  Script script;
  script.step = done_at(5);
  TrialHarness harness(scripted(script));
  harness.run.checkpoint = {.every = 2, .keep = 1, .at_end = true};
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, result 2, stored checkpoint_000002, result 3, result 4, stored "
        "checkpoint_000004, result 5 done, stored checkpoint_000005, finished");
  int steps = 0;
  std::ifstream(harness.folder.path() / "00000_trial" / "checkpoint_000004" / "steps") >> steps;
  CHECK(steps == 4);
}

TEST_CASE("a trial stops at a bound that ends it, and saves if asked", "[class_trial]") {
  Script script;
  script.step = done_at(100);
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.at_end = true;
  harness.run.launch.horizon.bounds.push_back({"training_iteration", 2, false, /*ends=*/true});
  harness.start();
  CHECK(harness.describe(harness.wait_for_end()) ==
        "started, result 1, result 2, stored checkpoint_000002, stopped");
}

TEST_CASE("a checkpoint is stored with the iteration and time of its result", "[class_trial]") {
  Script script;
  script.step = done_at(1);
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 1;
  harness.run.launch.start_time_total_s = 10;
  harness.start();
  const auto messages = harness.wait_for_end();
  const auto stored = std::get<engine::CheckpointStored>(messages.at(2).report);
  CHECK(stored.training_iteration == 1);
  CHECK(stored.time_total_s == TrialHarness::results(messages).at(0).time_total_s);
}

TEST_CASE("save and pause that come while a step runs take effect after it", "[class_trial]") {
  Gate entered;
  Gate leave;
  Script script;
  script.step = [&](Trainable&, int step) {
    entered.open();
    leave.wait();
    return Metrics{{"x", step}};
  };
  TrialHarness harness(scripted(script));
  harness.start();
  entered.wait();
  harness.link->save();
  leave.open();
  entered.wait();
  harness.link->pause();
  leave.open();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, stored checkpoint_000001, result 2, stored checkpoint_000002, paused");
}

TEST_CASE("a pause takes the checkpoint of the iteration if there is one", "[class_trial]") {
  Script script;
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 1;
  harness.run.launch.horizon.every_result = true;
  harness.start();
  harness.wait_for(3);
  harness.link->pause();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, stored checkpoint_000001, paused");
}

TEST_CASE("a save reaches a trial that waits for a decision", "[class_trial]") {
  Script script;
  TrialHarness harness(scripted(script));
  harness.run.launch.horizon.every_result = true;
  harness.start();
  harness.wait_for(2);
  harness.link->save();
  harness.wait_for(3);
  harness.link->stop(true);  // the checkpoint is there already
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, stored checkpoint_000001, stopped");
}

TEST_CASE("a stop that asks for it saves first; a fault there ends no trial", "[class_trial]") {
  Script script;
  TrialHarness harness(scripted(script));
  harness.run.launch.horizon.every_result = true;
  harness.start();
  harness.wait_for(2);
  SECTION("saved") {
    harness.link->stop(true);
    CHECK(TrialHarness::describe(harness.wait_for_end()) ==
          "started, result 1, stored checkpoint_000001, stopped");
  }
  SECTION("failed") {
    script.save = [](const fs::path&) { throw std::runtime_error("no space"); };
    harness.link->stop(true);
    CHECK(TrialHarness::describe(harness.wait_for_end()) ==
          "started, result 1, not stored: save_checkpoint: no space, stopped");
    CHECK(fs::is_empty(harness.folder.path() / "00000_trial"));
  }
}

TEST_CASE("no training code runs on a damaged checkpoint", "[class_trial]") {
  Script script;
  script.step = done_at(2);
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 2;
  harness.start();
  const auto messages = harness.wait_for_end();
  const auto& stored = std::get<engine::CheckpointStored>(messages.at(3).report);
  REQUIRE(stored.files);
  REQUIRE(stored.files->size() == 1);
  CHECK(stored.files->at(0).path == "steps");
  const fs::path file = harness.folder.path() / "00000_trial" / "checkpoint_000002" / "steps";
  CHECK(stored.files->at(0).size_bytes == fs::file_size(file));

  script.calls.clear();
  harness.run.launch.incarnation = 2;
  harness.run.launch.start_iteration = 2;
  harness.run.launch.checkpoint = {"00000_trial", "checkpoint_000002"};
  harness.run.launch.checkpoint_files = stored.files;
  SECTION("its own") {}
  SECTION("another's") {
    harness.run.launch.trial_name = "00001_trial";
    harness.run.launch.adopt_as = "checkpoint_000002";
  }
  std::ofstream(file, std::ios::app) << "more";
  harness.start();
  const engine::Ended ended = harness.ended();
  CHECK(ended.kind == engine::EndKind::damaged);
  CHECK_THAT(ended.message,
             Catch::StartsWith("checkpoint_000002 of trial 00000 is damaged: steps: "));
  CHECK(script.calls.empty());
}

TEST_CASE("a checkpoint of an iteration that had one before has another name", "[class_trial]") {
  Script script;
  script.step = done_at(3);
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 1;
  harness.run.launch.incarnation = 4;
  harness.run.launch.stored_until = 2;
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, stored checkpoint_000001_4, result 2, stored checkpoint_000002_4, "
        "result 3 done, stored checkpoint_000003, finished");
}

TEST_CASE("a start goes on from a checkpoint", "[class_trial]") {
  Script script;
  script.step = [](Trainable&, int step) { return Metrics{{"x", step}, {"done", step == 2}}; };
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 2;
  harness.start();
  harness.wait_for_end();

  script.step = [](Trainable& self, int step) {
    return Metrics{
        {"x", step}, {"from", self.context().checkpoint->filename().string()}, {"done", true}};
  };
  harness.run.launch.incarnation = 2;
  harness.run.launch.start_iteration = 2;
  SECTION("its own") {
    harness.run.launch.checkpoint = {"00000_trial", "checkpoint_000002"};
    harness.start();
    const auto messages = harness.wait_for_end();
    CHECK(TrialHarness::describe(messages) == "started, result 3 done, finished");
    CHECK(TrialHarness::results(messages)[0].metrics ==
          Metrics{{"x", 3}, {"from", "checkpoint_000002"}});
  }
  SECTION("another's, which it first makes its own") {
    harness.run.launch.trial_name = "00001_trial";
    harness.run.launch.start_iteration = 4;
    harness.run.launch.checkpoint = {"00000_trial", "checkpoint_000002"};
    harness.run.launch.adopt_as = "checkpoint_000004_2";
    harness.start();
    const auto messages = harness.wait_for_end();
    CHECK(TrialHarness::describe(messages) ==
          "started, stored checkpoint_000004_2, result 5 done, finished");
    CHECK(TrialHarness::results(messages)[0].metrics ==
          Metrics{{"x", 3}, {"from", "checkpoint_000004_2"}});
    CHECK(fs::exists(harness.folder.path() / "00001_trial" / "checkpoint_000004_2" / "steps"));
  }
  SECTION("one that is gone") {
    harness.run.launch.checkpoint = {"00000_trial", "checkpoint_000009"};
    harness.start();
    CHECK(harness.ended().kind == engine::EndKind::damaged);
    CHECK_THAT(harness.ended().message,
               Catch::StartsWith("checkpoint_000009 of trial 00000 is damaged: there is no ") &&
                   Catch::EndsWith("00000_trial/checkpoint_000009"));
  }
}

TEST_CASE("a fault in any phase fails the start and names the phase", "[class_trial]") {
  const auto fault = [] { throw std::runtime_error("boom"); };
  Script script;
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 1;
  std::string expected;
  SECTION("setup") {
    script.setup = [&](Trainable&) { fault(); };
    expected = "started, failed setup: boom";
  }
  SECTION("step") {
    script.step = [&](Trainable&, int) -> Metrics { throw std::runtime_error("boom"); };
    expected = "started, failed step: boom";
  }
  SECTION("save_checkpoint") {
    script.save = [&](const fs::path&) { fault(); };
    expected = "started, result 1, failed save_checkpoint: boom";
  }
  SECTION("load_checkpoint") {
    fs::create_directories(harness.folder.path() / "00000_trial" / "checkpoint_000001");
    harness.run.launch.checkpoint = {"00000_trial", "checkpoint_000001"};
    script.load = fault;
    expected = "started, failed load_checkpoint: boom";
  }
  SECTION("what is no std::exception") {
    script.step = [](Trainable&, int) -> Metrics { throw 42; };
    expected = "started, failed step: unknown exception";
  }
  SECTION("a configuration that cannot work") {
    script.setup = [](Trainable&) { throw InvalidConfig("lr above 1"); };
    expected = "started, invalid setup: lr above 1";
  }
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) == expected);
  CHECK(script.calls.back() == "destroyed");
  CHECK(script.calls[script.calls.size() - 2] != "cleanup");
}

TEST_CASE("a fault in cleanup after a good end is a warning", "[class_trial]") {
  Script script;
  script.step = done_at(1);
  script.cleanup = [] { throw std::runtime_error("still busy"); };
  TrialHarness harness(scripted(script));
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1 done, warned: cleanup of trial 00000_trial: still busy, finished");
}

TEST_CASE("a checkpoint that cannot be stored fails the start with path and reason",
          "[class_trial]") {
  Script script;
  TrialHarness harness(scripted(script));
  harness.run.checkpoint.every = 1;
  std::ofstream(harness.folder.path() / "00000_trial") << "a file in the way";
  harness.start();
  const engine::Ended ended = harness.ended();
  CHECK(ended.kind == engine::EndKind::failed);
  CHECK_THAT(ended.message, Catch::Contains("00000_trial") && Catch::StartsWith("cannot make "));
}

}  // namespace
}  // namespace tune::runtime
