// The queries of docs/journal.md, run on a journal.

#include <fstream>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <catch2/catch.hpp>

#include "journal_samples.hpp"
#include "store/journal.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

std::vector<std::string> queries_of(const std::filesystem::path& page) {
  std::ifstream in(page);
  std::vector<std::string> queries;
  bool is_query = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "```sql") {
      is_query = true;
      queries.emplace_back();
    } else if (line == "```") {
      is_query = false;
    } else if (is_query) {
      queries.back() += line + "\n";
    }
  }
  return queries;
}

// A trial 87 that went back and was stopped, one that failed, and a session.
void fill(Journal& journal) {
  journal.begin_session({.number = 1, .first_event = 1, .host = "alpha", .pid = 5, .started = 1e9});
  for (const std::uint64_t id : {86, 87}) test::add_sample_trial(journal, TrialId(id));
  EventNumber event = 0;
  for (const std::uint32_t incarnation : {1, 2}) {
    TrialInfo info;
    info.id = TrialId(87);
    info.name = test::trial_name(info.id);
    info.config = Config(Json{{"lr", 0.1 * incarnation}});
    info.incarnation = incarnation;
    info.node = "alpha";
    journal.add_start({.trial = info, .event = event});
    for (std::int64_t iteration = incarnation; iteration <= 3; ++iteration) {
      journal.add({.number = ++event,
                   .kind = "result",
                   .trial = TrialId(87),
                   .incarnation = incarnation,
                   .decisions = iteration == 3 ? "[\"stop\"]" : ""});
      journal.add_result({.trial = TrialId(87),
                          .incarnation = incarnation,
                          .result = test::sample_result(iteration, 1.0 / incarnation),
                          .event = event});
    }
  }
  journal.add_message(event, TrialId(87), "explanation", "stopped at 3: 0.5 is not below 0.4");
  journal.set_state(TrialId(87), 2, TrialState::terminated, "stopped by the scheduler", "");
  journal.set_state(TrialId(86), 0, TrialState::error, "failed", "out of memory");
  journal.commit();
}

TEST_CASE("the queries of the journal's page find what they ask for", "[journal]") {
  const test::TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  fill(*journal);
  SQLite::Database database((folder.path() / journal_file).string(), SQLite::OPEN_READONLY);
  const auto queries = queries_of(std::filesystem::path(TUNE_DOCS_FOLDER) / "journal.md");
  CHECK(queries.size() >= 5);
  for (const std::string& query : queries) {
    INFO(query);
    SQLite::Statement statement(database, query);
    std::size_t rows = 0;
    while (statement.executeStep()) ++rows;
    CHECK(rows > 0);
    // Both the line of trial 87 alone and as a part of the view: what it left behind is not there.
    if (query.find("training_iteration, time_total_s") != std::string::npos ||
        query.find("RECURSIVE") != std::string::npos) {
      CHECK(rows == 3);
    }
  }
}

}  // namespace
}  // namespace tune::store
