#include <tune/stop.hpp>

#include <cmath>
#include <stdexcept>

#include <catch2/catch.hpp>

namespace tune {
namespace {

using Catch::Contains;

TEST_CASE("stop criteria are pairs, functions and plateaus, joined by |", "[stop]") {
  const StopCriteria none;
  CHECK(none.empty());
  CHECK(none.json() == Json::array());

  const StopCriteria pairs = {{"training_iteration", 27}, {"accuracy", 0.99}};
  REQUIRE(pairs.rules().size() == 2);
  const auto& bound = std::get<StopCriteria::Bound>(pairs.rules()[1]);
  CHECK(bound.field == "accuracy");
  CHECK(bound.bound == 0.99);
  CHECK_FALSE(bound.below);

  const StopCriteria all = pairs | below("loss", 0.1) |
                           stop_when([](const Trial&, const Result&) { return true; }) |
                           plateau({.metric = "loss"}) | experiment_plateau({.patience = 2});
  CHECK(all.rules().size() == 6);
  CHECK(pairs.rules().size() == 2);
  CHECK(std::get<StopCriteria::Bound>(all.rules()[2]).below);
  CHECK(std::get<StopCriteria::Predicate>(all.rules()[3]).stop(Trial(), Result()));
}

TEST_CASE("the recorded definition has fields, bounds and options, and that there is a function",
          "[stop]") {
  const StopCriteria all = StopCriteria{{"training_iteration", 27}} | below("loss", 0.1) |
                           stop_when([](const Trial&, const Result&) { return true; }) |
                           plateau({.std = 0.5}) | experiment_plateau();
  CHECK(all.json() == Json::parse(R"([
    {"field": "training_iteration", "at_least": 27.0},
    {"field": "loss", "at_most": 0.1},
    {"function": true},
    {"plateau": {"metric": "", "std": 0.5, "num_results": 4, "grace_period": 4}},
    {"experiment_plateau": {"metric": "", "mode": null, "std": 0.001, "top": 10,
                            "patience": 0}}])"));
  CHECK(experiment_plateau({.metric = "acc", .mode = Mode::max}).json()[0]["experiment_plateau"] ==
        Json::parse(R"({"metric": "acc", "mode": "max", "std": 0.001, "top": 10, "patience": 0})"));
}

TEST_CASE("impossible criteria are refused where they are made", "[stop]") {
  CHECK_THROWS_AS((StopCriteria{{"accuracy", NAN}}), std::invalid_argument);
  CHECK_THROWS_WITH((StopCriteria{{"accuracy", NAN}}),
                    "stop criterion accuracy: the bound is nan, want a number");
  CHECK_THROWS_WITH((StopCriteria{{"", 1}}), Contains("without a field"));
  CHECK_THROWS_WITH(below("loss", NAN), Contains("loss: the bound is nan"));
  CHECK_NOTHROW(below("loss", -INFINITY));
  CHECK_THROWS_WITH(stop_when({}), Contains("the function is empty"));
  CHECK_THROWS_WITH(plateau({.std = 0}), "stop criterion plateau: std must be above 0, is 0");
  CHECK_THROWS_WITH(plateau({.std = NAN}), Contains("is nan"));
  CHECK_THROWS_WITH(plateau({.num_results = 1}), Contains("num_results must be at least 2, is 1"));
  CHECK_THROWS_WITH(plateau({.grace_period = -1}),
                    Contains("grace_period must be at least 0, is -1"));
  CHECK_THROWS_WITH(experiment_plateau({.std = -1}), Contains("std must be above 0, is -1"));
  CHECK_THROWS_WITH(experiment_plateau({.top = 1}), Contains("top must be at least 2, is 1"));
  CHECK_THROWS_WITH(experiment_plateau({.patience = -1}),
                    Contains("patience must be at least 0, is -1"));
}

}  // namespace
}  // namespace tune
