#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>
#include <tune/json.hpp>
#include <tune/registry.hpp>
#include <tune/track.hpp>

#include "run_support.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {
namespace {

namespace fs = std::filesystem;

/// Fails once, at iteration 4 with a checkpoint of iteration 2; saves at each.
void save_and_fail_once(const Config&) {
  int done = 0;
  if (const auto from = track::checkpoint()) std::ifstream(*from / "state") >> done;
  const auto loaded = track::load("step");
  add_line(
      track::context().trial_dir / "starts",
      std::to_string(track::index()) + ' ' +
          (loaded ? loaded->value.dump() + " at " + std::to_string(loaded->index) : "nothing"));
  if (loaded && loaded->files) {
    add_line(track::context().trial_dir / "starts", read_text(*loaded->files / "text"));
  }
  while (done < 5) {
    ++done;
    track::Writer writer;
    if (done == 2) writer = [&](const fs::path& dir) { std::ofstream(dir / "state") << done; };
    track::report({{"n", done}}, writer);
    track::save("step", {{"done", done}},
                [&](const fs::path& dir) { std::ofstream(dir / "text") << "text of " << done; });
    if (done == 4 && track::context().incarnation == 1) throw std::runtime_error("once");
  }
}
TUNE_REGISTER_FUNCTION(save_and_fail_once, {.checkpoints = true})

TEST_CASE("a trial that is retried finds what it had saved by then", "[track]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.exporters = {"json"};
  experiment.failure.max_failures = 1;
  const TrialResult trial = tune_run(save_and_fail_once, experiment)[0];
  CHECK(trial.state == TrialState::terminated);
  CHECK(iterations(trial) == counted_to(5));
  CHECK(read_lines(trial.path / "starts") ==
        std::vector<std::string>{"0 nothing", "2 {\"done\":2} at 2", "text of 2"});
  // The newest one, and that of the checkpoint.
  int directories = 0;
  for (const auto& entry : fs::directory_iterator(trial.path / "artifacts")) {
    directories += entry.is_directory() ? 1 : 0;
  }
  CHECK(directories == 2);
  CHECK(fsck(trial.path.parent_path()).is_sound());
}

TEST_CASE("a trial of a resumed experiment finds what it had saved by then", "[track]") {
  const TemporaryFolder folder;
  const auto run = [&](Resume resume) {
    Experiment experiment = small_experiment(folder);
    experiment.resume = resume;
    return tune_run(save_and_fail_once, experiment)[0];
  };
  CHECK(run(Resume::automatic).state == TrialState::error);
  const TrialResult trial = run(Resume::errored);
  CHECK(trial.state == TrialState::terminated);
  CHECK(iterations(trial) == counted_to(5));
  CHECK(read_lines(trial.path / "starts").at(1) == "2 {\"done\":2} at 2");
}

TEST_CASE("a trial that starts anew has saved nothing", "[track]") {
  const TemporaryFolder folder;
  const auto run = [&](Resume resume) {
    Experiment experiment = small_experiment(folder);
    experiment.resume = resume;
    return tune_run(save_and_fail_once, experiment)[0];
  };
  CHECK(run(Resume::automatic).state == TrialState::error);
  const TrialResult trial = run(Resume::restart_errored);
  CHECK(trial.state == TrialState::terminated);
  CHECK(read_lines(trial.path / "starts").at(1) == "0 nothing");
}

/// Goes back twice, to where it did well.
void go_back_twice(const Config&) {
  int went_back = 0;
  while (track::index() < 6) {
    const auto next = static_cast<int>(track::index()) + 1;
    track::report({{"n", next}, {"went_back", went_back}},
                  [&](const fs::path& dir) { std::ofstream(dir / "state") << next; });
    track::save("state", next);
    if (next < 5 || went_back == 2) continue;
    ++went_back;
    track::restore(2);
    if (track::load("state").value().value != 2) throw std::runtime_error("not that of index 2");
  }
}
TUNE_REGISTER_FUNCTION(go_back_twice, {.checkpoints = true})

TEST_CASE("a trial that goes back by its own wish has each iteration once", "[track]") {
  const TemporaryFolder folder;
  Experiment experiment = small_experiment(folder);
  experiment.exporters = {"json"};
  experiment.checkpoint = {.every = 1, .keep = 9};
  const TrialResult trial = tune_run(go_back_twice, experiment)[0];
  CHECK(trial.error.empty());
  REQUIRE(trial.state == TrialState::terminated);
  REQUIRE(iterations(trial) == counted_to(6));
  std::string seen;
  for (const Result& result : trial.history()) {
    seen += result.metrics.at("went_back").json().dump();
  }
  CHECK(seen == "002222");
  std::int64_t rows = 0;
  for (const std::string& line : read_lines(trial.path / "result.json")) {
    CHECK(Json::parse(line).at("training_iteration") == ++rows);
  }
  CHECK(rows == 6);
  CHECK(fsck(trial.path.parent_path()).is_sound());
  REQUIRE(trial.checkpoints.size() == 6);
  for (const Checkpoint& checkpoint : trial.checkpoints) {
    CHECK(read_text(checkpoint.path / "state") == std::to_string(checkpoint.training_iteration));
  }
}

/// What is refused in a writer, and what is not.
void ask_in_a_writer(const Config&) {
  std::string refused;
  track::report({{"x", 1}}, [&](const fs::path&) {
    (void)track::load("x");
    try {
      track::save("x", 1);
    } catch (const std::logic_error& error) {
      refused = error.what();
    }
  });
  track::report({{"refused", refused}, {"index", track::index()}});
}
TUNE_REGISTER_FUNCTION(ask_in_a_writer, {.checkpoints = true})

TEST_CASE("a writer of a trial may ask, and save nothing", "[track]") {
  const TemporaryFolder folder;
  const TrialResult trial = tune_run(ask_in_a_writer, small_experiment(folder))[0];
  REQUIRE(trial.state == TrialState::terminated);
  CHECK(trial.metrics.at("refused").json() ==
        "track::save: it was called while a writer writes its files");
  CHECK(trial.metrics.at("index").json() == 1);
}

/// Large values, more than may be on their way at a time.
void save_much(const Config&) {
  for (int i = 0; i < 40; ++i) track::save("large", std::string(1'000'000, 'x'));
  track::report({{"bytes", track::load("large").value().value.get<std::string>().size()}});
}
TUNE_REGISTER_FUNCTION(save_much, {})

TEST_CASE("a trial may save much, one after the other", "[track]") {
  const TemporaryFolder folder;
  const TrialResult trial = tune_run(save_much, small_experiment(folder))[0];
  CHECK(trial.error.empty());
  REQUIRE(trial.state == TrialState::terminated);
  CHECK(trial.metrics.at("bytes").json() == 1'000'000);
}

}  // namespace
}  // namespace tune::test
