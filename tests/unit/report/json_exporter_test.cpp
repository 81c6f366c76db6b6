#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/comma_locale.hpp"
#include "support/limits.hpp"
#include "trial_files.hpp"

namespace tune {
namespace {

using test::json_lines;
using test::make_result;
using test::TrialFiles;

TEST_CASE("a row of result.json has the fields that readers of Ray Tune's results expect",
          "[json]") {
  TrialFiles files({"json"});
  files.start({{"lr", 0.1}, {"model", {{"layers", 2}}}}, 4);
  Result result = make_result(5, {{"loss", 0.25}, {"note", "a \"b\"\n\x01"}});
  result.done = true;
  files.report(result);
  files.complete();

  const std::string text = test::file_text(files.file("result.json"));
  CHECK(text.starts_with(R"({"loss":0.25,)"));  // metrics come first, in their order
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  REQUIRE(rows.size() == 1);
  Json row = rows[0];

  const auto seconds = static_cast<std::time_t>(1'700'000'005);
  std::array<char, 64> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d_%H-%M-%S", std::localtime(&seconds));
  const Json expected = {{"loss", 0.25},
                         {"note", "a \"b\"\n\x01"},
                         {"timestamp", 1'700'000'005},
                         {"checkpoint_dir_name", nullptr},
                         {"done", true},
                         {"training_iteration", 5},
                         {"trial_id", "00003"},
                         {"date", date.data()},
                         {"time_this_iter_s", 0.5},
                         {"time_total_s", 2.5},
                         {"pid", 4711},
                         {"hostname", "host-7"},
                         {"node_ip", "10.0.0.7"},
                         {"config", {{"lr", 0.1}, {"model", {{"layers", 2}}}}},
                         {"time_since_restore", 0.5},
                         {"iterations_since_restore", 1},
                         {"experiment_tag", "00003_a=1"},
                         {"experiment_id", "e1d2"}};
  CHECK(row == expected);
}

TEST_CASE("ME-03: a line of result.json is strict JSON whatever was reported", "[ME-03]") {
  TrialFiles files({"json"});
  files.start({{"clip", test::inf}, {"schedule", {0.5, test::nan}}});
  files.report(1, {{"loss", test::inf}, {"gap", -test::inf}, {"acc", test::nan}});
  files.report(2, {{"loss", 1.0}});
  files.complete();

  const std::vector<Json> rows = json_lines(files.file("result.json"));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["loss"].is_null());
  CHECK(rows[0]["nonfinite"] == Json{{"loss", "inf"},
                                     {"gap", "-inf"},
                                     {"acc", "nan"},
                                     {"config/clip", "inf"},
                                     {"config/schedule/1", "nan"}});
  CHECK(rows[1]["loss"] == 1.0);
  const Json params = Json::parse(test::file_text(files.file("params.json")));
  CHECK(params == Json{{"clip", nullptr},
                       {"schedule", {0.5, nullptr}},
                       {"nonfinite", {{"clip", "inf"}, {"schedule/1", "nan"}}}});
}

TEST_CASE("ME-05: nested and literal metric names stand in result.json alike", "[ME-05]") {
  TrialFiles files({"json"});
  files.start();
  files.report(1, {{"eval", {{"acc", 0.9}}}, {"metrics/mAP50-95(B)", 0.4}});
  files.complete();
  const Json row = json_lines(files.file("result.json")).at(0);
  CHECK(row["eval/acc"] == 0.9);
  CHECK(row["metrics/mAP50-95(B)"] == 0.4);
}

TEST_CASE("ME-06: text is kept as text in result.json", "[ME-06]") {
  TrialFiles files({"json"});
  files.start();
  files.report(1, {{"loss", "0.3"}, {"status", "ok"}});
  files.report(2, {{"loss", "unavailable"}});
  files.complete();
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  CHECK(rows.at(0)["loss"] == "0.3");
  CHECK(rows.at(0)["status"] == "ok");
  CHECK(rows.at(1)["loss"] == "unavailable");
}

TEST_CASE("ME-07: an end adds no row to result.json", "[ME-07]") {
  TrialFiles files({"json"});
  files.start();
  for (int i = 1; i <= 41; ++i) {
    Result result = make_result(i, {{"acc", 0.01 * i}});
    result.done = i == 41;
    files.report(result);
  }
  files.complete();
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  REQUIRE(rows.size() == 41);
  for (int i = 1; i <= 41; ++i) {
    CHECK(rows[i - 1]["training_iteration"] == i);
    CHECK(rows[i - 1]["done"] == (i == 41));
  }
}

TEST_CASE("ME-11: booleans and large integers are exact in result.json", "[ME-11]") {
  TrialFiles files({"json"});
  files.start();
  files.report(1, {{"converged", true}, {"tokens", INT64_C(9007199254740993)}});
  files.complete();
  const std::string text = test::file_text(files.file("result.json"));
  CHECK(text.find(R"("converged":true,"tokens":9007199254740993,)") != std::string::npos);
}

TEST_CASE("LO-01: keys that appear later stand in their rows of result.json", "[LO-01]") {
  TrialFiles files({"json"});
  files.start();
  for (int i = 1; i <= 20; ++i) files.report(i, {{i <= 10 ? "i" : "j", i}});
  files.complete();
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  REQUIRE(rows.size() == 20);
  for (int i = 1; i <= 20; ++i) {
    CHECK(rows[i - 1][i <= 10 ? "i" : "j"] == i);
    CHECK_FALSE(rows[i - 1].contains(i <= 10 ? "j" : "i"));
  }
}

TEST_CASE("LO-03: hostile values stand unchanged in params.json", "[LO-03]") {
  const Json config = {{"a", "MY Name (1, 2)"}, {"b", "../../etc"}, {"c", "a/b"},
                       {"d", "x\ny"},           {"e", "-rf"},       {"f/g", {{"h~", "\"\\"}}}};
  TrialFiles files({"json"});
  files.start(config);
  files.complete();
  CHECK(Json::parse(test::file_text(files.file("params.json"))) == config);
}

TEST_CASE("LO-04: doubles come back bit by bit from params.json and result.json in every locale",
          "[LO-04]") {
  const test::CommaLocale comma;
  const std::vector<double> values = {
      0.30000000000000004, 5e-324, 1.7976931348623157e308, -0.0, 1e20, 5.0, 123456789.125};
  TrialFiles files({"json"});
  files.start({{"values", values}});
  for (std::size_t i = 0; i < values.size(); ++i) {
    files.report(static_cast<std::int64_t>(i) + 1, {{"value", values[i]}});
  }
  files.complete();
  const Json params = Json::parse(test::file_text(files.file("params.json")));
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(values[i]);
    for (const Json& read :
         {params["values"][i], rows.at(i)["value"], rows.at(i)["config"]["values"][i]}) {
      CHECK(read.is_number_float());  // 5.0 does not become an integer
      CHECK(std::bit_cast<std::uint64_t>(read.get<double>()) ==
            std::bit_cast<std::uint64_t>(values[i]));
    }
  }
}

TEST_CASE("bytes that are not UTF-8 are replaced, so that every reader takes the line", "[json]") {
  TrialFiles files({"json"});
  files.start();
  files.report(1, {{"text", "caf\xC3\xA9 \xFF\xC3 \xED\xA0\x80 \xF0\x9F\x98\x80"}});
  files.complete();
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(json_lines(files.file("result.json")).at(0)["text"] ==
        "caf\xC3\xA9 " + mark + mark + " " + mark + mark + mark + " \xF0\x9F\x98\x80");
}

TEST_CASE("rows from an iteration on are replaced when it is reported again", "[json]") {
  TrialFiles files({"json"});
  files.start();
  for (int i = 1; i <= 7; ++i) files.report(i, {{"loss", 1.0 / i}});
  files.fail();
  files.idle();
  files.start(Json::object(), 5);
  files.idle();
  CHECK(json_lines(files.file("result.json")).size() == 7);  // nothing is lost until it reports

  files.report(6, {{"loss", 60.0}});
  files.idle();
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  REQUIRE(rows.size() == 6);
  CHECK(rows[4]["loss"] == 0.2);
  CHECK(rows[5]["loss"] == 60.0);
  CHECK(rows[5]["iterations_since_restore"] == 1);
  CHECK(rows[5]["time_since_restore"] == 0.5);

  files.start(Json::object(), 0);  // its checkpoints could not be read
  files.report(1, {{"loss", 100.0}});
  files.end_with_error();
  const std::vector<Json> last = json_lines(files.file("result.json"));
  REQUIRE(last.size() == 1);
  CHECK(last[0]["loss"] == 100.0);
}

TEST_CASE("the row of a checkpoint's iteration gets its name", "[json]") {
  TrialFiles files({"json"});
  files.start();
  files.report(1, {{"loss", 1.0}});
  const bool is_written_before = GENERATE(false, true);
  if (is_written_before) files.idle();
  files.checkpoint(1, "checkpoint_000001");
  files.report(2, {{"loss", 0.5}});
  files.checkpoint(1, "checkpoint_late");  // not of the last row
  files.complete();
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["checkpoint_dir_name"] == "checkpoint_000001");
  CHECK(rows[0]["loss"] == 1.0);
  CHECK(rows[1]["checkpoint_dir_name"].is_null());
}

TEST_CASE("PE-04: rows of result.json do not grow with the tables in the configuration",
          "[json][PE-04]") {
  const Json weights = std::vector<int>(5000, 1);
  Json kept = {{"lr", 0.1},
               {"model", {{"depth", 2}}},
               {"short", std::string(4093, 'x')},
               {"none", Json::object()},
               {"many", Json::object()}};
  // Small parameters stay, however many there are.
  for (int i = 0; i < 500; ++i) kept["many"]["parameter" + std::to_string(i)] = i;
  Json config = kept;
  config["model"]["weights"] = weights;
  config["data"] = {{"weights", weights}};
  config["text"] = std::string(4094, 'x');  // with its quotes 4096 bytes
  TrialFiles files({"json"});
  files.start(config);
  files.report(1, {{"loss", 1.0}});
  files.complete();
  CHECK((Json::parse(test::file_text(files.file("params.json"))) == config));
  CHECK((json_lines(files.file("result.json")).at(0)["config"] == kept));
}

TEST_CASE("params.json follows a configuration that changes at another start", "[json]") {
  TrialFiles files({"json"});
  files.start({{"lr", 0.1}});
  files.report(1, {{"loss", 1.0}});
  files.start({{"lr", 0.2}}, 1);
  files.report(2, {{"loss", 1.0}});
  files.complete();
  CHECK(Json::parse(test::file_text(files.file("params.json"))) == Json{{"lr", 0.2}});
  const std::vector<Json> rows = json_lines(files.file("result.json"));
  CHECK(rows.at(0)["config"]["lr"] == 0.1);
  CHECK(rows.at(1)["config"]["lr"] == 0.2);
}

}  // namespace
}  // namespace tune
