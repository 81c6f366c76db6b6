#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/comma_locale.hpp"
#include "support/limits.hpp"
#include "trial_files.hpp"

namespace tune {
namespace {

using test::CsvTable;
using test::make_result;
using test::TrialFiles;

TEST_CASE("progress.csv has metrics, automatic fields and the flat configuration", "[csv]") {
  TrialFiles files({"csv"});
  files.start({{"lr", 0.1},
               {"model", {{"layers", 2}}},
               {"none", nullptr},
               {"list", {1, "a,b"}},
               {"nesterov", true},
               {"opt", "sgd"}});
  files.report(1, {{"loss", 0.25}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.header() == std::vector<std::string>{"loss",
                                                   "timestamp",
                                                   "checkpoint_dir_name",
                                                   "done",
                                                   "training_iteration",
                                                   "trial_id",
                                                   "date",
                                                   "time_this_iter_s",
                                                   "time_total_s",
                                                   "pid",
                                                   "hostname",
                                                   "node_ip",
                                                   "time_since_restore",
                                                   "iterations_since_restore",
                                                   "experiment_tag",
                                                   "experiment_id",
                                                   "config/list",
                                                   "config/lr",
                                                   "config/model/layers",
                                                   "config/nesterov",
                                                   "config/none",
                                                   "config/opt"});
  REQUIRE(table.rows() == 1);
  CHECK(table.cell(0, "loss") == "0.25");
  CHECK(table.cell(0, "timestamp") == "1700000001");
  CHECK(table.cell(0, "checkpoint_dir_name").empty());
  CHECK(table.cell(0, "done") == "False");
  CHECK(table.cell(0, "training_iteration") == "1");
  CHECK(table.cell(0, "trial_id") == "00003");
  CHECK(table.cell(0, "time_this_iter_s") == "0.5");
  CHECK(table.cell(0, "time_total_s") == "0.5");
  CHECK(table.cell(0, "pid") == "4711");
  CHECK(table.cell(0, "hostname") == "host-7");
  CHECK(table.cell(0, "node_ip") == "10.0.0.7");
  CHECK(table.cell(0, "time_since_restore") == "0.5");
  CHECK(table.cell(0, "iterations_since_restore") == "1");
  CHECK(table.cell(0, "experiment_tag") == "00003_a=1");
  CHECK(table.cell(0, "experiment_id") == "e1d2");
  CHECK(table.cell(0, "config/list") == R"([1,"a,b"])");
  CHECK(table.cell(0, "config/lr") == "0.1");
  CHECK(table.cell(0, "config/model/layers") == "2");
  CHECK(table.cell(0, "config/nesterov") == "True");
  CHECK(table.cell(0, "config/none").empty());
  CHECK(table.cell(0, "config/opt") == "sgd");
}

TEST_CASE("PE-04: large parameters are no columns of progress.csv", "[csv][PE-04]") {
  TrialFiles files({"csv"});
  files.start({{"lr", 0.1}, {"model", {{"depth", 2}, {"weights", std::vector<int>(5000, 1)}}}});
  files.report(1, {{"loss", 0.25}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  const std::vector<std::string> header = table.header();
  CHECK(std::vector<std::string>(header.end() - 2, header.end()) ==
        std::vector<std::string>{"config/lr", "config/model/depth"});
  CHECK(std::count(header.begin(), header.end(), "config/model/weights") == 0);
  CHECK(table.cell(0, "config/lr") == "0.1");
  CHECK(table.cell(0, "config/model/depth") == "2");
}

TEST_CASE("LO-01: progress.csv gets the columns of keys that appear later", "[LO-01]") {
  TrialFiles files({"csv"});
  files.start({{"lr", 0.1}});
  const bool is_idle_between = GENERATE(false, true);
  for (int i = 1; i <= 20; ++i) {
    files.report(i, {{i <= 10 ? "i" : "j", i}});
    if (is_idle_between) files.idle();
  }
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  REQUIRE(table.rows() == 20);
  for (int i = 1; i <= 20; ++i) {
    const std::string number = std::to_string(i);
    CHECK(table.cell(i - 1, "i") == (i <= 10 ? number : ""));  // cell() checks the width
    CHECK(table.cell(i - 1, "j") == (i <= 10 ? "" : number));
    CHECK(table.cell(i - 1, "training_iteration") == number);
    CHECK(table.cell(i - 1, "config/lr") == "0.1");
  }
}

TEST_CASE("LO-01: keys that keep appearing rewrite progress.csv a few times, not once each",
          "[LO-01]") {
  constexpr std::int64_t keys = 600;
  TrialFiles files({"csv"});
  files.start({{"lr", 0.1}});
  for (std::int64_t i = 1; i <= keys; ++i) files.report(i, {{"key" + std::to_string(i), i}});
  CHECK(files.pool().buffered_bytes() < 1'000'000);
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  REQUIRE(table.rows() == keys);
  for (const std::int64_t i : {1, 2, 299, 600}) {
    const std::vector<std::string> column = table.column("key" + std::to_string(i));
    for (std::int64_t row = 1; row <= keys; ++row) {
      CHECK(column[row - 1] == (row == i ? std::to_string(i) : ""));
    }
  }
  CHECK(files.pool().written_bytes() <= 3 * std::filesystem::file_size(files.file("progress.csv")));
}

TEST_CASE("LO-01: progress.csv has each late key once nothing waits, rewritten once", "[LO-01]") {
  TrialFiles files({"csv"});
  files.start({{"lr", 0.1}});
  std::int64_t i = 0;
  for (int round = 1; round <= 3; ++round) {
    const std::uint64_t written_before = files.pool().written_bytes();
    for (const std::int64_t end = i + 5; i < end;) {
      ++i;
      files.report(i, {{"key" + std::to_string(i), i}});
    }
    files.idle();
    CHECK(files.pool().buffered_bytes() == 0);
    const CsvTable table(files.file("progress.csv"));
    REQUIRE(table.rows() == static_cast<std::size_t>(i));
    for (std::int64_t row = 1; row <= i; ++row) {
      CHECK(table.cell(row - 1, "key" + std::to_string(row)) == std::to_string(row));
      CHECK(table.cell(row - 1, "config/lr") == "0.1");
    }
    CHECK(files.pool().written_bytes() - written_before ==
          std::filesystem::file_size(files.file("progress.csv")));
    const std::uint64_t written = files.pool().written_bytes();
    files.idle();
    CHECK(files.pool().written_bytes() == written);
  }
}

TEST_CASE("LO-01: late keys and rows that are replaced, at every moment of writing", "[LO-01]") {
  const int idle_after = GENERATE(range(0, 8));  // 7: never
  int steps = 0;
  TrialFiles files({"csv"});
  const auto step = [&] {
    if (steps++ == idle_after) files.idle();
  };
  files.start({{"lr", 0.1}});
  files.report(1, {{"a", 1}});
  step();
  files.report(2, {{"a", 2}});
  step();
  files.report(3, {{"b", 3}});
  step();
  files.checkpoint(3, "checkpoint_000003");
  step();
  files.start({{"lr", 0.1}, {"depth", 4}}, 1);
  step();
  files.report(2, {{"c", 20}});  // takes the place of what may be written, and what may not be
  step();
  files.checkpoint(2, "checkpoint_000002");
  step();
  files.report(3, {{"a", 30}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.column("a") == std::vector<std::string>{"1", "", "30"});
  CHECK(table.column("b") == std::vector<std::string>{"", "", ""});
  CHECK(table.column("c") == std::vector<std::string>{"", "20", ""});
  CHECK(table.column("config/depth") == std::vector<std::string>{"", "4", "4"});
  CHECK(table.column("checkpoint_dir_name") ==
        std::vector<std::string>{"", "checkpoint_000002", ""});
}

TEST_CASE("LO-01: late keys that could not be written are written when that is possible again",
          "[LO-01]") {
  TrialFiles files({"csv"});
  files.start();
  files.report(1, {{"a", 1}});
  files.idle();
  const std::filesystem::path folder = files.trial().path;
  std::filesystem::path elsewhere = folder;
  elsewhere += "_elsewhere";
  std::filesystem::rename(folder, elsewhere);
  files.report(2, {{"b", 2}});
  CHECK_THROWS_WITH(files.idle(), Catch::Contains(files.file("progress.csv").string()));
  CHECK(CsvTable(elsewhere / "progress.csv").column("a") == std::vector<std::string>{"1"});
  files.report(3, {{"c", 3}});
  std::filesystem::rename(elsewhere, folder);
  files.idle();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.column("a") == std::vector<std::string>{"1", "", ""});
  CHECK(table.column("b") == std::vector<std::string>{"", "2", ""});
  CHECK(table.column("c") == std::vector<std::string>{"", "", "3"});
}

TEST_CASE("columns appear with metrics in another order, and with another configuration", "[csv]") {
  TrialFiles files({"csv"});
  files.start({{"optimizer", "sgd"}, {"momentum", 0.9}});
  files.report(1, {{"a", 1}, {"b", 2}});
  files.report(2, {{"b", 4}, {"c", 5}, {"a", 3}});
  files.checkpoint(2, "checkpoint_000002");
  files.start({{"optimizer", "adam"}, {"beta1", 0.8}}, 2);
  files.report(3, {{"c", 6}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.column("a") == std::vector<std::string>{"1", "3", ""});
  CHECK(table.column("b") == std::vector<std::string>{"2", "4", ""});
  CHECK(table.column("c") == std::vector<std::string>{"", "5", "6"});
  CHECK(table.column("config/momentum") == std::vector<std::string>{"0.9", "0.9", ""});
  CHECK(table.column("config/beta1") == std::vector<std::string>{"", "", "0.8"});
  CHECK(table.column("config/optimizer") == std::vector<std::string>{"sgd", "sgd", "adam"});
  CHECK(table.column("checkpoint_dir_name") ==
        std::vector<std::string>{"", "checkpoint_000002", ""});
}

TEST_CASE("a checkpoint is named in its row after a new column came, too", "[csv]") {
  TrialFiles files({"csv"});
  files.start();
  files.report(1, {{"a", 1}});
  files.start({{"lr", 1}}, 1);  // a new column, written with the next row
  files.report(2, {{"a", 2}, {"b", 3}});
  files.checkpoint(2, "checkpoint_000002");
  files.report(3, {{"a", 4}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.column("a") == std::vector<std::string>{"1", "2", "4"});
  CHECK(table.column("checkpoint_dir_name") ==
        std::vector<std::string>{"", "checkpoint_000002", ""});
}

TEST_CASE("LO-06: text with commas, quotes and line breaks comes back from progress.csv",
          "[LO-06]") {
  const std::string note = "a,\"b\"\nc";
  const std::vector<std::string> notes = {note, "\"", "\"\"x", "a\r\nb", "\r", "plain", " blank "};
  TrialFiles files({"csv"});
  files.start({{"text,\"", note}});
  for (std::size_t i = 0; i < notes.size(); ++i) {
    files.report(static_cast<std::int64_t>(i) + 1, {{"note", notes[i]}, {"x,y", 1.5}});
  }
  files.report(8, {{"late", 1}});  // the file is rewritten
  files.start({{"text,\"", note}}, 7);
  files.report(8, {{"note", note}});  // and read to find the row
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  REQUIRE(table.rows() == 8);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    CHECK(table.cell(i, "note") == notes[i]);
    CHECK(table.cell(i, "x,y") == "1.5");
    CHECK(table.cell(i, "config/text,\"") == note);
  }
  CHECK(table.cell(7, "note") == note);
  CHECK(table.cell(7, "late").empty());
}

TEST_CASE("LO-04: doubles come back bit by bit from progress.csv in every locale", "[LO-04]") {
  const std::vector<double> values = {
      0.30000000000000004, 5e-324, 1.7976931348623157e308, -0.0, 1e20, 5.0};
  TrialFiles files({"csv"});
  {
    const test::CommaLocale comma;
    files.start({{"value", 0.1 + 0.2}});
    for (std::size_t i = 0; i < values.size(); ++i) {
      files.report(static_cast<std::int64_t>(i) + 1, {{"value", values[i]}});
    }
    files.complete();
  }
  const CsvTable table(files.file("progress.csv"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double read = std::strtod(table.cell(i, "value").c_str(), nullptr);
    CHECK(std::bit_cast<std::uint64_t>(read) == std::bit_cast<std::uint64_t>(values[i]));
    CHECK(table.cell(i, "config/value") == "0.30000000000000004");
  }
  CHECK(table.cell(5, "value") == "5.0");
}

TEST_CASE("ME-03: values that are not finite stand in progress.csv as pandas reads them",
          "[ME-03]") {
  TrialFiles files({"csv"});
  files.start();
  files.report(1, {{"a", test::inf}, {"b", -test::inf}, {"c", test::nan}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.cell(0, "a") == "inf");
  CHECK(table.cell(0, "b") == "-inf");
  CHECK(table.cell(0, "c") == "nan");
}

TEST_CASE("ME-05: nested and literal metric names are columns of progress.csv", "[ME-05]") {
  TrialFiles files({"csv"});
  files.start();
  files.report(1, {{"eval", {{"acc", 0.9}}}, {"metrics/mAP50-95(B)", 0.4}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.cell(0, "eval/acc") == "0.9");
  CHECK(table.cell(0, "metrics/mAP50-95(B)") == "0.4");
}

TEST_CASE("ME-06: text is kept as text in progress.csv", "[ME-06]") {
  TrialFiles files({"csv"});
  files.start();
  files.report(1, {{"loss", "unavailable"}, {"status", ""}});
  files.complete();
  CHECK(CsvTable(files.file("progress.csv")).cell(0, "loss") == "unavailable");
  CHECK(test::file_text(files.file("progress.csv")).find("\r\nunavailable,\"\",") !=
        std::string::npos);  // an empty text is not the same as none
}

TEST_CASE("ME-07: an end adds no row to progress.csv", "[ME-07]") {
  TrialFiles files({"csv"});
  files.start();
  for (int i = 1; i <= 41; ++i) {
    Result result = make_result(i, {{"acc", 0.01 * i}});
    result.done = i == 41;
    files.report(result);
  }
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  REQUIRE(table.rows() == 41);
  for (int i = 1; i <= 41; ++i) {
    CHECK(table.cell(i - 1, "training_iteration") == std::to_string(i));
    CHECK(table.cell(i - 1, "done") == (i == 41 ? "True" : "False"));
  }
}

TEST_CASE("ME-11: booleans and large integers are exact in progress.csv", "[ME-11]") {
  TrialFiles files({"csv"});
  files.start();
  files.report(1, {{"converged", true}, {"tokens", INT64_C(9007199254740993)}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.cell(0, "converged") == "True");
  CHECK(table.cell(0, "tokens") == "9007199254740993");
}

TEST_CASE("records from an iteration on are replaced when it is reported again", "[csv]") {
  TrialFiles files({"csv"});
  files.start();
  for (int i = 1; i <= 7; ++i) files.report(i, {{"loss", i}});
  files.fail();
  files.start(Json::object(), 5);
  files.idle();
  CHECK(CsvTable(files.file("progress.csv")).rows() == 7);
  files.report(6, {{"loss", 60}, {"new", 1}});
  files.complete();
  const CsvTable table(files.file("progress.csv"));
  CHECK(table.column("loss") == std::vector<std::string>{"1", "2", "3", "4", "5", "60"});
  CHECK(table.column("new") == std::vector<std::string>{"", "", "", "", "", "1"});
}

}  // namespace
}  // namespace tune
