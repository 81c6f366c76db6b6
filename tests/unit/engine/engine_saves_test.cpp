#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/event_json.hpp"
#include "engine_bench.hpp"
#include "support/engine_text.hpp"

namespace tune::engine {
namespace {

using Catch::Contains;

SavedValue value_at(std::int64_t index, std::string name = "x", std::string directory = {}) {
  return {.name = std::move(name),
          .index = index,
          .value = std::make_shared<const Json>(Json{{"at", index}}),
          .size_bytes = 8,
          .directory_name = std::move(directory)};
}

/// "x@2 y@3" for values of these names and indices.
std::string names_of(const std::vector<SavedValue>& saves) {
  std::string text;
  for (const SavedValue& saved : saves) {
    text += (text.empty() ? "" : " ") + saved.name + "@" + std::to_string(saved.index);
  }
  return text;
}

/// What the journal has of trial 0 after all commands so far.
std::string recorded_saves(const EngineBench& bench) {
  std::map<std::pair<std::string, std::int64_t>, SavedValue> kept;
  for (const Command& command : bench.all) {
    if (const auto* saved = std::get_if<RecordSaved>(&command)) {
      kept[{saved->saved.name, saved->saved.index}] = saved->saved;
    } else if (const auto* dropped = std::get_if<RecordSavedDropped>(&command)) {
      CHECK(kept.erase({dropped->name, dropped->index}) == 1);
    }
  }
  std::vector<SavedValue> saves;
  for (const auto& [key, saved] : kept) saves.push_back(saved);
  return names_of(saves);
}

std::vector<std::string> deleted_now(const EngineBench& bench) {
  std::vector<std::string> names;
  for (const DeleteCheckpoint& deleted : bench.given<DeleteCheckpoint>()) {
    names.push_back(deleted.checkpoint.directory_name);
  }
  return names;
}

EngineOptions with_retry(std::int64_t keep = 1) {
  EngineOptions options = minimise_loss();
  options.checkpoint = {.every = 1, .keep = keep};
  options.max_failures = 3;
  return options;
}

/// A replay from the text of the journal gives the same commands.
void check_replay(const EngineBench& bench, const EngineOptions& options) {
  EngineBench again(options);
  again.engine.begin_replay({});
  for (const auto& [event, time, decisions] : bench.history) {
    EventRecord record = record_of(event);
    record.body = object_of_text(object_text(record.body));
    again.engine.replay(event_of(record, options), time, decisions, true, again.all);
  }
  REQUIRE(again.all.size() == bench.all.size());
  for (std::size_t i = 0; i < bench.all.size(); ++i) {
    CHECK(test::describe(again.all[i]) == test::describe(bench.all[i]));
  }
}

TEST_CASE("a retry gets the values on record, from beyond its start too", "[saves]") {
  const EngineOptions options = with_retry();
  EngineBench bench(options);
  bench.join().suggest(0);
  bench.tell(0, Saved{value_at(0, "first")});
  for (std::int64_t i = 1; i <= 5; ++i) {
    bench.report(0, i).tell(0, Saved{value_at(i)});
    if (i == 3) bench.store(0, i);
  }
  // Of x, the newest and that of the checkpoint's time.
  CHECK(recorded_saves(bench) == "first@0 x@3 x@5");
  bench.end(0, EndKind::failed);
  CHECK(names_of(bench.launch(0).saves) == "first@0 x@3 x@5");

  // Until it reports nothing is lost; then what it had done beyond makes way.
  bench.end(0, EndKind::failed);
  CHECK(recorded_saves(bench) == "first@0 x@3 x@5");
  CHECK(names_of(bench.launch(0).saves) == "first@0 x@3 x@5");
  bench.report(0, 4);
  CHECK(recorded_saves(bench) == "first@0 x@3");
  check_replay(bench, options);
}

TEST_CASE("without a checkpoint a retry gets what was saved", "[saves]") {
  const EngineOptions options = with_retry();
  EngineBench bench(options);
  bench.join().suggest(0);
  bench.tell(0, Saved{value_at(0)});
  bench.report(0, 1).tell(0, Saved{value_at(1)});
  bench.end(0, EndKind::failed);
  CHECK(names_of(bench.launch(0).saves) == "x@0 x@1");
  check_replay(bench, options);
}

TEST_CASE("the files of a saved value go with it", "[saves]") {
  EngineBench bench(with_retry());
  bench.join().suggest(0);
  bench.report(0, 1).tell(0, Saved{value_at(1, "x", "artifacts/x_000001")});
  CHECK(deleted_now(bench).empty());
  bench.tell(0, Saved{value_at(1, "x", "artifacts/x_000001-1")});
  CHECK(deleted_now(bench) == std::vector<std::string>{"artifacts/x_000001"});
  CHECK(recorded_saves(bench) == "x@1");
  bench.report(0, 2).tell(0, Saved{value_at(2)});
  CHECK(deleted_now(bench) == std::vector<std::string>{"artifacts/x_000001-1"});
  CHECK(recorded_saves(bench) == "x@2");
}

TEST_CASE("a trial that goes back by its own wish is not judged twice", "[saves]") {
  const EngineOptions options = with_retry(5);
  EngineBench bench(options);
  bench.join().suggest(0);
  for (std::int64_t i = 1; i <= 4; ++i) bench.report(0, i).store(0, i).tell(0, Saved{value_at(i)});
  bench.tell(0, WentBack{2});
  CHECK(bench.commands.empty());  // until the next result
  bench.report(0, 3);
  CHECK(deleted_now(bench) == std::vector<std::string>{"checkpoint_000003", "checkpoint_000004"});
  CHECK(recorded_saves(bench) == "x@1 x@2");
  CHECK(bench.given<RecordResult>().size() == 1);
  bench.report(0, 4).report(0, 5);
  std::vector<std::int64_t> told;
  for (const Result& result : bench.scheduler.told) told.push_back(result.training_iteration);
  CHECK(told == std::vector<std::int64_t>{1, 2, 3, 4, 5});
  bench.end(0, EndKind::failed);
  CHECK(bench.launch(0).checkpoint->directory_name == "checkpoint_000002");
  CHECK(names_of(bench.launch(0).saves) == "x@1 x@2");
  check_replay(bench, options);
}

TEST_CASE("a start that fails before it reports has not gone back", "[saves]") {
  EngineBench bench(with_retry());
  bench.join().suggest(0);
  for (std::int64_t i = 1; i <= 4; ++i) bench.report(0, i).store(0, i);
  bench.tell(0, WentBack{1}).end(0, EndKind::failed);
  CHECK(bench.launch(0).start_iteration == 4);
}

TEST_CASE("a trial cannot go back to what it has not done", "[saves]") {
  EngineBench bench(with_retry());
  bench.join().suggest(0);
  bench.report(0, 1).tell(0, WentBack{2});
  bench.end(0, EndKind::stopped);
  CHECK(bench.state(0).state == TrialState::error);
  CHECK_THAT(bench.state(0).error, Contains("went back to iteration 2 from iteration 1"));
}

TEST_CASE("old values go once there is too much of them", "[saves]") {
  SavedValues values;
  for (std::int64_t i = 0; i < 40; ++i) {
    SavedValue saved = value_at(i);
    saved.size_bytes = std::uint64_t{1} << 20U;
    CHECK(values.put(saved).empty());
  }
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 40; ++i) all.push_back(i);
  CHECK(values.keep_for(all).size() == 24);
  CHECK(values.all().size() == 16);
  CHECK(values.all().front().index == 24);
  CHECK(values.newest("x")->index == 39);
}

}  // namespace
}  // namespace tune::engine
