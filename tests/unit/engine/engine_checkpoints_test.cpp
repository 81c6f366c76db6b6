#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine_bench.hpp"

namespace tune::engine {
namespace {

using Catch::Contains;

constexpr double nan_loss = std::numeric_limits<double>::quiet_NaN();

EngineOptions keeping(std::int64_t keep, std::int64_t keep_best = 0) {
  EngineOptions options = minimise_loss();
  options.checkpoint = {.every = 1, .keep = keep, .keep_best = keep_best};
  return options;
}

/// The iterations of a trial's checkpoints that are stored and not deleted.
std::set<std::int64_t> kept_iterations(const EngineBench& bench) {
  std::map<std::string, std::int64_t> kept;
  for (const Command& command : bench.all) {
    if (const auto* stored = std::get_if<RecordCheckpoint>(&command)) {
      kept[stored->directory_name] = stored->training_iteration;
    } else if (const auto* deleted = std::get_if<DeleteCheckpoint>(&command)) {
      CHECK(kept.erase(deleted->checkpoint.directory_name) == 1);  // not before it is recorded
    }
  }
  std::set<std::int64_t> iterations;
  for (const auto& [name, iteration] : kept) iterations.insert(iteration);
  return iterations;
}

/// A trial with checkpoints of iterations 1 to `last` that failed in the next one, once.
EngineBench failed_after(std::int64_t last, EngineOptions options) {
  options.max_failures = 1;
  EngineBench bench(options);
  bench.join().suggest(0);
  for (std::int64_t i = 1; i <= last; ++i) bench.report(0, i).store(0, i);
  bench.end(0, EndKind::failed);
  return bench;
}

EngineBench& find_damaged(EngineBench& bench, std::uint64_t trial = 0) {
  const std::string name = bench.launch(trial).checkpoint->directory_name;
  bench.tell(trial, Started{});
  return bench.end(trial, EndKind::damaged,
                   name + " of trial 00000 is damaged: w: 4 bytes, want 8");
}

TEST_CASE("FA-08: behind a damaged checkpoint a trial goes on from the one before it", "[FA-08]") {
  EngineBench bench = failed_after(6, keeping(3));
  CHECK(bench.launch(0).checkpoint->directory_name == "checkpoint_000006");
  find_damaged(bench);
  REQUIRE(bench.given<RecordWarning>().size() == 1);
  CHECK(bench.given<RecordWarning>().at(0).text ==
        "checkpoint_000006 of trial 00000 is damaged: w: 4 bytes, want 8; goes back to "
        "checkpoint_000005");
  REQUIRE(bench.given<RecordCheckpointDamaged>().size() == 1);
  CHECK(bench.given<RecordCheckpointDamaged>().at(0).directory_name == "checkpoint_000006");
  REQUIRE(bench.given<Launch>().size() == 1);  // at once, and though no retry is left
  const Launch launch = bench.launch(0);
  CHECK(launch.checkpoint->directory_name == "checkpoint_000005");
  CHECK(launch.start_iteration == 5);
  CHECK(launch.start_time_total_s == 50);
  // The damaged one stays as it is, also when its iteration comes again.
  bench.report(0, 6).store(0, 6);
  CHECK(bench.given<RecordCheckpoint>().at(0).directory_name == "checkpoint_000006_3");
  bench.report(0, 7).store(0, 7).report(0, 8).store(0, 8);
  CHECK(bench.given<RecordCheckpoint>().at(0).directory_name == "checkpoint_000008");
  for (const DeleteCheckpoint& command : bench.ever<DeleteCheckpoint>()) {
    CHECK(command.checkpoint.directory_name != "checkpoint_000006");
  }
  CHECK(bench.scheduler.told.size() == 8);  // nobody was told twice
  bench.end(0, EndKind::failed);
  CHECK(bench.state(0).state == TrialState::error);
}

TEST_CASE("FA-08: a trial whose checkpoints are all damaged ends as an error", "[FA-08]") {
  EngineOptions options = keeping(3);
  EngineBench bench = failed_after(6, options);
  for (const char* name : {"checkpoint_000006", "checkpoint_000005", "checkpoint_000004"}) {
    CHECK(bench.launch(0).checkpoint->directory_name == name);
    find_damaged(bench);
  }
  CHECK(bench.ever<Launch>().size() == 4);  // none of them from the beginning
  CHECK(bench.state(0).state == TrialState::error);
  CHECK(bench.state(0).reason == "no usable checkpoint");
  CHECK_THAT(bench.state(0).error,
             Contains("no usable checkpoint: checkpoint_000004 of trial 00000 is damaged"));
  CHECK_THAT(bench.given<RecordWarning>().at(0).text, Contains("no other one is left"));
  CHECK(bench.ever<RecordCheckpointDamaged>().size() == 3);
  CHECK(bench.given<TellSearcherFailed>().size() == 1);
  CHECK(bench.scheduler.failed.size() == 1);
  // Those that came before were deleted in time, the damaged ones are not.
  CHECK(bench.ever<DeleteCheckpoint>().size() == 3);
}

TEST_CASE("the configuration goes back with the checkpoint", "[engine]") {
  const Config explored(Json{{"x", 99}});
  EngineBench bench(keeping(5));
  bench.scheduler.result = [&](SchedulerContext& context, const Trial& trial, const Result& r) {
    if (trial.id() == TrialId{1} && r.training_iteration == 2) {
      (void)context.exploit(TrialId{1}, TrialId{0}, explored);
    }
    return Decision::proceed;
  };
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1).store(0, 1);
  bench.report(1, 1).store(1, 1).report(1, 2).end(1, EndKind::stopped, "");
  bench.tell(1, CheckpointStored{*bench.launch(1).adopt_as, 2, 20}).report(1, 3).leave(0);
  CHECK(bench.ever<RecordExploit>().size() == 1);
  bench.join(1, 2);
  CHECK(bench.launch(1).config == explored);
  find_damaged(bench, 1);
  CHECK(bench.launch(1).config == Config(Json{{"x", 1}}));
  CHECK(bench.launch(1).start_iteration == 1);
  CHECK(bench.ever<RecordExploitsDropped>().empty());  // the files have its results still
  bench.report(1, 2);
  REQUIRE(bench.given<RecordExploitsDropped>().size() == 1);
  CHECK(bench.given<RecordExploitsDropped>().at(0).trial == TrialId{1});
  CHECK(bench.given<RecordExploitsDropped>().at(0).kept == 0);
}

TEST_CASE("what was decided before the damage was found stays decided", "[engine]") {
  EngineBench bench = failed_after(2, keeping(2));
  SECTION("a stop") {
    bench.handle(StopRequested{"enough"});
    CHECK(bench.given<Stop>().size() == 1);
    find_damaged(bench);
    CHECK(bench.state(0).state == TrialState::terminated);
  }
  SECTION("an interrupt") {
    bench.handle(StopRequested{.reason = "Ctrl-C", .interrupts = true});
    find_damaged(bench);
    CHECK(bench.state(0).state == TrialState::paused);
    CHECK(bench.given<RecordWarning>().size() == 1);
  }
  SECTION("an interrupt, and nothing is left to go on from") {
    find_damaged(bench);
    bench.handle(StopRequested{.reason = "Ctrl-C", .interrupts = true});
    find_damaged(bench);
    CHECK(bench.state(0).state == TrialState::error);
  }
}

TEST_CASE("a pause that was decided stays decided where there is damage", "[engine]") {
  EngineOptions options = keeping(2);
  options.max_failures = 1;
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result&) {
    if (trial.id() == TrialId{1}) context.pause(TrialId{0});
    return Decision::proceed;
  };
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1).store(0, 1).report(0, 2).store(0, 2);
  bench.end(0, EndKind::failed).report(1, 1);
  CHECK(bench.given<Pause>().size() == 1);
  find_damaged(bench);
  CHECK(bench.state(0).state == TrialState::paused);
  CHECK(bench.ever<Launch>().size() == 3);
}

TEST_CASE("a lost trial does not start anew when its node is lost", "[engine]") {
  EngineBench bench = failed_after(1, keeping(1));
  bench.leave(0);  // before the trial can say anything
  CHECK(bench.state(0).state == TrialState::pending);
  bench.join(1);
  find_damaged(bench);
  CHECK(bench.state(0).state == TrialState::error);
}

/// Trial 0 has checkpoints of 1 and 2; 1 and 2 shall take over its newest one.
EngineBench cloned(std::int64_t keep) {
  EngineOptions options = keeping(keep);
  options.max_failures = 3;
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result&) {
    if (trial.id() != TrialId{0}) {
      (void)context.exploit(trial.id(), TrialId{0}, Config(Json{{"x", 99}}));
    }
    return Decision::proceed;
  };
  bench.join(0, 3).suggest(0).suggest(1).suggest(2);
  bench.report(0, 1).store(0, 1).report(0, 2).store(0, 2);
  bench.report(1, 1).store(1, 1).report(2, 1).end(1, EndKind::stopped, "");
  CHECK(bench.launch(1).checkpoint->directory_name == "checkpoint_000002");
  return bench;
}

TEST_CASE("a clone of a damaged checkpoint is cancelled", "[engine]") {
  EngineBench bench = cloned(2);
  find_damaged(bench, 1);
  CHECK_THAT(bench.given<RecordWarning>().at(0).text,
             Contains("it is not taken over; goes back to checkpoint_000001"));
  const Launch launch = bench.launch(1);
  CHECK_FALSE(launch.adopt_as);
  CHECK(launch.config == Config(Json{{"x", 1}}));
  CHECK(launch.start_iteration == 1);
  // It is nobody's any more: the donor goes back behind it, and the second clone is cancelled too.
  REQUIRE(bench.given<RecordCheckpointDamaged>().size() == 1);
  CHECK(bench.given<RecordCheckpointDamaged>().at(0).trial == TrialId{0});
  CHECK(bench.given<RecordWarning>().at(1).trial == TrialId{2});
  bench.end(2, EndKind::stopped, "");
  CHECK_FALSE(bench.launch(2).checkpoint);
  bench.end(0, EndKind::failed);
  CHECK(bench.launch(0).checkpoint->directory_name == "checkpoint_000001");
}

TEST_CASE("a donor that waits and has only what is damaged is lost", "[engine]") {
  EngineBench bench = cloned(1);
  SECTION("while it runs it goes on") {
    find_damaged(bench, 1);
    CHECK(bench.state(0).state == TrialState::pending);  // never recorded since it was added
    bench.report(0, 3).store(0, 3).end(0, EndKind::failed);
    CHECK(bench.launch(0).checkpoint->directory_name == "checkpoint_000003");
  }
  SECTION("it fails afterwards") {
    find_damaged(bench, 1).end(0, EndKind::failed, "boom");
    CHECK(bench.state(0).state == TrialState::error);
    CHECK_THAT(bench.state(0).error, Contains("no usable checkpoint") && Contains("boom"));
  }
  SECTION("it waits already") {
    bench.scheduler.choose = [](SchedulerContext&) { return std::nullopt; };
    bench.end(0, EndKind::failed);
    find_damaged(bench, 1);
    CHECK(bench.state(0).state == TrialState::error);
  }
  SECTION("it has ended before: what is damaged is not deleted") {
    bench.report(0, 3).store(0, 3).end(0, EndKind::finished, "");
    find_damaged(bench, 1);
    CHECK(bench.given<RecordCheckpointDamaged>().size() == 1);
    bench.end(2, EndKind::stopped, "");
    for (const DeleteCheckpoint& command : bench.ever<DeleteCheckpoint>()) {
      CHECK(command.checkpoint.directory_name != "checkpoint_000002");
    }
  }
}

TEST_CASE("the manifest goes with the checkpoint", "[engine]") {
  EngineBench bench(keeping(1));
  const auto files = std::make_shared<const core::CheckpointManifest>(
      core::CheckpointManifest{{"a", 3, "00"}, {"b", 4, "11"}});
  bench.join().suggest(0).report(0, 1);
  bench.tell(0, CheckpointStored{"checkpoint_000001", 1, 10, files});
  const RecordCheckpoint record = bench.given<RecordCheckpoint>().at(0);
  CHECK(record.files == files);
  CHECK(record.file_count == 2);
  CHECK(record.size_bytes == 7);
  bench.leave(0).join(1);
  CHECK(bench.launch(0).checkpoint_files == files);
}

// --- what is kept

TEST_CASE("the best checkpoints are kept beside the newest", "[engine]") {
  EngineBench bench(keeping(1, 2));
  bench.join().suggest(0);
  const std::vector<double> losses = {5, 1, 4, nan_loss, 3, 2, 6, 1};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto iteration = static_cast<std::int64_t>(i) + 1;
    bench.report(0, iteration, {{"loss", losses[i]}}).store(0, iteration);
    if (iteration == 5) CHECK(kept_iterations(bench) == std::set<std::int64_t>{2, 5});
    if (iteration == 7) CHECK(kept_iterations(bench) == std::set<std::int64_t>{2, 6, 7});
  }
  CHECK(kept_iterations(bench) == std::set<std::int64_t>{2, 8});
}

TEST_CASE("the best checkpoints may be those of another metric", "[engine]") {
  EngineOptions options = keeping(1, 1);
  options.checkpoint.metric = "accuracy";
  options.checkpoint.mode = Mode::max;
  EngineBench bench(options);
  bench.join().suggest(0);
  bench.report(0, 1, {{"loss", 1.0}, {"accuracy", 0.5}}).store(0, 1);
  bench.report(0, 2, {{"loss", 0.5}}).store(0, 2);
  bench.report(0, 3, {{"loss", 0.1}, {"accuracy", 0.4}}).store(0, 3);
  CHECK(kept_iterations(bench) == std::set<std::int64_t>{1, 3});
}

TEST_CASE("the way back behind damage is by age, not by value", "[engine]") {
  EngineOptions options = keeping(1, 2);
  options.max_failures = 1;
  EngineBench bench(options);
  bench.join().suggest(0);
  const std::vector<double> losses = {1, 5, 2, 6};
  for (std::int64_t i = 1; i <= 4; ++i) {
    bench.report(0, i, {{"loss", losses[static_cast<std::size_t>(i) - 1]}}).store(0, i);
  }
  CHECK(kept_iterations(bench) == std::set<std::int64_t>{1, 3, 4});
  bench.end(0, EndKind::failed);
  find_damaged(bench);
  CHECK(bench.launch(0).start_iteration == 3);
  bench.report(0, 4);
  bench.tell(0, CheckpointStored{own_checkpoint_name(bench.launch(0), 4), 4, 40});
  CHECK(bench.given<RecordCheckpoint>().at(0).directory_name == "checkpoint_000004_3");
}

TEST_CASE("SC-12: what a clone needs is kept, and goes when the clone has it", "[SC-12]") {
  EngineOptions options = keeping(1, 1);
  options.max_failures = -1;
  EngineBench bench(options);
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result& r) {
    if (trial.id() == TrialId{1} && r.training_iteration % 2 == 0) {
      (void)context.exploit(TrialId{1}, TrialId{0}, Config(Json{{"x", r.training_iteration}}));
    }
    return Decision::proceed;
  };
  bench.join(0, 2).suggest(0).suggest(1);
  std::int64_t donor_at = 0;
  const auto train_donor = [&] {
    ++donor_at;
    bench.report(0, donor_at, {{"loss", 1.0 / static_cast<double>(donor_at)}}).store(0, donor_at);
  };
  for (std::int64_t i = 1; i <= 60; ++i) {
    train_donor();
    bench.report(1, i).store(1, i);
    if (i % 2 != 0) continue;
    const CheckpointLocation donor{bench.launch(0).trial_name, checkpoint_directory_name(donor_at)};
    train_donor();  // the newest is another now
    for (const DeleteCheckpoint& command : bench.ever<DeleteCheckpoint>()) {
      REQUIRE_FALSE(command.checkpoint == donor);
    }
    bench.end(1, EndKind::stopped, "");
    REQUIRE(bench.launch(1).checkpoint == donor);
    train_donor();
    bench.tell(1, CheckpointStored{*bench.launch(1).adopt_as, i, 10.0 * static_cast<double>(i)});
  }
  std::map<std::string, int> kept;
  for (const RecordCheckpoint& c : bench.ever<RecordCheckpoint>()) {
    ++kept[std::to_string(c.trial.value())];
  }
  for (const DeleteCheckpoint& c : bench.ever<DeleteCheckpoint>()) {
    --kept[c.checkpoint.trial_name == bench.launch(0).trial_name ? "0" : "1"];
  }
  CHECK(kept["0"] == 1);  // the newest is the best
  CHECK(kept["1"] <= 2);
}

TEST_CASE("a clone is worth what its original was worth", "[engine]") {
  EngineBench bench(keeping(1, 1));
  bench.scheduler.result = [](SchedulerContext& context, const Trial& trial, const Result& r) {
    if (trial.id() == TrialId{1} && r.training_iteration == 2) {
      (void)context.exploit(TrialId{1}, TrialId{0}, Config(Json{{"x", 99}}));
    }
    return Decision::proceed;
  };
  bench.join(0, 2).suggest(0).suggest(1).report(0, 1, {{"loss", 0.1}}).store(0, 1);
  bench.report(1, 1, {{"loss", 5.0}}).store(1, 1).report(1, 2, {{"loss", 7.0}});
  bench.end(1, EndKind::stopped, "");
  bench.tell(1, CheckpointStored{*bench.launch(1).adopt_as, 2, 20});
  bench.report(1, 3, {{"loss", 0.2}}).store(1, 3);
  std::vector<std::string> deleted;
  for (const DeleteCheckpoint& command : bench.ever<DeleteCheckpoint>()) {
    deleted.push_back(command.checkpoint.directory_name);
  }
  CHECK(deleted == std::vector<std::string>{"checkpoint_000001"});  // 2 is the best, 3 the newest
}

TEST_CASE("keep_best without a metric is refused", "[engine]") {
  EngineOptions options;
  options.checkpoint.keep_best = 1;
  CHECK_THROWS_WITH(EngineBench(options), Contains("checkpoint.keep_best is 1"));
  options.checkpoint.keep_best = -1;
  CHECK_THROWS_WITH(EngineBench(options), "checkpoint.keep_best must be at least 0, is -1");
}

}  // namespace
}  // namespace tune::engine
