// What is large in a journal's JSON is kept once, and comes back as it was.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
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

namespace fs = std::filesystem;
using Catch::Contains;
using test::journal_error_of;
using test::TemporaryFolder;

const std::string look_alike = R"({"$large_value":"0123456789abcdef0123456789abcdef"})";

std::unique_ptr<Journal> new_journal(const TemporaryFolder& folder) {
  return Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
}

std::int64_t number_of(const fs::path& folder, const std::string& sql) {
  SQLite::Database database((folder / journal_file).string(), SQLite::OPEN_READONLY, 10'000);
  return database.execAndGet(sql).getInt64();
}

void run_sql_on(const fs::path& folder, const std::string& sql) {
  SQLite::Database database((folder / journal_file).string(), SQLite::OPEN_READWRITE);
  database.exec(sql);
}

// The bodies as they are read; the n-th is also the n-th event's decisions.
std::vector<std::string> stored_and_read(const std::vector<std::string>& bodies) {
  const TemporaryFolder folder;
  const auto journal = new_journal(folder);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    journal->add({.number = static_cast<EventNumber>(i + 1),
                  .kind = "suggestion",
                  .body = bodies[i],
                  .decisions = bodies[i]});
  }
  journal->finish();
  std::vector<std::string> read;
  JournalReader(folder.path()).for_each_event([&](const RecordedEvent& event) {
    CHECK((event.row.body == event.row.decisions));
    read.push_back(event.row.body);
  });
  return read;
}

Json large_table(double first = 0) {
  Json table = Json::array({first});
  for (int i = 0; i < 20'000; ++i) table.push_back(i / 7.0);
  return table;
}

// Random JSON, some of it large and some that looks like what stands for it.
class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed) : random_(seed) {}

  std::string text(int depth = 0) {
    switch (std::uniform_int_distribution(0, depth < 4 ? 9 : 5)(random_)) {
      case 0:
        return R"("plain, \" and \\")";
      case 1:
        return "-1.5e-7";
      case 2:
        return look_alike;
      case 3:
        return '"' + std::string(size(), 'x') + '"';
      case 4:
        return R"({"$large_value":")" + std::string(32, 'g') + R"("})";
      case 5:
        return R"("{\"$large_value\":\"0123456789abcdef0123456789abcdef\"}")";
      case 6:
      case 7:
        return list("[", "]", depth, [] { return std::string(); });
      default:
        return list("{", "}", depth, [this] { return next_name(); });
    }
  }

 private:
  std::string next_name() {
    const std::string letters(++names_ % 7 == 0 ? size() : 3, 'k');
    return '"' + letters + std::to_string(names_) + "\":";
  }

  std::size_t size() { return std::uniform_int_distribution<std::size_t>(0, 6000)(random_); }

  template <class Name>
  std::string list(const char* begin, const char* end, int depth, Name name) {
    std::string text = begin;
    for (int i = std::uniform_int_distribution(0, 5)(random_); i > 0; --i) {
      text += name() + this->text(depth + 1) + (i > 1 ? "," : "");
    }
    return text + end;
  }

  std::mt19937_64 random_;
  int names_ = 0;
};

TEST_CASE("JSON of any shape and size comes back byte for byte", "[large_values]") {
  const std::uint64_t seed = test::test_seed(1);
  INFO("TUNE_TEST_SEED=" << seed);
  RandomJson random(seed);
  std::vector<std::string> texts = {look_alike, "[" + look_alike + "]", "{}", "not { json",
                                    "\"" + std::string(10'000, '\\') + "\""};
  while (texts.size() < 2000) texts.push_back(random.text());
  CHECK((std::count_if(texts.begin(), texts.end(),
                       [](const std::string& text) { return text.size() > 10'000; }) > 100));
  CHECK((stored_and_read(texts) == texts));
}

TEST_CASE("PE-04: a table that stands in each configuration is kept once",
          "[large_values][PE-04]") {
  const TemporaryFolder folder;
  const auto journal = new_journal(folder);
  Json table = large_table();
  table.push_back(std::numeric_limits<double>::quiet_NaN());
  constexpr int trials = 50;
  Json small = Json::object();  // many of them, none of them large
  for (int i = 0; i < 300; ++i) small["parameter" + std::to_string(i)] = i;
  const auto config_of = [&](int trial) {
    return Config(Json{{"lr", trial / 3.0},
                       {"model", {{"depth", trial}, {"small", small}, {"table", table}}}});
  };
  EventNumber event = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const TrialId id(static_cast<std::uint64_t>(trial));
    const Json shown{{"config", {{"lr", trial}, {"table", large_table()}}}};
    journal->add({.number = ++event, .kind = "suggestion", .trial = id, .body = shown.dump()});
    journal->add_trial(id, test::trial_name(id), config_of(trial), event);
    TrialInfo info;
    info.id = id;
    info.config = config_of(trial);
    info.incarnation = 1;
    journal->add_start({.trial = info, .event = event});
    info.config = config_of(trial + 1);
    info.incarnation = 2;
    journal->add_start({.trial = info, .event = event});
  }
  journal->finish();
  // Two tables, one with a NaN; the file also has what an empty journal has.
  const auto once = static_cast<std::uintmax_t>(table.dump().size());
  CHECK(fs::file_size(folder.path() / journal_file) < 2 * once + 1'500'000);
  CHECK(number_of(folder.path(), "SELECT count(*) FROM large_values") == 2);
  // What is small in a configuration can still be asked for by SQL.
  CHECK(number_of(folder.path(),
                  "SELECT json_extract(config, '$.model.depth') FROM trials WHERE id = 7") == 7);
  const JournalReader reader(folder.path());
  for (int trial = 0; trial < trials; ++trial) {
    const TrialId id(static_cast<std::uint64_t>(trial));
    const auto starts = reader.starts(id);
    REQUIRE(starts.size() == 2);
    // NaN is unequal to itself: the texts are compared.
    CHECK((starts[0].trial.config.dump() == config_of(trial).dump()));
    CHECK((starts[1].trial.config.dump() == config_of(trial + 1).dump()));
    CHECK(std::isnan(starts[1].trial.config.json()["model"]["table"].back().get<double>()));
    CHECK((reader.trial(id)->last_config.dump() == config_of(trial + 1).dump()));
  }
}

TEST_CASE("a large value that is lost or altered is named, never passed off", "[large_values]") {
  const TemporaryFolder folder;
  const auto journal = new_journal(folder);
  journal->add_trial(TrialId(0), "00000", Config(Json{{"table", large_table()}}), 0);
  journal->finish();
  const auto read = [&] {
    return journal_error_of([&] { (void)JournalReader(folder.path()).trial(TrialId(0)); });
  };
  CHECK(read().empty());
  run_sql_on(folder.path(), "UPDATE large_values SET value = replace(value, '1', '2')");
  CHECK_THAT(read(), Contains(journal_file) && Contains("the large value ") &&
                         Contains(" is not what it was"));
  run_sql_on(folder.path(), "DELETE FROM large_values");
  CHECK_THAT(read(), Contains(journal_file) && Contains(" is missing"));
}

TEST_CASE("a damaged large value is made good when it is recorded again", "[large_values]") {
  const TemporaryFolder folder;
  const Config config(Json{{"table", large_table()}});
  const auto record = [&](Journal& journal, std::uint64_t trial) {
    journal.add_trial(TrialId(trial), test::trial_name(TrialId(trial)), config, 0);
    journal.finish();
  };
  record(*new_journal(folder), 0);
  run_sql_on(folder.path(), "UPDATE large_values SET value = replace(value, '1', '2')");
  record(*Journal::open(folder.path(), JournalMode::wal), 1);
  const JournalReader reader(folder.path());
  CHECK((reader.trial(TrialId(0))->config == config));
  CHECK((reader.trial(TrialId(1))->config == config));
}

TEST_CASE("a journal from before large values is read, and gets them when it goes on",
          "[large_values]") {
  const TemporaryFolder folder;
  const Config config(Json{{"table", large_table()}});
  new_journal(folder)->finish();
  run_sql_on(folder.path(), "DROP TABLE large_values; PRAGMA user_version = 1");
  run_sql_on(folder.path(),
             "INSERT INTO trials (id, name, config, state, reason, error, incarnation, event) "
             "VALUES (0, 'old', '" +
                 config.dump() + "', 'pending', '', '', 0, 0)");
  CHECK((JournalReader(folder.path()).trial(TrialId(0))->config == config));
  const auto journal = Journal::open(folder.path(), JournalMode::wal);
  journal->add_trial(TrialId(1), "new", config, 0);
  journal->finish();
  const JournalReader reader(folder.path());
  CHECK((reader.trial(TrialId(0))->config == config));
  CHECK((reader.trial(TrialId(1))->config == config));
  CHECK(number_of(folder.path(), "SELECT count(*) FROM large_values") == 1);
}

}  // namespace
}  // namespace tune::store
