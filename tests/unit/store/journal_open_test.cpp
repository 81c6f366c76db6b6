// Which journals can be made and opened, and in which mode.

#include <string>

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>

#include "journal_samples.hpp"
#include "store/journal.hpp"
#include "store/journal_reader.hpp"
#include "support/environment_variable.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::journal_error_of;
using test::TemporaryFolder;

void run_sql(const fs::path& folder, const std::string& sql) {
  SQLite::Database database((folder / journal_file).string(),
                            SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(sql);
}

std::string pragma_text(const fs::path& folder, const std::string& name) {
  SQLite::Database database((folder / journal_file).string(), SQLite::OPEN_READONLY, 10'000);
  return database.execAndGet("PRAGMA " + name).getString();
}

// What opening says, to go on and to read.
void check_refusal(const fs::path& folder, const std::string& wanted) {
  for (const std::string& error :
       {journal_error_of([&] { (void)Journal::open(folder, JournalMode::wal); }),
        journal_error_of([&] { (void)JournalReader(folder); })}) {
    CHECK_THAT(error, Contains((folder / journal_file).string() + ": ") && Contains(wanted));
  }
}

TEST_CASE("what is no journal is refused by name", "[journal]") {
  const TemporaryFolder folder;
  check_refusal(folder.path(), "there is no such file");
  fs::create_directory(folder.path() / journal_file);
  check_refusal(folder.path(), "it is no file");
  fs::remove(folder.path() / journal_file);
  test::set_file_bytes(folder.path() / journal_file, std::string(9000, 'x'));
  check_refusal(folder.path(), "it is no SQLite database");
  fs::remove(folder.path() / journal_file);
  run_sql(folder.path(), "CREATE TABLE t (x); PRAGMA user_version = 1");
  check_refusal(folder.path(), "an SQLite database, but no journal");
}

TEST_CASE("a journal of a newer version is refused and left as it is", "[journal]") {
  const TemporaryFolder folder;
  Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal)->finish();
  run_sql(folder.path(), "PRAGMA user_version = 3");
  const std::string before = test::file_bytes(folder.path() / journal_file);
  check_refusal(folder.path(), "schema version 3, of a newer release than this one");
  CHECK((test::file_bytes(folder.path() / journal_file) == before));
}

TEST_CASE("a journal of an older version is brought up to date when it is opened to go on",
          "[journal]") {
  const TemporaryFolder folder;
  run_sql(folder.path(), "PRAGMA application_id = 1953853029; PRAGMA user_version = 0");
  CHECK_THAT(journal_error_of([&] { (void)JournalReader(folder.path()); }),
             Contains("schema version 0, of an older release"));
  const auto journal = Journal::open(folder.path(), JournalMode::wal);
  journal->set_experiment(test::sample_experiment());
  journal->commit();
  CHECK(pragma_text(folder.path(), "user_version") == "2");
  CHECK(JournalReader(folder.path()).experiment().name == "sample");
}

TEST_CASE("a journal is not made where there is one, or where its log is left", "[journal]") {
  const TemporaryFolder folder;
  const auto create = [&] {
    return journal_error_of(
        [&] { (void)Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal); });
  };
  CHECK(create().empty());
  CHECK_THAT(create(), Contains("it is there already"));
  fs::remove(folder.path() / journal_file);
  test::set_file_bytes(folder.path() / "experiment.db-wal", "something");
  CHECK_THAT(create(), Contains("it is missing, but experiment.db-wal is there"));
  CHECK_FALSE(fs::exists(folder.path() / journal_file));
  test::set_file_bytes(folder.path() / "experiment.db-wal", "");
  test::set_file_bytes(folder.path() / "experiment.db-new", "half of one");
  CHECK(create().empty());
  CHECK_FALSE(fs::exists(folder.path() / "experiment.db-new"));
}

TEST_CASE("a journal is not made in a directory that is not there", "[journal]") {
  const TemporaryFolder folder;
  CHECK_THAT(journal_error_of([&] {
               (void)Journal::create(folder.path() / "none", test::sample_experiment(),
                                     JournalMode::wal);
             }),
             Contains("none/experiment.db: cannot make: unable to open database file"));
}

TEST_CASE("a journal changes its mode when it is opened in another", "[journal]") {
  const TemporaryFolder folder;
  (void)Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  CHECK(pragma_text(folder.path(), "journal_mode") == "wal");
  {
    const auto journal = Journal::open(folder.path(), JournalMode::rollback);
    test::add_sample_trial(*journal, TrialId(0));
    test::add_sample_event(*journal, 1, 1);
    journal->commit();
    journal->sync();
    CHECK(test::count_whole_events(JournalReader(folder.path())) == 1);
    CHECK_FALSE(fs::exists(folder.path() / "experiment.db-wal"));
  }
  CHECK(pragma_text(folder.path(), "journal_mode") == "delete");
  const auto journal = Journal::open(folder.path(), JournalMode::wal);
  test::add_sample_event(*journal, 2, 2);
  journal->commit();
  CHECK(test::count_whole_events(JournalReader(folder.path())) == 2);
}

TEST_CASE("the journal's mode is that of the environment, if it has one", "[journal]") {
  const TemporaryFolder folder;
  {
    const test::EnvironmentVariable rollback("TUNE_JOURNAL_MODE", "rollback");
    CHECK(choose_journal_mode(folder.path()).mode == JournalMode::rollback);
    CHECK(choose_journal_mode(folder.path()).reason == "TUNE_JOURNAL_MODE=rollback");
  }
  {
    const test::EnvironmentVariable wal("TUNE_JOURNAL_MODE", "wal");
    CHECK(choose_journal_mode(folder.path()).mode == JournalMode::wal);
  }
  {
    const test::EnvironmentVariable other("TUNE_JOURNAL_MODE", "fast");
    CHECK_THROWS_WITH(choose_journal_mode(folder.path()),
                      "TUNE_JOURNAL_MODE=fast is not one of wal, rollback");
  }
  const test::EnvironmentVariable none("TUNE_JOURNAL_MODE", "");
  CHECK(choose_journal_mode("/proc").mode == JournalMode::wal);  // of this machine alone
}

}  // namespace
}  // namespace tune::store
