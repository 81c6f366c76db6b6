// What is left of a journal when writing it fails, or the process dies, at any place.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "fault_file_system.hpp"
#include "journal_samples.hpp"
#include "store/journal.hpp"
#include "store/journal_reader.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::FaultFileSystem;
using test::journal_error_of;
using test::TemporaryFolder;
using Fault = FaultFileSystem::Fault;

constexpr std::int64_t group = 3;    // events a commit
constexpr std::int64_t commits = 5;  // of them

// A journal's life: `told` is called after each commit with its number, from 0: the trial's.
template <class Told>
void live(const fs::path& folder, JournalMode mode, Told told) {
  const auto journal = Journal::create(folder, test::sample_experiment(), mode);
  test::add_sample_trial(*journal, TrialId(0));
  journal->commit();
  told(0);
  for (std::int64_t commit = 1; commit <= commits; ++commit) {
    for (std::int64_t i = 1; i <= group; ++i) {
      // The last of a group goes back.
      test::add_sample_event(*journal, (commit - 1) * group + i, i == group ? 1 : commit + i);
    }
    journal->commit();
    told(commit);
    if (commit % 2 == 0) journal->sync();
  }
  journal->finish();
}

// Opens what is left, once to read and once to go on, and says how many groups are whole.
std::int64_t groups_left(const fs::path& folder, JournalMode mode) {
  const std::int64_t read = test::count_whole_events(JournalReader(folder));
  const auto journal = Journal::open(folder, mode);
  const JournalReader reader(folder);
  const std::int64_t events = test::count_whole_events(reader);
  CHECK(read == events);
  CHECK(events % group == 0);
  CHECK(reader.check().empty());
  if (events > 0) {
    CHECK(test::iterations_of(reader, TrialId(0)) == std::vector<std::int64_t>{1});
    test::add_sample_event(*journal, events + 1, 2);
    journal->commit();
    CHECK(test::count_whole_events(reader) == events + 1);
  }
  return events / group;
}

TEST_CASE("a journal that could not be written has a whole number of commits", "[journal]") {
  const auto mode = GENERATE(JournalMode::wal, JournalMode::rollback);
  const auto fault = GENERATE(Fault::io_error, Fault::disk_full, Fault::disk_full_from_then_on);
  FaultFileSystem system;
  bool has_struck = true;
  std::int64_t errors = 0;
  for (std::int64_t operation = 1; has_struck; ++operation) {
    const TemporaryFolder folder;
    INFO(to_string(mode) << ", operation " << operation);
    std::int64_t done = -1;
    system.arm(fault, operation);
    const std::string error = journal_error_of(
        [&] { live(folder.path(), mode, [&](std::int64_t commit) { done = commit; }); });
    has_struck = system.has_struck();
    system.disarm();
    const fs::path file = folder.path() / journal_file;
    if (!error.empty()) {
      ++errors;
      CHECK_THAT(error,
                 Contains(file.string()) && (Contains("disk I/O error") || Contains("full") ||
                                             Contains("sync") || Contains("cannot be had here")));
    }
    if (done < 0 && !fs::exists(file)) continue;
    const std::int64_t left = groups_left(folder.path(), mode);
    CHECK(left >= std::max<std::int64_t>(done, 0));
    CHECK(left <= done + 1);
    if (error.empty()) CHECK(left == commits);
  }
  CHECK(errors > 10);
}

TEST_CASE("after an error nothing more is written to a journal", "[journal]") {
  const TemporaryFolder folder;
  FaultFileSystem system;
  auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  journal->commit();
  test::add_sample_event(*journal, 1, 1);
  system.arm(Fault::disk_full, 1);
  const std::string error = journal_error_of([&] { journal->commit(); });
  system.disarm();
  CHECK_THAT(error, Contains("experiment.db: cannot write: database or disk is full"));
  CHECK(journal_error_of([&] { test::add_sample_event(*journal, 2, 2); }) == error);
  CHECK(journal_error_of([&] { journal->commit(); }) == error);
  CHECK(journal_error_of([&] { journal->sync(); }) == error);
  CHECK(journal_error_of([&] { journal->finish(); }) == error);
  const std::string log = test::file_bytes(folder.path() / "experiment.db-wal");
  journal.reset();
  CHECK((test::file_bytes(folder.path() / "experiment.db-wal") == log));
  CHECK(JournalReader(folder.path()).last_event() == 0);
}

// Runs a journal's life in a child that dies within its `operation`-th operation, and says how
// many commits it had told of by then; empty: it lived.
std::optional<std::int64_t> commits_before_death(FaultFileSystem& system, const fs::path& folder,
                                                 JournalMode mode, std::int64_t operation) {
  std::array<int, 2> told{};
  REQUIRE(::pipe(told.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    system.arm(Fault::kill, operation);
    try {
      live(folder, mode, [&](std::int64_t) { (void)!::write(told[1], "", 1); });
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(told[1]);
  std::int64_t count = 0;
  for (char byte = 0; ::read(told[0], &byte, 1) == 1;) ++count;
  ::close(told[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return count;
  REQUIRE(WEXITSTATUS(status) == 0);
  return {};
}

TEST_CASE("RE-10 a journal whose writer was killed has what it had committed", "[journal]") {
  const auto mode = GENERATE(JournalMode::wal, JournalMode::rollback);
  FaultFileSystem system;
  std::int64_t deaths = 0;
  for (std::int64_t operation = 1;; ++operation) {
    const TemporaryFolder folder;
    INFO(to_string(mode) << ", operation " << operation);
    const auto told = commits_before_death(system, folder.path(), mode, operation);
    if (!told) break;
    ++deaths;
    if (!fs::exists(folder.path() / journal_file)) {
      CHECK(*told == 0);
      (void)Journal::create(folder.path(), test::sample_experiment(), mode);  // begins again
      CHECK(JournalReader(folder.path()).last_event() == 0);
      continue;
    }
    const std::int64_t left = groups_left(folder.path(), mode);
    CHECK(left >= std::max<std::int64_t>(*told - 1, 0));  // the first one is the trial's
    CHECK(left <= *told);
  }
  CHECK(deaths > 30);
}

}  // namespace
}  // namespace tune::store
