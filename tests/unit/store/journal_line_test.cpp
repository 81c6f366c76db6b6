// The current line of a trial: what is left of its results when it goes back.

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>

#include "journal_samples.hpp"
#include "store/journal.hpp"
#include "store/journal_reader.hpp"
#include "support/seed.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

using test::iterations_of;
using test::TemporaryFolder;
using Iterations = std::vector<std::int64_t>;

void add_iteration(Journal& journal, TrialId id, std::int64_t iteration, double loss = 0) {
  journal.add_result({.trial = id, .result = test::sample_result(iteration, loss)});
}

TEST_CASE("a result takes the place of all of its trial from its iteration on", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  const JournalReader reader(folder.path());
  for (const std::uint64_t id : {0, 1}) test::add_sample_trial(*journal, TrialId(id));
  for (std::int64_t i = 1; i <= 5; ++i) {
    for (const std::uint64_t id : {0, 1}) add_iteration(*journal, TrialId(id), i);
  }
  journal->commit();
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1, 2, 3, 4, 5});

  add_iteration(*journal, TrialId(0), 3, 33);
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1, 2, 3, 4, 5});  // not committed
  journal->commit();
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1, 2, 3});
  CHECK(reader.trial(TrialId(0))->last->metrics.at("loss") == 33.0);

  add_iteration(*journal, TrialId(0), 7);  // some are left out, as where a user counts
  add_iteration(*journal, TrialId(0), 5);
  add_iteration(*journal, TrialId(0), 2);
  journal->commit();
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1, 2});

  journal->drop_results(TrialId(0));
  journal->commit();
  CHECK(iterations_of(reader, TrialId(0)).empty());
  CHECK_FALSE(reader.trial(TrialId(0))->last);
  add_iteration(*journal, TrialId(0), 1);
  journal->commit();
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1});
  CHECK(iterations_of(reader, TrialId(1)) == Iterations{1, 2, 3, 4, 5});
}

TEST_CASE("results that a trial left behind are still those of their events", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  test::add_sample_event(*journal, 1, 1);
  test::add_sample_event(*journal, 2, 2);
  test::add_sample_event(*journal, 3, 1);
  journal->commit();
  const JournalReader reader(folder.path());
  CHECK(test::count_whole_events(reader) == 3);
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1});
}

TEST_CASE("all results that were taken can be read, in the order in which they came", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  for (const std::uint64_t id : {0, 1}) test::add_sample_trial(*journal, TrialId(id));
  const auto add = [&](std::uint32_t incarnation, std::int64_t iteration) {
    journal->add_result({.trial = TrialId(0),
                         .incarnation = incarnation,
                         .result = test::sample_result(iteration, 0)});
  };
  for (const std::int64_t iteration : {1, 2, 3}) add(1, iteration);
  add_iteration(*journal, TrialId(1), 1);
  add(2, 2);
  journal->commit();
  const JournalReader reader(folder.path());
  Iterations taken;
  reader.for_each_taken_result(
      TrialId(0), [&](const LineResult& line) { taken.push_back(line.result.training_iteration); });
  CHECK(taken == Iterations{1, 2, 3, 2});
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1, 2});
}

TEST_CASE("calls can all see one state of the journal", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  journal->commit();
  const JournalReader reader(folder.path());
  reader.in_one_state([&] {
    CHECK(reader.trial_ids().size() == 1);
    test::add_sample_trial(*journal, TrialId(1));
    journal->commit();
    CHECK(reader.trial_ids().size() == 1);
  });
  CHECK(reader.trial_ids().size() == 2);
}

TEST_CASE("who reads while a trial goes back sees its line as it was", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  for (std::int64_t i = 1; i <= 4; ++i) add_iteration(*journal, TrialId(0), i);
  journal->commit();
  const JournalReader reader(folder.path());
  Iterations seen;
  reader.for_each_result(TrialId(0), [&](const LineResult& line) {
    seen.push_back(line.result.training_iteration);
    add_iteration(*journal, TrialId(0), 1);
    journal->commit();
    CHECK(iterations_of(reader, TrialId(0)) == Iterations{1, 2, 3, 4});  // a call within the call
  });
  CHECK(seen == Iterations{1, 2, 3, 4});
  CHECK(iterations_of(reader, TrialId(0)) == Iterations{1});
}

Iterations iterations_of_view(const std::filesystem::path& folder, TrialId id) {
  SQLite::Database database((folder / journal_file).string(), SQLite::OPEN_READONLY, 10'000);
  SQLite::Statement query(
      database,
      "SELECT training_iteration FROM results WHERE trial = ? ORDER BY training_iteration");
  query.bind(1, static_cast<std::int64_t>(id.value()));
  Iterations iterations;
  while (query.executeStep()) iterations.push_back(query.getColumn(0).getInt64());
  return iterations;
}

TEST_CASE("the lines of many trials are those of a simple model", "[journal]") {
  const std::uint64_t seed = test::test_seed(20240611);
  INFO("TUNE_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  const TemporaryFolder folder;
  auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  const JournalReader reader(folder.path());
  std::map<TrialId, Iterations> model;
  constexpr std::uint64_t trials = 5;
  for (std::uint64_t id = 0; id < trials; ++id) {
    test::add_sample_trial(*journal, TrialId(id));
    model[TrialId(id)];
  }
  for (int step = 0; step < 2000; ++step) {
    const TrialId id(below(trials));
    Iterations& line = model[id];
    const std::uint64_t what = below(100);
    if (what < 80) {  // goes on, or back
      const std::int64_t last = line.empty() ? 0 : line.back();
      const std::int64_t iteration =
          what < 70 ? last + 1
                    : 1 + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last) + 1));
      while (!line.empty() && line.back() >= iteration) line.pop_back();
      line.push_back(iteration);
      add_iteration(*journal, id, iteration);
    } else if (what < 82) {
      line.clear();
      journal->drop_results(id);
    } else if (what < 90) {
      journal->set_state(id, 1, TrialState::terminated, "", "");  // and goes on later
    } else {
      journal->commit();
      if (what < 95) {
        journal.reset();
        journal = Journal::open(folder.path(), JournalMode::wal);
      }
      CHECK(iterations_of(reader, id) == line);
    }
  }
  journal->commit();
  for (const auto& [id, line] : model) {
    CHECK(iterations_of(reader, id) == line);
    CHECK(iterations_of_view(folder.path(), id) == line);
  }
}

}  // namespace
}  // namespace tune::store
