#include <tune/schedulers/pbt_replay.hpp>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>

#include "population_bench.hpp"
#include "support/temporary_folder.hpp"

namespace tune {
namespace {

using Catch::Contains;
using test::PopulationBench;

Json entry(std::int64_t step, double lr) { return {{"step", step}, {"config", {{"lr", lr}}}}; }

TEST_CASE("a replay changes the configuration at the steps of its policy", "[pbt_replay]") {
  const Json policy = {entry(0, 0.5), entry(2, 0.1), entry(5, 0.2)};
  PopulationBench bench(pbt_replay({.policy = policy}), Mode::max);
  bench.add(3, {{"lr", 0.5}, {"layers", 2}});
  CHECK(bench.horizon(3) == 2);
  CHECK(bench.report(3, 1, 0) == Decision::proceed);
  CHECK(bench.report(3, 2, 0) == Decision::pause);
  CHECK_THAT(bench.explanation(3), Contains("changes its configuration at step 2"));
  CHECK(bench.choose() == TrialId{3});
  REQUIRE(bench.exploits().size() == 1);
  CHECK(bench.exploits()[0].target == TrialId{3});
  CHECK(bench.exploits()[0].source == TrialId{3});
  CHECK(bench.exploits()[0].config.json() == Json{{"lr", 0.1}, {"layers", 2}});
  CHECK(bench.horizon(3) == 5);
  bench.run(3);
  bench.restore_into(pbt_replay({.policy = policy}));
  CHECK(bench.report(3, 4, 0) == Decision::proceed);
  CHECK(bench.report(3, 5, 0) == Decision::pause);
  bench.restore_into(pbt_replay({.policy = policy}));
  CHECK(bench.choose() == TrialId{3});
  CHECK(bench.exploits().at(1).config.json() == Json{{"lr", 0.2}, {"layers", 2}});
  bench.run(3);
  CHECK(bench.report(3, 100, 0) == Decision::proceed);
}

TEST_CASE("a replay whose trial has lost its checkpoint changes one step later", "[pbt_replay]") {
  PopulationBench bench(pbt_replay({.policy = {entry(2, 0.1)}}), Mode::max);
  bench.add(0);
  bench.saves = false;
  CHECK(bench.report(0, 2, 0) == Decision::pause);
  CHECK(bench.choose() == TrialId{0});
  CHECK(bench.exploits().empty());
  bench.run(0);
  bench.saves = true;
  CHECK(bench.report(0, 3, 0) == Decision::pause);
  CHECK(bench.choose() == TrialId{0});
  CHECK(bench.exploits().size() == 1);
}

TEST_CASE("a replay is of one trial that begins as the policy does", "[pbt_replay]") {
  PopulationBench bench(pbt_replay({.policy = {entry(0, 0.5), entry(2, 0.1)}}), Mode::max);
  CHECK_THROWS_WITH(bench.add(0, {{"lr", 0.4}}),
                    Contains("the policy begins with lr = 0.5, the trial has 0.4"));
  bench.add(1);
  CHECK_THROWS_WITH(bench.add(2), Contains("trial 2 is a second one"));
}

TEST_CASE("pbt_replay is made by name, and refuses what is no policy", "[pbt_replay]") {
  register_builtin_schedulers();
  const Json policy = {entry(0, 0.5), entry(3, 0.25)};
  const Json options = make_scheduler("pbt_replay", {{"policy", policy}})->options();
  CHECK(options == Json{{"name", "pbt_replay"}, {"policy", policy}});
  CHECK(make_scheduler("pbt_replay", options)->options() == options);
  CHECK_FALSE(pbt_replay({.policy = policy})->needs_metric());
  CHECK(pbt_replay({.policy = policy})->needs_checkpoints());

  CHECK_THROWS_WITH(pbt_replay({}), Contains("policy is null, want a list"));
  CHECK_THROWS_WITH(pbt_replay({.policy = Json::array({1})}), Contains("an entry of the policy"));
  CHECK_THROWS_WITH(pbt_replay({.policy = {entry(3, 0), entry(3, 0)}}), Contains("must grow"));
}

Json exchange(int trial, int step, int donor, int checkpoint, double donor_lr, double lr) {
  return {{"trial", trial},           {"step", step},       {"donor", donor},
          {"checkpoint", checkpoint}, {"old", {{"lr", 0}}}, {"donor_config", {{"lr", donor_lr}}},
          {"config", {{"lr", lr}}}};
}

TEST_CASE("the policy of a trial is that of its weights, donors included", "[pbt_replay]") {
  const Json records = {
      exchange(1, 4, 0, 4, 0.1, 0.2),  // weights of 0, trained for 4
      exchange(3, 4, 5, 2, 0.7, 0.8),  // of no account
      exchange(2, 6, 1, 8, 0.2, 0.3),  // 1 went on from 4 to 8: 8 in all
      "an explanation of another kind",
      exchange(1, 10, 3, 9, 0.8, 0.9),  // after 2 took over from 1
      exchange(2, 10, 2, 9, 0.3, 0.4),  // 6 to 9: 11
  };
  CHECK(pbt_policy(records, TrialId{2}) ==
        Json::array({entry(0, 0.1), entry(4, 0.2), entry(8, 0.3), entry(11, 0.4)}));
  CHECK(pbt_policy(records, TrialId{1}) ==
        Json::array({entry(0, 0.7), entry(2, 0.8), entry(7, 0.9)}));
  CHECK(pbt_policy(records, TrialId{0}) == Json::array());
  CHECK_THROWS_AS(pbt_policy(3, TrialId{0}), std::invalid_argument);
  CHECK_THROWS_WITH(pbt_policy(Json::array({{{"trial", 1}, {"donor", 2}}}), TrialId{0}),
                    Contains("a record is {") && Contains("step"));
}

TEST_CASE("a policy is read from the file that an experiment has left", "[pbt_replay]") {
  register_builtin_schedulers();
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "pbt_policy_00002.txt";
  const auto write = [&file](const std::string& text) { std::ofstream(file) << text; };
  write(R"(["1_x", "0_x", 4, 4, {"lr": 0.1}, {"lr": 0.2}])"
        "\n"
        R"(["3_x", "5_x", 4, 2, {"lr": 0.7}, {"lr": 0.8}])"
        "\n\n"
        R"(["2_x", "1_x", 6, 8, {"lr": 0.2}, {"lr": 0.3}])"
        "\n");
  const Json policy = Json::array({entry(0, 0.1), entry(4, 0.2), entry(8, 0.3)});
  CHECK(read_pbt_policy(file) == policy);
  CHECK(pbt_replay({.policy_file = file})->options().at("policy") == policy);
  const auto by_name = make_scheduler("pbt_replay", {{"policy_file", file.string()}});
  // The definition on record has the policy itself.
  CHECK(by_name->options() == Json{{"name", "pbt_replay"}, {"policy", policy}});

  CHECK_THROWS_WITH(pbt_replay({.policy = policy, .policy_file = file}), Contains("both given"));
  CHECK_THROWS_WITH(read_pbt_policy(folder.path() / "none.txt"), Contains("none.txt"));
  CHECK_THROWS_WITH(read_pbt_policy(folder.path()), Contains(folder.path().string()));
  write("");
  CHECK_THROWS_WITH(read_pbt_policy(file), Contains("00002.txt has no lines"));
  write("[\"1_x\", \"0_x\", 4, 4, {}, {}]\n[\"1_x\", \"0_x\", 4.5, 4, {}, {}]\n");
  CHECK_THROWS_WITH(read_pbt_policy(file), Contains("00002.txt, line 2 is"));
  write("[\"1_x\", \"0_x\", 4, 4, {}");
  CHECK_THROWS_WITH(read_pbt_policy(file), Contains("line 1 is"));
}

}  // namespace
}  // namespace tune
