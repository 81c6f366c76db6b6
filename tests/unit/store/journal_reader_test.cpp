#include "store/journal_reader.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "journal_samples.hpp"
#include "store/journal.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::journal_error_of;
using test::TemporaryFolder;

TEST_CASE("a reader sees whole commits while the journal is written", "[journal]") {
  const auto mode = GENERATE(JournalMode::wal, JournalMode::rollback);
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), mode);
  test::add_sample_trial(*journal, TrialId(0));
  journal->commit();
  constexpr std::int64_t group = 7;
  std::atomic<bool> is_written = false;
  std::thread writer([&] {
    for (std::int64_t commit = 0; commit < 60; ++commit) {
      for (std::int64_t i = 1; i <= group; ++i) {
        test::add_sample_event(*journal, commit * group + i, i);  // goes back at each commit
      }
      journal->commit();
    }
    is_written = true;
  });
  const JournalReader reader(folder.path());
  std::int64_t seen = 0;
  bool is_last = false;
  while (!is_last) {
    is_last = is_written;
    const std::int64_t count = test::count_whole_events(reader);
    CHECK(count >= seen);
    CHECK(count % group == 0);
    seen = count;
    const auto iterations = test::iterations_of(reader, TrialId(0));
    if (seen > 0) CHECK(iterations == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7});
  }
  writer.join();
  CHECK(seen == 60 * group);
}

TEST_CASE("a reader serves several threads", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  for (std::int64_t i = 1; i <= 20; ++i) test::add_sample_event(*journal, i, i);
  journal->commit();
  const JournalReader reader(folder.path());
  std::atomic<int> faults = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        if (test::count_whole_events(reader) != 20) ++faults;
        if (test::iterations_of(reader, TrialId(0)).size() != 20) ++faults;
        if (reader.trial(TrialId(0))->last->training_iteration != 20) ++faults;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(faults == 0);
}

TEST_CASE("what takes a row may ask the reader, and may throw", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  for (const std::uint64_t id : {0, 1}) test::add_sample_trial(*journal, TrialId(id));
  test::add_sample_event(*journal, 1, 1);
  journal->commit();
  const JournalReader reader(folder.path());
  std::vector<std::size_t> pairs;
  reader.for_each_trial([&](const TrialRow& outer) {
    reader.for_each_trial([&](const TrialRow& inner) {
      pairs.push_back(outer.id.value() * 10 + inner.id.value() +
                      test::iterations_of(reader, inner.id).size() * 100);
    });
  });
  CHECK(pairs == std::vector<std::size_t>{100, 1, 110, 11});
  CHECK_THROWS_WITH(
      reader.for_each_trial([](const TrialRow&) { throw std::runtime_error("enough"); }), "enough");
  test::add_sample_event(*journal, 2, 2);
  journal->commit();
  CHECK(reader.last_event() == 2);  // it did not stay with what it had seen
}

TEST_CASE("a reader names what it cannot make sense of", "[journal]") {
  const TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  journal->set_snapshot("scheduler", 1, "not looked at");
  journal->add_trial(TrialId(3), "three", Config(), 0);
  journal->set_state(TrialId(3), 1, static_cast<TrialState>(0), "", "");
  journal->commit();
  const JournalReader reader(folder.path());
  CHECK(reader.snapshot("scheduler")->state == "not looked at");
  CHECK(reader.trial(TrialId(3))->state == TrialState::pending);
  CHECK(reader.check().empty());
}

// Runs `body` as somebody who may not write, in a child; says whether it returned true.
bool holds_for_nobody(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(2);
    try {
      ::_exit(body() ? 0 : 1);
    } catch (const std::exception&) {
      ::_exit(3);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Takes the right to write in a directory away from all.
class Unwritable {
 public:
  explicit Unwritable(fs::path directory) : directory_(std::move(directory)) {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      ::chmod(entry.path().c_str(), 0444);
    }
    ::chmod(directory_.c_str(), 0555);
  }
  ~Unwritable() { ::chmod(directory_.c_str(), 0755); }
  Unwritable(const Unwritable&) = delete;
  Unwritable& operator=(const Unwritable&) = delete;

 private:
  fs::path directory_;
};

TEST_CASE("a journal can be read where nothing can be written", "[journal]") {
  const bool is_finished = GENERATE(true, false);
  const TemporaryFolder folder;
  const fs::path directory = folder.path() / "50% of #1?";
  ::chmod(folder.path().c_str(), 0755);
  fs::create_directory(directory);
  {
    const auto journal = Journal::create(directory, test::sample_experiment(), JournalMode::wal);
    test::add_sample_trial(*journal, TrialId(0));
    test::add_sample_event(*journal, 1, 1);
    journal->commit();
    if (is_finished) journal->finish();  // else only closed
  }
  const Unwritable unwritable(directory);
  CHECK(holds_for_nobody([&] { return test::count_whole_events(JournalReader(directory)) == 1; }));
}

TEST_CASE("a journal that was not closed is refused where nothing can be written, and why",
          "[journal]") {
  const TemporaryFolder folder;
  const fs::path directory = folder.path() / "copy";
  ::chmod(folder.path().c_str(), 0755);
  fs::create_directory(directory);
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  journal->commit();
  for (const char* name : {"experiment.db", "experiment.db-wal"}) {
    test::set_file_bytes(directory / name, test::file_bytes(folder.path() / name));
  }
  const Unwritable unwritable(directory);
  CHECK(holds_for_nobody([&] {
    const std::string error = journal_error_of([&] { (void)JournalReader(directory); });
    return error.find("the newest changes are in experiment.db-wal") != std::string::npos;
  }));
}

}  // namespace
}  // namespace tune::store
