#include <tune/trial.hpp>

#include <set>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "support/comma_locale.hpp"

namespace tune {
namespace {

using Catch::Contains;

std::string name_of(const Json& config, std::uint64_t id = 7) {
  return trial_directory_name(TrialId{id}, Config(config));
}

bool is_safe(const std::string& name) {
  return !name.empty() && name.size() <= 128 && name.front() != '-' &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "._=-") == std::string::npos;
}

TEST_CASE("a directory name is the id and the parameters in short", "[trial]") {
  CHECK(name_of(Json::object()) == "00007");
  CHECK(name_of({{"lr", 0.00123456}, {"hidden", 128}, {"act", "relu"}, {"bn", true}}) ==
        "00007_act=relu_bn=true_hidden=128_lr=0.001235");
  CHECK(name_of({{"lr", 1.23456e-7}}) == "00007_lr=1.235e-7");
  CHECK(name_of({{"lr", 1e10}}) == "00007_lr=1e10");
  CHECK(name_of({{"x", -0.5}}) == "00007_x=-0.5");
  CHECK(name_of({{"x", 5e-324}}) == "00007_x=4.941e-324");
  CHECK(name_of({{"layers", {64, 32}}}) == "00007_layers=64-32");
  CHECK(name_of({{"opt", {{"name", "sgd"}, {"m", 0.9}}}}) == "00007_opt.m=0.9_opt.name=sgd");
  CHECK(name_of({{"none", nullptr}}) == "00007_none=null");
  CHECK(name_of(Json::object(), 123456) == "123456");
}

TEST_CASE("LO-02: long names are bounded, and two trials never share a directory", "[LO-02]") {
  Json config;
  for (int i = 0; i < 60; ++i) {
    config["parameter_" + std::to_string(100 + i) + std::string(27, 'x')] = i;
  }
  Json other = config;
  other["parameter_159" + std::string(27, 'x')] = 1;
  CHECK(config.size() == 60);
  CHECK(name_of(config, 3).size() <= 128);
  CHECK(name_of(config, 3) != name_of(other, 4));
  CHECK_THAT(name_of(config), Catch::StartsWith("00007_parameter_100xxx"));
  CHECK(is_safe(name_of(config)));
  CHECK(is_safe(name_of({{"table", std::string(1'000'000, 'y')}})));
  CHECK(is_safe(name_of({{"table", Json(std::vector<int>(100'000, 3))}})));
  CHECK(name_of({{std::string(500, 'p'), 1}}) == "00007");
}

TEST_CASE("LO-03: hostile characters never reach a directory name", "[LO-03]") {
  for (const std::string value : {"MY Name (1, 2)", "../../etc", "a/b", "x\ny", "-rf", "\xC3\xA4",
                                  "\xff", "", "a\\b:c*?\"<>|", "$(rm)", "~"}) {
    CAPTURE(value);
    const std::string name = name_of({{"p", value}, {value + "key", 1}});
    CAPTURE(name);
    CHECK(is_safe(name));
    CHECK_THAT(name, Catch::StartsWith("00007"));
  }
  CHECK(name_of({{"p", std::string("a\0b", 3)}}) == "00007_p=a_b");
  CHECK(is_safe(name_of({{"p", Json::array({Json{{"q", "\xff"}}})}})));
  CHECK(name_of({{"p", "MY Name (1, 2)"}}) == "00007_p=MY_Name_1_2_");
  CHECK(name_of({{"p", "../../etc"}}) == "00007_p=.._.._etc");
}

TEST_CASE("LO-04: a directory name has a decimal point in every locale", "[LO-04]") {
  const test::CommaLocale locale;
  CHECK(name_of({{"lr", 1234.5}, {"n", 1234567}}) == "00007_lr=1234_n=1234567");
  CHECK(name_of({{"lr", 0.25}}) == "00007_lr=0.25");
}

TEST_CASE("states have names", "[trial]") {
  for (const auto state : {TrialState::pending, TrialState::running, TrialState::paused,
                           TrialState::terminated, TrialState::error}) {
    CHECK(trial_state_from_string(to_string(state)) == state);
  }
  CHECK(to_string(TrialState::paused) == "paused");
  CHECK_THROWS_AS(trial_state_from_string("RUNNING"), std::invalid_argument);
  CHECK_THROWS_WITH(trial_state_from_string("done"),
                    R"(trial state "done" is unknown; there are: pending, running, paused, )"
                    "terminated, error");
}

TEST_CASE("a trial counts the results that were told", "[trial]") {
  Trial trial(TrialId{3}, Config(Json{{"x", 1}}));
  CHECK_FALSE(trial.last_result().has_value());
  trial.add_result(Result(0.5, 1));
  trial.add_result(Result(0.4, 2));
  Result done(0.4, 2);
  done.done = true;
  trial.replace_last_result(done);
  CHECK(trial.result_count() == 2);
  CHECK(trial.last_result()->done);
  CHECK(trial.state() == TrialState::pending);
}

}  // namespace
}  // namespace tune
