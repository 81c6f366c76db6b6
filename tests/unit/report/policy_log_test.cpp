#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/exploit.hpp"
#include "hub_run.hpp"
#include "report/exploit_history.hpp"
#include "trial_files.hpp"

namespace tune {
namespace {

using core::Exploit;
using report::ExploitHistory;
using test::HubRun;

std::string name_of(int trial) { return "0000" + std::to_string(trial) + "_x"; }

Exploit exploit(int trial, std::uint64_t number, std::int64_t step, int donor,
                std::int64_t donor_step, double lr) {
  return {.trial = TrialId(static_cast<std::uint64_t>(trial)),
          .trial_name = name_of(trial),
          .number = number,
          .incarnation = static_cast<std::uint32_t>(number + 1),
          .step = step,
          .donor = TrialId(static_cast<std::uint64_t>(donor)),
          .donor_name = name_of(donor),
          .donor_step = donor_step,
          .old_config = Config(Json{{"lr", 0.25}, {"batch", 32}}),
          .donor_config = Config(Json{{"lr", 0.5}, {"batch", 32}}),
          .config = Config(Json{{"lr", lr}, {"batch", 32}})};
}

std::string line(int trial, int step, int donor, int donor_step, double lr) {
  return Json({name_of(trial),
               name_of(donor),
               step,
               donor_step,
               {{"batch", 32}, {"lr", 0.5}},
               {{"batch", 32}, {"lr", lr}}})
             .dump() +
         "\n";
}

TEST_CASE("what was behind the weights of a donor is behind those of the clone", "[policy]") {
  ExploitHistory history;
  CHECK(history.add(exploit(1, 1, 4, 0, 4, 1)) == 0);
  CHECK(history.add(exploit(3, 1, 4, 2, 4, 2)) == 0);
  CHECK(history.add(exploit(2, 1, 8, 1, 8, 3)) == 0);
  CHECK(history.add(exploit(1, 2, 9, 3, 8, 4)) == 0);
  CHECK(history.add(exploit(0, 1, 9, 1, 8, 5)) == 0);  // of what 1 had before it threw it away
  CHECK(history.policy_text(TrialId{2}) == line(1, 4, 0, 4, 1) + line(2, 8, 1, 8, 3));
  CHECK(history.policy_text(TrialId{1}) == line(3, 4, 2, 4, 2) + line(1, 9, 3, 8, 4));
  CHECK(history.policy_text(TrialId{0}) == line(1, 4, 0, 4, 1) + line(0, 9, 1, 8, 5));
  CHECK(history.policy_text(TrialId{7}).empty());
  CHECK(history.counting().size() == 5);
}

TEST_CASE("exploits that a trial went back behind count no more, but for those who took over",
          "[policy]") {
  ExploitHistory history;
  history.add(exploit(1, 1, 4, 0, 4, 1));
  history.add(exploit(1, 2, 8, 0, 8, 2));
  history.add(exploit(2, 1, 9, 1, 9, 3));
  CHECK(history.drop(TrialId{1}, 1) == 1);
  CHECK(history.policy_text(TrialId{1}) == line(1, 4, 0, 4, 1));
  CHECK(history.policy_text(TrialId{2}) == line(1, 8, 0, 8, 2) + line(2, 9, 1, 9, 3));
  CHECK(history.global_text() == line(1, 4, 0, 4, 1) + line(2, 9, 1, 9, 3));
  CHECK(history.add(exploit(1, 1, 3, 0, 3, 4)) == 1);  // in the place of the first
  CHECK(history.global_text() == line(2, 9, 1, 9, 3) + line(1, 3, 0, 3, 4));
}

TEST_CASE("an exploit in words names what it changed", "[policy]") {
  CHECK(core::changes_text(exploit(1, 1, 4, 0, 4, 0.125)) == "lr: 0.25 -> 0.125");
  Exploit nested = exploit(1, 1, 4, 0, 4, 1);
  nested.old_config = Config(Json{{"a", {{"b", 1}, {"c", "x"}}}, {"gone", true}});
  nested.config = Config(Json{{"a", {{"b", 2}, {"c", "x"}}}, {"new", {{"d", nullptr}}}});
  CHECK(core::changes_text(nested) == "a/b: 1 -> 2, gone: true -> none, new/d: none -> null");
  CHECK(core::exploit_json(core::exploit_of(core::exploit_json(nested))) ==
        core::exploit_json(nested));
}

std::vector<std::string> exploited_lines(const HubRun& run) {
  std::vector<std::string> found;
  std::istringstream log(test::file_text(run.path() / "driver.log"));
  for (std::string text; std::getline(log, text);) {
    if (text.find(" event=exploited ") == std::string::npos) continue;
    found.push_back(text.substr(text.find("trial=")));
  }
  return found;
}

TEST_CASE("an exploit is in driver.log and in the policy files, once, killed or not", "[policy]") {
  HubRun run;
  for (const int trial : {0, 1, 2}) run.run(static_cast<std::uint64_t>(trial));
  CHECK_FALSE(std::filesystem::exists(run.path() / "pbt_global.txt"));
  const std::vector<Exploit> exploits = {exploit(1, 1, 4, 0, 3, 1), exploit(2, 1, 8, 1, 8, 3)};
  for (const Exploit& each : exploits) run.hub().exploit(each);
  run.hub().idle();
  const auto check_files = [&run] {
    CHECK(test::file_text(run.path() / "pbt_global.txt") ==
          line(1, 4, 0, 3, 1) + line(2, 8, 1, 8, 3));
    CHECK(test::file_text(run.path() / "pbt_policy_00001.txt") == line(1, 4, 0, 3, 1));
    CHECK(test::file_text(run.path() / "pbt_policy_00002.txt") ==
          line(1, 4, 0, 3, 1) + line(2, 8, 1, 8, 3));
    CHECK_FALSE(std::filesystem::exists(run.path() / "pbt_policy_00000.txt"));
    CHECK(exploited_lines(run) ==
          std::vector<std::string>{"trial=1 event=exploited incarnation=2 iteration=4 donor=0 "
                                   "donor_iteration=3 changed=\"lr: 0.25 -> 1\"",
                                   "trial=2 event=exploited incarnation=2 iteration=8 donor=1 "
                                   "donor_iteration=8 changed=\"lr: 0.25 -> 3\""});
  };
  check_files();

  run.kill_and_resume([](const std::filesystem::path& experiment) {
    const auto cut = [](const std::filesystem::path& file, std::size_t bytes) {
      std::filesystem::resize_file(file, std::filesystem::file_size(file) - bytes);
    };
    cut(experiment / "pbt_global.txt", 30);
    std::filesystem::remove(experiment / "pbt_policy_00001.txt");
    // The last line of the log is that of the second exploit.
    const std::string log = test::file_text(experiment / "driver.log");
    cut(experiment / "driver.log", log.size() - log.rfind("time="));
  });
  ExploitHistory history;
  for (const Exploit& each : exploits) history.add(each);
  run.hub().restore_exploits(history);
  run.hub().idle();
  check_files();

  run.hub().exploits_dropped(TrialId{1}, 0);
  CHECK(test::file_text(run.path() / "pbt_global.txt") == line(2, 8, 1, 8, 3));
  CHECK_FALSE(std::filesystem::exists(run.path() / "pbt_policy_00001.txt"));
}

}  // namespace
}  // namespace tune
