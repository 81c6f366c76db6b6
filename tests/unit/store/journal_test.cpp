#include "store/journal.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "journal_samples.hpp"
#include "store/journal_reader.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

using test::sample_result;
using test::TemporaryFolder;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

std::vector<LineResult> line_of(const JournalReader& reader, TrialId id) {
  std::vector<LineResult> line;
  reader.for_each_result(id, [&](const LineResult& result) { line.push_back(result); });
  return line;
}

TEST_CASE("a journal gives the experiment back as it was put in", "[journal]") {
  const TemporaryFolder folder;
  ExperimentRow row = test::sample_experiment();
  row.definition["bound"] = infinity;
  (void)Journal::create(folder.path(), row, JournalMode::wal);
  const auto read = [&] { return JournalReader(folder.path()).experiment(); };
  CHECK(read().name == "sample");
  CHECK(read().experiment_id == "5a3c");
  CHECK(read().objective->metric == "loss");
  CHECK(read().objective->mode == Mode::min);
  CHECK(read().seed == 0xFEDC'BA98'7654'3210);
  CHECK(is_identical(read().definition, row.definition));

  row.objective.reset();
  row.seed = 3;
  const auto journal = Journal::open(folder.path(), JournalMode::wal);
  journal->set_experiment(row);
  journal->commit();
  CHECK_FALSE(read().objective);
  CHECK(read().seed == 3);
}

TEST_CASE("a journal gives events back as they were put in", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  const EventRow node{
      .number = 1, .time_s = 0.1, .kind = "node_joined", .trial = {}, .body = R"({"name":"a"})"};
  const EventRow suggestion{.number = 4,
                            .time_s = 1e-300,
                            .kind = "suggestion",
                            .trial = TrialId(7),
                            .incarnation = 4'000'000'000,
                            .sequence = 0xFFFF'FFFF'FFFF'FFFF,
                            .body = "[]",
                            .decisions = "[1]"};
  journal->add(node);
  journal->add(suggestion);
  test::add_sample_trial(*journal, TrialId(0));
  test::add_sample_event(*journal, 5, 1);
  journal->commit();

  const JournalReader reader(folder.path());
  std::vector<RecordedEvent> events;
  reader.for_each_event([&](const RecordedEvent& event) { events.push_back(event); });
  REQUIRE(events.size() == 3);
  CHECK(events[0].row.kind == "node_joined");
  CHECK(events[0].row.body == node.body);
  CHECK(events[0].row.decisions.empty());
  CHECK_FALSE(events[0].row.trial);
  CHECK_FALSE(events[0].result);
  CHECK(events[1].row.time_s == suggestion.time_s);
  CHECK(events[1].row.trial == TrialId(7));
  CHECK(events[1].row.incarnation == suggestion.incarnation);
  CHECK(events[1].row.sequence == suggestion.sequence);
  CHECK(events[1].row.decisions == "[1]");
  REQUIRE(events[2].result);
  CHECK(events[2].result->event == 5);
  CHECK(events[2].result->trial == TrialId(0));
  CHECK(events[2].result->result.metrics == Metrics{{"loss", 0.2}});
  CHECK(reader.last_event() == 5);
  REQUIRE(reader.events_of_kind("suggestion").size() == 1);
  CHECK(reader.events_of_kind("suggestion").front().number == 4);
}

TEST_CASE("ME-04 values that are not finite come back from a journal as they were", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  const std::vector<double> values = {nan_value, infinity, -infinity, 1e308, 1.0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    Result result = sample_result(static_cast<std::int64_t>(i) + 1, values[i]);
    result.time_this_iter_s = values[i];
    result.time_total_s = values[i];
    result.timestamp = values[i];
    journal->add_result({.trial = TrialId(0), .result = result});
  }
  journal->commit();
  const auto line = line_of(JournalReader(folder.path()), TrialId(0));
  REQUIRE(line.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const MetricValue wanted(values[i]);  // whose == is true of NaN
    CHECK(line[i].result.metrics.at("loss") == wanted);
    CHECK(MetricValue(line[i].result.time_this_iter_s) == wanted);
    CHECK(MetricValue(line[i].result.time_total_s) == wanted);
    CHECK(MetricValue(line[i].result.timestamp) == wanted);
  }
}

TEST_CASE("ME-11 booleans, large integers and text come back from a journal as they were",
          "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  Result result = sample_result(1, 0.1);
  result.metrics = {{"converged", true},
                    {"tokens", std::int64_t{9007199254740993}},
                    {"least", std::numeric_limits<std::int64_t>::min()},
                    {"one", 1.0},
                    {"eval/acc", 0.9},
                    {"note", "ä\"\n"}};
  result.done = true;
  journal->add_result(
      {.trial = TrialId(0), .incarnation = 3, .result = result, .reported_done = false});
  journal->commit();
  const JournalReader reader(folder.path());
  const auto line = line_of(reader, TrialId(0));
  REQUIRE(line.size() == 1);
  CHECK(line[0].result.metrics == result.metrics);
  CHECK(line[0].result.done);
  CHECK(line[0].incarnation == 3);
  CHECK(reader.trial(TrialId(0))->last->metrics == result.metrics);
}

TEST_CASE("a journal gives trials and their starts back as they were put in", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  const Config first(
      Json{{"lr", infinity}, {"units", 18446744073709551615U}, {"deep", {{"a", 1}}}});
  const Config second(
      Json{{"lr", nan_value}, {"units", 18446744073709551615U}, {"deep", {{"a", 1}}}});
  journal->add_trial(TrialId(0), "zero", first, 3);
  journal->add_trial(TrialId(18446744073709551615U), "huge", second, 4);
  TrialInfo info{.id = TrialId(0),
                 .name = "zero",
                 .path = {},
                 .config = first,
                 .incarnation = 1,
                 .start_iteration = 0,
                 .node = "alpha",
                 .node_ip = "10.0.0.1",
                 .pid = 77};
  journal->add_start({.trial = info, .event = 5});
  info.incarnation = 2;
  info.start_iteration = 8;
  info.config = second;
  journal->add_start({.trial = info, .event = 9});
  journal->set_state(TrialId(0), 2, TrialState::error, "failed", "line 1\nline 2");
  journal->commit();

  const JournalReader reader(folder.path());
  const auto trial = reader.trial(TrialId(0));
  REQUIRE(trial);
  CHECK(trial->name == "zero");
  CHECK(trial->config == first);
  CHECK(trial->last_config == second);
  CHECK(trial->state == TrialState::error);
  CHECK(trial->incarnation == 2);
  CHECK(trial->reason == "failed");
  CHECK(trial->error == "line 1\nline 2");
  CHECK_FALSE(trial->last);
  const auto starts = reader.starts(TrialId(0));
  REQUIRE(starts.size() == 2);
  CHECK(starts[0].trial.config == first);
  CHECK(starts[0].trial.node == "alpha");
  CHECK(starts[0].trial.node_ip == "10.0.0.1");
  CHECK(starts[0].trial.pid == 77);
  CHECK(starts[1].event == 9);
  CHECK(starts[1].trial.name == "zero");
  CHECK(starts[1].trial.start_iteration == 8);
  CHECK(starts[1].trial.config == second);

  const auto huge = reader.trial(TrialId(18446744073709551615U));
  REQUIRE(huge);
  CHECK(huge->state == TrialState::pending);
  CHECK(huge->last_config == second);
  CHECK_FALSE(reader.trial(TrialId(1)));
  CHECK(reader.trial_counts() == TrialCounts{.pending = 1, .error = 1});
  std::vector<std::string> names;
  reader.for_each_trial([&](const TrialRow& row) { names.push_back(row.name); });
  CHECK(names.size() == reader.trial_ids().size());
}

TEST_CASE("a journal gives sessions, messages and snapshots back as they were put in",
          "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  journal->begin_session(
      {.number = 1, .first_event = 1, .host = "alpha", .pid = 5, .started = 1.5});
  journal->end_session(9.25, {.terminated_trials = 1,
                              .failed_trials = 2,
                              .unfinished_trials = 3,
                              .reason = "stopped",
                              .error = "why",
                              .interrupted = true});
  journal->begin_session({.number = 2, .first_event = 40, .host = "beta", .pid = 6, .started = 10});
  journal->add_message(3, TrialId(87), "explanation", "worse than 0.3");
  journal->add_message(4, {}, "warning", "a node is slow");
  journal->set_snapshot("scheduler", 10, "{\"a\":1}");
  journal->set_snapshot("scheduler", 20, "{\"a\":2}");
  journal->commit();

  const JournalReader reader(folder.path());
  const auto sessions = reader.sessions();
  REQUIRE(sessions.size() == 2);
  CHECK(sessions[0].host == "alpha");
  CHECK(sessions[0].ended == 9.25);
  REQUIRE(sessions[0].end);
  CHECK(sessions[0].end->unfinished_trials == 3);
  CHECK(sessions[0].end->reason == "stopped");
  CHECK(sessions[0].end->error == "why");
  CHECK(sessions[0].end->interrupted);
  CHECK(sessions[1].first_event == 40);
  CHECK_FALSE(sessions[1].ended);
  CHECK_FALSE(sessions[1].end);
  std::vector<MessageRow> messages;
  reader.for_each_message([&](const MessageRow& message) { messages.push_back(message); });
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].trial == TrialId(87));
  CHECK(messages[0].text == "worse than 0.3");
  CHECK_FALSE(messages[1].trial);
  CHECK(messages[1].kind == "warning");
  CHECK(reader.snapshot("scheduler")->event == 20);
  CHECK(reader.snapshot("scheduler")->state == "{\"a\":2}");
  CHECK_FALSE(reader.snapshot("searcher"));
}

TEST_CASE("a journal knows which checkpoints are kept, doomed and gone", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  for (std::int64_t i = 1; i <= 4; ++i) test::add_sample_event(*journal, i, i);
  CheckpointRow row{.trial = TrialId(0),
                    .directory = "checkpoint_000002",
                    .training_iteration = 2,
                    .time_total_s = nan_value,
                    .incarnation = 1,
                    .event = 2,
                    .files = 3,
                    .size_bytes = 1'000'000'000'000};
  journal->add_checkpoint(row);  // stored when the trial was further on already
  row.directory = "checkpoint_000004";
  row.training_iteration = 4;
  row.time_total_s = 4;
  journal->add_checkpoint(row);
  journal->commit();

  const JournalReader reader(folder.path());
  auto checkpoints = reader.checkpoints(TrialId(0));
  REQUIRE(checkpoints.size() == 2);
  CHECK(checkpoints[0].directory == "checkpoint_000002");
  CHECK(std::isnan(checkpoints[0].time_total_s));
  CHECK(checkpoints[0].files == 3);
  CHECK(checkpoints[0].size_bytes == 1'000'000'000'000);
  CHECK(checkpoints[0].is_kept);
  const auto line = line_of(reader, TrialId(0));
  REQUIRE(line.size() == 4);
  CHECK(line[0].checkpoint.empty());
  CHECK(line[1].checkpoint == "checkpoint_000002");
  CHECK(line[3].checkpoint == "checkpoint_000004");

  journal->doom_checkpoint(TrialId(0), "checkpoint_000002");
  journal->commit();
  CHECK_FALSE(reader.checkpoints(TrialId(0)).at(0).is_kept);
  journal->forget_checkpoint(TrialId(0), "checkpoint_000002");
  row.event = 9;
  journal->add_checkpoint(row);  // takes the place of its older self
  journal->commit();
  checkpoints = reader.checkpoints(TrialId(0));
  REQUIRE(checkpoints.size() == 1);
  CHECK(checkpoints[0].event == 9);
}

TEST_CASE("what was not committed is not in the journal", "[journal]") {
  const TemporaryFolder folder;
  auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  journal->commit();  // of nothing
  test::add_sample_trial(*journal, TrialId(0));
  test::add_sample_event(*journal, 1, 1);
  const JournalReader reader(folder.path());
  CHECK(reader.trial_ids().empty());
  CHECK(reader.last_event() == 0);
  journal->commit();
  CHECK(reader.last_event() == 1);
  test::add_sample_event(*journal, 2, 2);
  journal.reset();
  CHECK(reader.last_event() == 1);
  CHECK(test::iterations_of(reader, TrialId(0)) == std::vector<std::int64_t>{1});
}

TEST_CASE("a finished journal is one file, and can be gone on with", "[journal]") {
  const auto mode = GENERATE(JournalMode::wal, JournalMode::rollback);
  const TemporaryFolder folder;
  auto journal = Journal::create(folder.path(), test::sample_experiment(), mode);
  CHECK(journal->mode() == mode);
  journal->begin_session({.number = 1, .host = "alpha"});
  test::add_sample_trial(*journal, TrialId(0));
  test::add_sample_event(*journal, 1, 1);
  journal->commit();
  journal->sync();
  journal->finish();
  journal->finish();
  const std::filesystem::path file = folder.path() / journal_file;
  CHECK(std::filesystem::file_size(file) > 0);
  CHECK_FALSE(std::filesystem::exists(file.string() + "-wal"));
  journal->begin_session({.number = 2, .host = "alpha"});
  test::add_sample_event(*journal, 2, 2);
  journal->commit();
  journal.reset();
  journal = Journal::open(folder.path(), mode);
  test::add_sample_event(*journal, 3, 3);
  journal->commit();
  const JournalReader reader(folder.path());
  CHECK(test::count_whole_events(reader) == 3);
  CHECK(reader.check().empty());
}

TEST_CASE("a finished journal that somebody reads keeps its log and loses nothing", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  test::add_sample_event(*journal, 1, 1);
  journal->commit();
  const JournalReader reader(folder.path());
  reader.for_each_event([&](const RecordedEvent&) { journal->finish(); });
  CHECK(test::count_whole_events(reader) == 1);
  test::add_sample_event(*journal, 2, 2);
  journal->commit();
  CHECK(test::count_whole_events(reader) == 2);
}

TEST_CASE("a result of a trial that the journal does not know is a fault of ours", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  CHECK_THROWS_AS(test::add_sample_event(*journal, 1, 1), std::logic_error);
  CHECK_THROWS_AS(journal->commit(), JournalError);
  CHECK(JournalReader(folder.path()).last_event() == 0);
}

}  // namespace
}  // namespace tune::store
