// Journals of which a part is cut off or damaged: RE-07 (b) and (c).

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
using test::file_bytes;
using test::journal_error_of;
using test::set_file_bytes;
using test::TemporaryFolder;

// A journal as a machine that lost its power leaves it: the file, and the log beside it.
class Left {
 public:
  explicit Left(std::int64_t commits) {
    const auto journal = Journal::create(made_.path(), test::sample_experiment(), JournalMode::wal);
    test::add_sample_trial(*journal, TrialId(0));
    journal->commit();
    for (std::int64_t i = 1; i <= commits; ++i) {
      test::add_sample_event(*journal, i, i);
      journal->commit();
      ends_.push_back(static_cast<std::int64_t>(fs::file_size(made_.path() / "experiment.db-wal")));
    }
    database_ = file_bytes(made_.path() / "experiment.db");
    log_ = file_bytes(made_.path() / "experiment.db-wal");
  }

  [[nodiscard]] const std::string& log() const { return log_; }
  // Where the log of the n-th commit ends, from 0.
  [[nodiscard]] std::size_t end_of(std::size_t commit) const {
    return static_cast<std::size_t>(ends_.at(commit));
  }

  // How many commits are there with this log, read and then opened to go on.
  std::int64_t commits_with(const std::string& log) const {
    const TemporaryFolder folder;
    set_file_bytes(folder.path() / "experiment.db", database_);
    set_file_bytes(folder.path() / "experiment.db-wal", log);
    const std::int64_t read = test::count_whole_events(JournalReader(folder.path()));
    const auto journal = Journal::open(folder.path(), JournalMode::wal);
    const JournalReader reader(folder.path());
    const std::int64_t count = test::count_whole_events(reader);
    CHECK(read == count);
    if (count > 0) {
      CHECK(static_cast<std::int64_t>(test::iterations_of(reader, TrialId(0)).size()) == count);
    }
    return count;
  }

 private:
  test::FaultFileSystem without_sync_;
  TemporaryFolder made_;
  std::string database_;
  std::string log_;
  std::vector<std::int64_t> ends_;
};

TEST_CASE("RE-07 (b) a journal with a cut log has the commits up to the cut", "[journal]") {
  const Left left(6);
  for (std::size_t size = 0; size <= left.log().size(); size += 509) {
    INFO(size << " of " << left.log().size() << " bytes");
    std::int64_t wanted = 0;
    while (wanted < 6 && left.end_of(static_cast<std::size_t>(wanted)) <= size) ++wanted;
    CHECK(left.commits_with(left.log().substr(0, size)) == wanted);
  }
  for (std::size_t commit = 0; commit < 6; ++commit) {
    const auto whole = static_cast<std::int64_t>(commit) + 1;
    CHECK(left.commits_with(left.log().substr(0, left.end_of(commit))) == whole);
    CHECK(left.commits_with(left.log().substr(0, left.end_of(commit) - 1)) == whole - 1);
  }
}

TEST_CASE("RE-07 (b) a journal with a damaged log has the commits before the damage", "[journal]") {
  const Left left(4);
  for (std::size_t commit = 0; commit < 4; ++commit) {
    const std::size_t begin = commit == 0 ? left.end_of(0) - 4096 : left.end_of(commit - 1);
    for (std::size_t at = begin; at < left.end_of(commit); at += 601) {
      INFO("byte " << at);
      std::string log = left.log();
      log[at] = static_cast<char>(log[at] ^ 0x40);
      CHECK(left.commits_with(log) == static_cast<std::int64_t>(commit));
    }
  }
}

std::string finished_journal(const fs::path& folder, std::int64_t events, std::size_t body) {
  const auto journal = Journal::create(folder, test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  const std::string text = "\"" + std::string(body, 'x') + "\"";
  for (std::int64_t i = 1; i <= events; i += 2) {
    test::add_sample_event(*journal, i, i);
    journal->add({.number = i + 1, .kind = "note", .trial = {}, .body = text});
    if (i % 1000 == 1) journal->commit();
  }
  journal->finish();
  return file_bytes(folder / "experiment.db");
}

TEST_CASE("RE-07 (b) a journal with a damaged page is refused and left as it is", "[journal]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "experiment.db";
  const std::string whole = finished_journal(folder.path(), 500, 40);
  constexpr std::size_t page = 4096;
  REQUIRE(whole.size() % page == 0);
  for (std::size_t at = 0; at < whole.size(); at += page) {
    INFO("page " << at / page + 1 << " of " << whole.size() / page);
    std::string damaged = whole;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), page, '\x5A');
    set_file_bytes(file, damaged);
    const std::string error =
        journal_error_of([&] { (void)Journal::open(folder.path(), JournalMode::wal); });
    CHECK_THAT(error,
               Contains(file.string()) && Contains("damaged") && Contains("nothing was changed"));
    if (at > 0) CHECK_THAT(error, Contains("can be read"));
    // Who only reads may not meet the damage; if so, the error says as much.
    const std::string reader_error = journal_error_of([&] {
      const JournalReader reader(folder.path());
      reader.for_each_event([](const RecordedEvent&) {});
      reader.for_each_trial([](const TrialRow&) {});
    });
    if (at > 0 && !reader_error.empty()) {
      CHECK_THAT(reader_error,
                 Contains("damaged") && Contains("can be read") && Contains("nothing was changed"));
    }
    CHECK((file_bytes(file) == damaged));
  }
  set_file_bytes(file, whole);
  CHECK(JournalReader(folder.path()).last_event() == 500);
}

TEST_CASE("a page damaged at the end of a large journal is found without reading all of it",
          "[journal]") {
  const TemporaryFolder folder;
  std::string bytes = finished_journal(folder.path(), 70'000, 2000);
  REQUIRE(bytes.size() > (std::size_t{64} << 20U));
  (void)Journal::open(folder.path(), JournalMode::wal);
  // The page of the newest event: the indexes, which came last, lie behind it.
  const std::size_t newest = bytes.rfind(std::string(1500, 'x'));
  REQUIRE(newest != std::string::npos);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(newest / 4096 * 4096), 4096, '\0');
  set_file_bytes(folder.path() / "experiment.db", bytes);
  const std::string error =
      journal_error_of([&] { (void)Journal::open(folder.path(), JournalMode::wal); });
  CHECK_THAT(error, Contains("damaged") && Contains("events up to 69"));
  CHECK_FALSE(JournalReader(folder.path()).check().empty());
}

TEST_CASE("RE-07 (b) a journal that is cut is refused and left as it is", "[journal]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "experiment.db";
  const std::string whole = finished_journal(folder.path(), 500, 40);
  for (const std::size_t size : {std::size_t{50}, std::size_t{700}, std::size_t{4096},
                                 whole.size() - 4096, whole.size() - 1}) {
    set_file_bytes(file, whole.substr(0, size));
    INFO(size << " bytes");
    CHECK_THAT(journal_error_of([&] { (void)Journal::open(folder.path(), JournalMode::wal); }),
               Contains(file.string()) && Contains("nothing was changed"));
    CHECK_THAT(journal_error_of([&] { (void)JournalReader(folder.path()); }),
               Contains(file.string()));
    CHECK((file_bytes(file) == whole.substr(0, size)));
  }
}

TEST_CASE("RE-07 (c) a journal cut to nothing is refused, and no new one begun", "[journal]") {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "experiment.db";
  (void)finished_journal(folder.path(), 5, 4);
  set_file_bytes(file, "");
  for (const std::string& error :
       {journal_error_of([&] { (void)Journal::open(folder.path(), JournalMode::wal); }),
        journal_error_of([&] { (void)JournalReader(folder.path()); })}) {
    CHECK_THAT(error, Contains(file.string() + ": 0 bytes: it was cut") && Contains("result.json"));
  }
  CHECK_THAT(journal_error_of([&] {
               (void)Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
             }),
             Contains("it is there already"));
  CHECK(fs::file_size(file) == 0);
}

}  // namespace
}  // namespace tune::store
