#include <tune/result.hpp>

#include <cmath>
#include <string>

#include <catch2/catch.hpp>

namespace tune {
namespace {

TEST_CASE("a result has its automatic fields and metrics as numbers", "[result]") {
  Result result(0.5, 7);
  result.metrics = {{"loss", 0.5}, {"epochs", 3}, {"on", true}, {"note", "x"}, {"eval/acc", 0.9}};
  result.time_this_iter_s = 0.25;
  result.time_total_s = 2.5;
  result.timestamp = 1.7e9;
  CHECK(result.number("training_iteration") == 7);
  CHECK(result.number("time_this_iter_s") == 0.25);
  CHECK(result.number("time_total_s") == 2.5);
  CHECK(result.number("timestamp") == 1.7e9);
  CHECK(result.number("loss") == 0.5);
  CHECK(result.number("epochs") == 3);
  CHECK(result.number("on") == 1);
  CHECK(result.number("eval/acc") == 0.9);
  CHECK_FALSE(result.number("note").has_value());
  CHECK_FALSE(result.number("absent").has_value());
}

TEST_CASE("a result without a target has NaN, the worst value", "[result]") {
  CHECK(std::isnan(Result().target()));
  CHECK(Result().training_iteration == 0);
  Result result;
  result.set_target(3);
  CHECK(result.target() == 3);
}

TEST_CASE("RA-02: the names that the framework fills are reserved, done is not", "[RA-02]") {
  for (const std::string name :
       {"training_iteration", "trial_id", "config", "experiment_id", "timestamp", "date",
        "time_this_iter_s", "time_total_s", "hostname", "pid", "node_ip", "checkpoint_dir_name",
        "config/lr"}) {
    CAPTURE(name);
    CHECK(is_reserved_field(name));
  }
  for (const std::string name : {"done", "loss", "", "configuration", "eval/config", "Date"}) {
    CAPTURE(name);
    CHECK_FALSE(is_reserved_field(name));
  }
}

}  // namespace
}  // namespace tune
