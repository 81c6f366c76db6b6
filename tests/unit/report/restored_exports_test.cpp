#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "hub_run.hpp"
#include "support/event_records.hpp"
#include "support/limits.hpp"
#include "support/seed.hpp"

// What the files of a trial are like if the process dies at any point and another one goes on.

namespace tune {
namespace {

using test::HubRun;

using ScriptStep = std::function<void(HubRun&)>;

// Keys that come late, text, and what is not finite: by the iteration alone, but for the loss.
Metrics metrics_of(std::int64_t iteration, std::uint32_t start) {
  Metrics metrics = {{"loss", 1.0 / static_cast<double>(iteration) + start}};
  if (iteration >= 3) metrics.set("late", iteration);
  if (iteration % 4 == 0) metrics.set("note", "a,\"b\"\r\n" + std::to_string(iteration) + "\r\n");
  if (iteration == 5) metrics.set("late", test::nan);
  return metrics;
}

/// The life of trial 0 by chance: starts, results, checkpoints, failures, goings-back. Ends beyond
/// all iterations that it ever had.
class RandomScript {
 public:
  explicit RandomScript(std::uint64_t seed) : random_(seed) {
    add([](HubRun& run) { run.add(0, {{"lr", 0.5}, {"net", {{"depth", 2}}}}); });
    for (int i = 0; i < 40; ++i) add_any();
    if (!is_running_) add_start();
    const std::int64_t end = most_iterations_ + 1;
    while (iteration_ < end) add_result();
    if (chance(0.5)) {
      add([](HubRun& run) { run.complete(0); });
    } else {
      add([](HubRun& run) { run.fail(0, "it broke for good"); });
    }
  }
  [[nodiscard]] const std::vector<ScriptStep>& steps() const { return steps_; }

 private:
  bool chance(double probability) {
    return std::uniform_real_distribution<double>()(random_) < probability;
  }
  void add(ScriptStep step) { steps_.push_back(std::move(step)); }

  void add_any() {
    if (chance(0.1)) {
      add([](HubRun& run) { run.hub().idle(); });
    } else if (!is_running_) {
      add_start();
    } else if (iteration_ > 0 && chance(0.25)) {
      checkpoints_.push_back(iteration_);
      add([iteration = iteration_](HubRun& run) { run.checkpoint(0, iteration); });
    } else if (chance(0.2)) {
      add_stop();
    } else {
      add_result();
    }
  }

  void add_start() {
    const auto place =
        std::uniform_int_distribution<std::size_t>(0, checkpoints_.size() - 1)(random_);
    iteration_ = checkpoints_[place];
    checkpoints_.resize(place + 1);
    is_running_ = true;
    ++starts_;
    const double lr = chance(0.3) ? 0.5 * starts_ : 0.5;  // it explored
    add([lr, iteration = iteration_](HubRun& run) {
      run.start_with(0, {{"lr", lr}, {"net", {{"depth", 2}}}}, iteration);
    });
  }

  void add_stop() {
    is_running_ = false;
    if (chance(0.5)) {
      add([](HubRun& run) { run.state(0, TrialState::pending, "tried again", "it broke"); });
    } else {
      add([](HubRun& run) { run.state(0, TrialState::paused, "a pause"); });
    }
  }

  void add_result() {
    ++iteration_;
    most_iterations_ = std::max(most_iterations_, iteration_);
    add([iteration = iteration_, start = starts_](HubRun& run) {
      run.report_at(0, iteration, metrics_of(iteration, start));
    });
  }

  std::mt19937_64 random_;
  std::vector<ScriptStep> steps_;
  std::vector<std::int64_t> checkpoints_ = {0};  // 0: from nothing
  std::int64_t iteration_ = 0;
  std::int64_t most_iterations_ = 0;
  std::uint32_t starts_ = 0;
  bool is_running_ = false;
};

struct TrialExports {
  std::string params;
  std::string json;
  std::string csv;
  test::ShownEvents events;

  explicit TrialExports(const HubRun& run)
      : params(test::file_text(run.trial_path(0) / "params.json")),
        json(test::file_text(run.trial_path(0) / "result.json")),
        csv(test::file_text(run.trial_path(0) / "progress.csv")),
        events(test::shown_events(run.trial_path(0))) {}
};

void check_same(const TrialExports& found, const TrialExports& expected) {
  CHECK(found.params == expected.params);
  CHECK(found.json == expected.json);
  CHECK(found.csv == expected.csv);
  CHECK(found.events == expected.events);
}

void check_each_iteration_once(const HubRun& run) {
  std::vector<std::int64_t> expected;
  for (const Result& result : run.results()[0].history()) {
    expected.push_back(result.training_iteration);
    REQUIRE(result.training_iteration == static_cast<std::int64_t>(expected.size()));
  }
  std::vector<std::int64_t> json;
  for (const Json& row : test::json_lines(run.trial_path(0) / "result.json")) {
    json.push_back(row.at("training_iteration").get<std::int64_t>());
  }
  CHECK(json == expected);
  std::vector<std::int64_t> csv;
  const test::CsvTable table(run.trial_path(0) / "progress.csv");
  for (const std::string& text : table.column("training_iteration"))
    csv.push_back(std::stoll(text));
  CHECK(csv == expected);
  CHECK(steps(test::shown_events(run.trial_path(0))) == expected);
}

TEST_CASE("RE-02: whenever the process dies, the files end as if it had not", "[RE-02]") {
  const std::uint64_t seed = test::test_seed(GENERATE(1, 2, 3, 4, 5, 6));
  INFO("TUNE_TEST_SEED=" << seed);
  const std::vector<ScriptStep> script = RandomScript(seed).steps();
  HubRun whole;
  for (const ScriptStep& step : script) step(whole);
  whole.end();
  check_each_iteration_once(whole);
  const TrialExports expected(whole);

  for (std::size_t killed = 1; killed <= script.size(); ++killed) {
    INFO("killed after step " << killed);
    HubRun run;
    for (std::size_t i = 0; i < script.size(); ++i) {
      script[i](run);
      if (i + 1 == killed) run.kill_and_resume();
    }
    run.end();
    REQUIRE_FALSE(run.hub().storage_error());
    check_same(TrialExports(run), expected);
  }
}

TEST_CASE("RE-02: a process that dies again and again leaves the files of one that does not",
          "[RE-02]") {
  const std::uint64_t seed = test::test_seed(GENERATE(7, 8, 9));
  INFO("TUNE_TEST_SEED=" << seed);
  const std::vector<ScriptStep> script = RandomScript(seed).steps();
  HubRun whole;
  for (const ScriptStep& step : script) step(whole);
  whole.end();

  HubRun run;
  for (const ScriptStep& step : script) {
    step(run);
    run.kill_and_resume();
  }
  run.end();
  REQUIRE_FALSE(run.hub().storage_error());
  check_each_iteration_once(run);
  check_same(TrialExports(run), TrialExports(whole));
}

TEST_CASE("RE-02: what a lost attempt reported is cut off as the new one reports", "[RE-02]") {
  HubRun run;
  run.run(0);
  for (int i = 1; i <= 7; ++i) {
    run.report(0, {{"loss", i}});
    if (i == 5) run.checkpoint(0, 5);
  }
  run.hub().idle();
  run.kill_and_resume();
  run.hub().idle();
  CHECK(test::json_lines(run.trial_path(0) / "result.json").size() == 7);
  run.start(0, 5);
  run.hub().idle();
  CHECK(test::json_lines(run.trial_path(0) / "result.json").size() == 7);
  run.report(0, {{"loss", 60}});
  run.hub().idle();
  const auto rows = test::json_lines(run.trial_path(0) / "result.json");
  REQUIRE(rows.size() == 6);
  CHECK(rows[4].at("checkpoint_dir_name") == "checkpoint_000005");
  CHECK(rows[4].at("iterations_since_restore") == 5);
  CHECK(rows[5].at("loss") == 60);
  CHECK(rows[5].at("iterations_since_restore") == 1);
  CHECK(rows[5].at("time_since_restore") == 0.5);
  CHECK(rows[5].at("hostname") == "host-2");
  CHECK(test::CsvTable(run.trial_path(0) / "progress.csv").rows() == 6);
  CHECK(steps(test::shown_events(run.trial_path(0))).size() == 6);
}

TEST_CASE("a trial that goes on has one event file, which takes the place of the older ones",
          "[restore]") {
  HubRun run;
  run.run(0);
  for (int i = 1; i <= 3; ++i) run.report(0, {{"loss", i}});
  run.state(0, TrialState::pending, "", "it broke");
  run.start(0, 1);
  run.report(0, {{"loss", 20}});
  run.hub().idle();
  const auto older = test::event_files(run.trial_path(0));
  REQUIRE(older.size() == 2);
  const std::string of_others = "events.out.tfevents.1700000000.host.4711.0";
  report::write_file(run.trial_path(0) / of_others, "of the training code");
  run.kill_and_resume();
  run.hub().idle();
  std::vector<std::string> names;
  for (const auto& file : test::event_files(run.trial_path(0))) names.push_back(file.filename());
  REQUIRE(names.size() == 2);
  CHECK(names[0] == of_others);
  CHECK(names[1] > older[1].filename().string());  // so a TensorBoard that looks on goes to it
  std::filesystem::remove(run.trial_path(0) / of_others);
  CHECK(steps(test::shown_events(run.trial_path(0))) == std::vector<std::int64_t>{1, 2});
  // And forgets what it had from the older ones.
  const auto events = test::event_records(run.trial_path(0) / names[1]);
  CHECK(events.at(1).substr(9) == std::string("\x10\x01\x3A\x02\x08\x01"));

  run.start(0, 1);
  run.report(0, {{"loss", 200}});
  run.report(0, {{"loss", 300}});
  run.complete(0);
  CHECK(test::event_files(run.trial_path(0)).size() == 2);
  CHECK(steps(test::shown_events(run.trial_path(0))) == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("RE-04: a failed trial that starts from nothing loses its old rows at its first new one",
          "[RE-04]") {
  HubRun run;
  run.run(0);
  for (int i = 1; i <= 4; ++i) run.report(0, {{"loss", i}, {"old", i}});
  run.checkpoint(0, 3);
  run.fail(0, "it broke for good");
  run.end();
  run.journal().revive(TrialId(0));
  const bool is_dropped_before = GENERATE(false, true);
  if (is_dropped_before) run.journal().drop_results(TrialId(0));
  run.kill_and_resume();
  run.journal().drop_results(TrialId(0));
  run.hub().trial_restarted(TrialId(0));
  run.start(0);
  for (int i = 1; i <= 2; ++i) run.report(0, {{"loss", 10 * i}});
  run.complete(0);
  run.end();
  check_each_iteration_once(run);
  for (const Json& row : test::json_lines(run.trial_path(0) / "result.json")) {
    CHECK(row.at("loss").get<int>() >= 10);
    CHECK(row.at("hostname") == "host-2");
    CHECK(row.at("checkpoint_dir_name").is_null());
  }
  CHECK(test::CsvTable(run.trial_path(0) / "progress.csv").column("loss") ==
        std::vector<std::string>{"10", "20"});
}

TEST_CASE("RE-04: one that fails once more before it reports leaves no old rows to a later resume",
          "[RE-04]") {
  HubRun run;
  run.run(0);
  run.report(0, {{"loss", 1}});
  run.fail(0, "it broke for good");
  run.journal().revive(TrialId(0));
  run.kill_and_resume();
  run.journal().drop_results(TrialId(0));
  run.hub().trial_restarted(TrialId(0));
  run.start(0);
  run.fail(0, "it broke at once");
  run.end();
  run.kill_and_resume();
  CHECK_FALSE(std::filesystem::exists(run.trial_path(0) / "result.json"));
  CHECK_FALSE(std::filesystem::exists(run.trial_path(0) / "progress.csv"));
  CHECK(test::shown_events(run.trial_path(0)).scalars.empty());
  CHECK(test::shown_events(run.trial_path(0)).ends == 1);
}

}  // namespace
}  // namespace tune
