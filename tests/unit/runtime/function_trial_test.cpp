#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/error.hpp>
#include <tune/track.hpp>
#include <tune/trainable.hpp>

#include "runtime/experiment_presence.hpp"
#include "runtime/trial_run.hpp"
#include "trial_harness.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

TrainableSpec function_spec(TrainFunction function) {
  TrainableSpec spec;
  spec.name = "train";
  spec.checkpoints = true;
  spec.function = std::move(function);
  return spec;
}

void write_nothing(const fs::path&) {}

TEST_CASE("ME-07: a function that ends is not reported twice", "[ME-07]") {
  TrialHarness harness(function_spec([](const Config& config) {
    const int last = config["last"].get<int>();
    for (int i = 1; i <= last; ++i) track::report({{"acc", i}});
  }));
  harness.run.launch.config = Config(Json{{"last", 41}});
  harness.start();
  const auto messages = harness.wait_for_end();
  const auto results = TrialHarness::results(messages);
  REQUIRE(results.size() == 41);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].training_iteration == static_cast<std::int64_t>(i) + 1);
    CHECK_FALSE(results[i].done);
  }
  CHECK(harness.ended().kind == engine::EndKind::finished);
}

TEST_CASE("a function ends its trial by done, and report does not return then",
          "[function_trial]") {
  bool returned = false;
  bool alone = false;
  SECTION("with a result") {}
  SECTION("alone") { alone = true; }
  TrialHarness harness(function_spec([&](const Config&) {
    track::report({{"x", 1}});
    track::report(alone ? Metrics{{"done", true}} : Metrics{{"x", 2}, {"done", true}});
    returned = true;
  }));
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        (alone ? "started, result 1, finished" : "started, result 1, result 2 done, finished"));
  CHECK_FALSE(returned);
}

TEST_CASE("report returns only when the trial may go on", "[function_trial]") {
  std::atomic<int> reports{0};
  TrialHarness harness(function_spec([&](const Config&) {
    for (int i = 0; i < 3; ++i) {
      track::report({{"x", i}});
      ++reports;
    }
  }));
  harness.run.launch.horizon.every_result = true;
  harness.start();
  for (int i = 1; i <= 3; ++i) {
    harness.wait_for(static_cast<std::size_t>(1 + i));
    CHECK(reports == i - 1);
    engine::Horizon horizon;
    horizon.every_result = true;
    horizon.decided_until = i;
    harness.link->proceed(horizon);
  }
  harness.wait_for_end();
  CHECK(reports == 3);
}

TEST_CASE("the time that report waits is not counted", "[function_trial]") {
  static std::atomic<int> ticks;
  ticks = 0;
  TrialHarness harness(function_spec([](const Config&) {
    for (int i = 0; i < 3; ++i) track::report({{"x", i}});
  }));
  harness.run.launch.start_time_total_s = 10;
  harness.run.now = [] {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(++ticks));
  };
  harness.start();
  const auto results = TrialHarness::results(harness.wait_for_end());
  REQUIRE(results.size() == 3);
  CHECK(results[2].time_this_iter_s == 1);
  CHECK(results[2].time_total_s == 13);
}

TEST_CASE("a stop comes as Ended, which is no std::exception", "[function_trial]") {
  bool caught = false;
  int destroyed = 0;
  struct Counter {
    int& count;
    ~Counter() { ++count; }
  };
  TrialHarness harness(function_spec([&](const Config&) {
    const Counter counter{destroyed};
    while (true) {
      try {
        track::report({{"x", 1}});
      } catch (const std::exception&) {
        caught = true;
      }
    }
  }));
  harness.run.launch.horizon.every_result = true;
  harness.start();
  harness.wait_for(2);
  harness.link->stop(false);
  CHECK(TrialHarness::describe(harness.wait_for_end()) == "started, result 1, stopped");
  CHECK_FALSE(caught);
  CHECK(destroyed == 1);
}

TEST_CASE("Ended that is swallowed is thrown again at each later call", "[function_trial]") {
  int thrown = 0;
  bool stops = false;
  const auto count = [&](auto call) {
    try {
      call();
    } catch (const track::Ended&) {
      ++thrown;
    }
  };
  TrialHarness harness(function_spec([&](const Config&) {
    count([] { track::report({{"x", 1}}); });
    count([] { track::report({{"x", 2}}); });
    count([] { (void)track::config(); });
    count([] { (void)track::context(); });
    count([] { (void)track::checkpoint(); });
    stops = track::should_stop();
  }));
  harness.run.launch.horizon.every_result = true;
  harness.start();
  harness.wait_for(2);
  harness.link->stop(false);
  CHECK(TrialHarness::describe(harness.wait_for_end()) == "started, result 1, stopped");
  CHECK(thrown == 5);
  CHECK(stops);
}

TEST_CASE("an exception after the end is a warning", "[function_trial]") {
  TrialHarness harness(function_spec([](const Config&) {
    try {
      track::report({{"x", 1}, {"done", true}});
    } catch (...) {
      throw std::runtime_error("interrupted");
    }
  }));
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1 done, warned: exception after the trial was told to end: train: "
        "interrupted, finished");
}

TEST_CASE("a loop may ask whether it should stop", "[function_trial]") {
  Gate asked;
  TrialHarness harness(function_spec([&](const Config&) {
    track::report({{"x", 1}});
    asked.open();
    while (!track::should_stop()) std::this_thread::yield();
  }));
  harness.start();
  asked.wait();
  harness.link->stop(false);
  CHECK(harness.ended().kind == engine::EndKind::stopped);
}

TEST_CASE("a function's writer is called when a checkpoint is due or asked for",
          "[function_trial]") {
  TrialHarness harness(function_spec([](const Config&) {
    for (int i = 1; i <= 6; ++i) {
      track::report({{"x", i}}, [i](const fs::path& dir) { std::ofstream(dir / "i") << i; });
    }
  }));
  SECTION("each third") {
    harness.run.checkpoint.every = 3;
    harness.start();
    CHECK(TrialHarness::describe(harness.wait_for_end()) ==
          "started, result 1, result 2, result 3, stored checkpoint_000003, result 4, result 5, "
          "result 6, stored checkpoint_000006, finished");
    int i = 0;
    std::ifstream(harness.folder.path() / "00000_trial" / "checkpoint_000006" / "i") >> i;
    CHECK(i == 6);
  }
  SECTION("whenever there is one") {
    harness.start();
    const auto text = TrialHarness::describe(harness.wait_for_end());
    CHECK_THAT(text, Catch::Contains("result 1, stored checkpoint_000001, result 2, stored"));
  }
  SECTION("asked for") {
    harness.run.checkpoint.every = 100;
    harness.run.launch.horizon.bounds.push_back({"training_iteration", 2, false});
    harness.start();
    harness.wait_for(3);
    harness.link->save();
    harness.wait_for(4);
    harness.link->pause();
    CHECK(TrialHarness::describe(harness.wait_for_end()) ==
          "started, result 1, result 2, stored checkpoint_000002, paused");
  }
}

TEST_CASE("a writer that comes late still saves what was due", "[function_trial]") {
  TrialHarness harness(function_spec([](const Config&) {
    for (int i = 1; i <= 6; ++i) {
      track::report({{"x", i}}, i % 2 == 0 ? track::Writer(write_nothing) : track::Writer());
    }
  }));
  harness.run.checkpoint.every = 3;
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, result 2, result 3, result 4, stored checkpoint_000004, result 5, "
        "result 6, stored checkpoint_000006, finished");
}

TEST_CASE("a pause waits for a report with a writer", "[function_trial]") {
  TrialHarness harness(function_spec([](const Config&) {
    for (int i = 1;; ++i) {
      track::report({{"x", i}}, i == 3 ? track::Writer(write_nothing) : track::Writer());
    }
  }));
  harness.run.launch.horizon.every_result = true;
  harness.start();
  harness.wait_for(2);
  harness.link->pause();
  CHECK(TrialHarness::describe(harness.wait_for_end()) ==
        "started, result 1, result 2, result 3, stored checkpoint_000003, paused");
}

TEST_CASE("a function starts from its checkpoint", "[function_trial]") {
  std::string seen;
  TrialHarness harness(function_spec([&](const Config&) {
    seen = track::checkpoint()->filename().string();
    track::report({{"trial", track::context().trial_name}});
  }));
  fs::create_directories(harness.folder.path() / "00000_trial" / "checkpoint_000007");
  harness.run.launch.checkpoint = {"00000_trial", "checkpoint_000007"};
  harness.run.launch.start_iteration = 7;
  harness.start();
  const auto messages = harness.wait_for_end();
  CHECK(TrialHarness::describe(messages) == "started, result 8, finished");
  CHECK(TrialHarness::results(messages)[0].metrics == Metrics{{"trial", "00000_trial"}});
  CHECK(seen == "checkpoint_000007");
}

TEST_CASE("a fault in a train function or its writer fails the start", "[function_trial]") {
  std::string expected;
  TrainFunction function;
  SECTION("exception") {
    function = [](const Config&) { throw std::runtime_error("boom"); };
    expected = "started, failed train: boom";
  }
  SECTION("no std::exception") {
    function = [](const Config&) { throw "boom"; };
    expected = "started, failed train: unknown exception";
  }
  SECTION("invalid configuration") {
    function = [](const Config&) { throw InvalidConfig("x below 0.5"); };
    expected = "started, invalid train: x below 0.5";
  }
  SECTION("writer, not hidden by a handler") {
    function = [](const Config&) {
      try {
        track::report({{"x", 1}}, [](const fs::path&) { throw std::runtime_error("no space"); });
      } catch (const std::exception&) {
      }
    };
    expected = "started, result 1, failed save_checkpoint: no space";
  }
  TrialHarness harness(function_spec(function));
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) == expected);
}

TEST_CASE("another thread of a trial must be attached", "[track]") {
  const ExperimentPresence presence;
  std::string refused;
  TrialHarness harness(function_spec([&](const Config&) {
    std::thread stranger([&] {
      try {
        track::report({{"x", 1}});
      } catch (const std::logic_error& error) {
        refused = error.what();
      }
    });
    stranger.join();
    std::thread helper([handle = track::handle()] {
      const auto attachment = track::attach(handle);
      track::report({{"x", 2}});
    });
    helper.join();
    track::report({{"x", 3}});
  }));
  harness.start();
  const auto messages = harness.wait_for_end();
  CHECK(TrialHarness::describe(messages) == "started, result 1, result 2, finished");
  CHECK_THAT(refused, Catch::Contains("track::report") && Catch::Contains("track::attach"));
}

TEST_CASE("a thread that outlives its trial is told that it has ended", "[track]") {
  track::Handle handle;
  {
    TrialHarness harness(function_spec([&](const Config&) { handle = track::handle(); }));
    harness.start();
    harness.wait_for_end();
  }
  const auto attachment = track::attach(handle);
  CHECK_THROWS_AS(track::report({{"x", 1}}), track::Ended);
  CHECK(track::should_stop());
}

TEST_CASE("while an experiment runs a thread without a trial is told what is missing", "[track]") {
  const ExperimentPresence presence;
  CHECK_THROWS_AS(track::report({{"x", 1}}), std::logic_error);
  CHECK_THROWS_AS(track::log({{"x", 1}}), std::logic_error);
  CHECK_THROWS_AS(track::config(), std::logic_error);
  CHECK_THROWS_AS(track::context(), std::logic_error);
  CHECK_THROWS_AS(track::checkpoint(), std::logic_error);
  CHECK_THROWS_AS(track::should_stop(), std::logic_error);
  CHECK_THROWS_AS(track::handle(), std::logic_error);
  CHECK_THROWS_WITH(track::init({.name = "mine"}),
                    Catch::Contains("track::init") && Catch::Contains("an experiment runs here"));
  CHECK_NOTHROW(track::finish());
}

TEST_CASE("within a trial init is refused and finish does nothing", "[track]") {
  std::string refused;
  TrialHarness harness(function_spec([&](const Config&) {
    try {
      track::init({.name = "mine"});
    } catch (const std::logic_error& error) {
      refused = error.what();
    }
    track::finish();
    track::report({{"x", 1}});
  }));
  harness.start();
  CHECK(TrialHarness::describe(harness.wait_for_end()) == "started, result 1, finished");
  CHECK_THAT(refused, Catch::Contains("an experiment runs here"));
}

TEST_CASE("what is logged comes with the next report", "[track]") {
  TrialHarness harness(function_spec([](const Config&) {
    track::log({{"lr", 0.1}, {"x", 0}});
    track::log({{"lr", 0.2}});
    track::report({{"x", 1}});
    track::report({{"x", 2}});
    track::log({{"late", 1}, {"later", 2}});
  }));
  harness.start();
  const auto messages = harness.wait_for_end();
  CHECK(TrialHarness::describe(messages) ==
        "started, result 1, result 2, warned: logged, but no report followed: late, later, "
        "finished");
  CHECK(TrialHarness::results(messages)[0].metrics == Metrics{{"lr", 0.2}, {"x", 1}});
  CHECK(TrialHarness::results(messages)[1].metrics == Metrics{{"x", 2}});
}

}  // namespace
}  // namespace tune::runtime
