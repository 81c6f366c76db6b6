#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "journal_samples.hpp"
#include "store/journal.hpp"
#include "store/journal_reader.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

SavedRow sample_save(std::string name, std::int64_t index, Json value) {
  return {.trial = TrialId(0),
          .name = std::move(name),
          .index = index,
          .incarnation = 1,
          .event = 5,
          .value = std::move(value),
          .directory = "artifacts/x",
          .files = 2,
          .size_bytes = 70};
}

TEST_CASE("saved values are read as they were put in, by name and index", "[journal]") {
  const test::TemporaryFolder folder;
  const auto journal = Journal::create(folder.path(), test::sample_experiment(), JournalMode::wal);
  test::add_sample_trial(*journal, TrialId(0));
  journal->add_saved(sample_save("y", 1, {{"a", std::numeric_limits<double>::infinity()}}));
  journal->add_saved(sample_save("x", 2, -std::numeric_limits<double>::infinity()));
  journal->add_saved(sample_save("x", 1, 0.1));
  journal->add_saved(sample_save("x", 3, nullptr));
  journal->add_saved(sample_save("x", 3, "again"));
  journal->add_saved(sample_save("x", 4, 1));
  journal->drop_saved(TrialId(0), "x", 4);
  journal->commit();
  const std::vector<SavedRow> rows = JournalReader(folder.path()).saves(TrialId(0));
  std::string text;
  for (const SavedRow& row : rows) text += row.name + std::to_string(row.index) + ' ';
  REQUIRE(text == "x1 x2 x3 y1 ");
  CHECK(rows[0].value == Json(0.1));
  CHECK(rows[1].value == Json(-std::numeric_limits<double>::infinity()));
  CHECK(rows[2].value == Json("again"));
  CHECK(rows[3].value.at("a") == std::numeric_limits<double>::infinity());
  CHECK(rows[0].directory == "artifacts/x");
  CHECK(rows[0].files == 2);
  CHECK(rows[0].size_bytes == 70);
  CHECK(rows[0].event == 5);
  CHECK(JournalReader(folder.path()).saves(TrialId(1)).empty());
}

}  // namespace
}  // namespace tune::store
