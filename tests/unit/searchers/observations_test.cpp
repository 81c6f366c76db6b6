#include "searchers/observations.hpp"

#include <cmath>
#include <limits>
#include <optional>

#include <catch2/catch.hpp>

#include <tune/search_space.hpp>

namespace tune::searchers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const Config at_half(Json{{"x", 0.5}});

Result result_at(std::int64_t iteration, double target, bool stopped_by_scheduler = false) {
  Result result(target, iteration);
  result.stopped_by_scheduler = stopped_by_scheduler;
  return result;
}

class Fixture {
 public:
  explicit Fixture(Mode mode = Mode::min)
      : space(SearchSpace{{"x", uniform(0, 1)}}), seen(space, {"loss", mode}) {}

  EncodedSpace space;
  Observations seen;
};

TEST_CASE("losses are to be minimised, and what is not finite is the worst", "[observations]") {
  Fixture max(Mode::max);
  const double values[] = {2, -3, std::nan(""), infinity, -infinity, 1e300};
  const double losses[] = {-2, 3, infinity, infinity, infinity, -1e300};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    max.seen.on_trial_completed(TrialId(i), at_half, result_at(1, values[i]));
    CHECK(max.seen.all()[i].loss == losses[i]);
  }
  CHECK(max.seen.ended() == std::size(values));
}

TEST_CASE("a trial counts at each level with the loss it had there", "[observations]") {
  Fixture f;
  for (std::int64_t i = 1; i <= 10; ++i) {
    f.seen.on_trial_result(TrialId(0), at_half, result_at(i, 100.0 - static_cast<double>(i)));
  }
  const Observation& running = f.seen.all()[0];
  CHECK(running.levels == std::vector<double>{99, 97, 91});
  CHECK(Observations::loss_at(running, 1) == 97.0);
  CHECK(Observations::loss_at(running, 2) == 91.0);  // as others at that level, not at 10
  CHECK(Observations::loss_at(running, 3) == std::nullopt);
  f.seen.on_trial_completed(TrialId(0), at_half, result_at(10, 90, true));
  CHECK(Observations::loss_at(f.seen.all()[0], 2) == 90.0);
  CHECK(Observations::loss_at(f.seen.all()[0], 3) == std::nullopt);
  f.seen.on_trial_completed(TrialId(0), at_half, result_at(10, 90));
  CHECK(Observations::loss_at(f.seen.all()[0], 3) == 90.0);  // it trained to its own end
}

TEST_CASE("the highest level with enough trials", "[observations]") {
  Fixture f;
  CHECK(f.seen.highest_level(1) == 0);
  for (std::uint64_t i = 0; i < 9; ++i) {
    f.seen.on_trial_result(TrialId(i), at_half, result_at(1, 1));
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    f.seen.on_trial_result(TrialId(i), at_half, result_at(3, 1));
  }
  CHECK(f.seen.highest_level(4) == 0);
  CHECK(f.seen.highest_level(3) == 1);
  f.seen.on_trial_completed(TrialId(9), at_half, result_at(1, 1));
  CHECK(f.seen.highest_level(4) == 1);  // one that completed counts wherever others got
  CHECK(f.seen.highest_level(1) == 2);
  f.seen.on_trial_failed(TrialId(0), at_half, false);
  CHECK(f.seen.highest_level(4) == 0);
}

TEST_CASE("trials without a result are known and count nowhere", "[observations]") {
  Fixture f;
  f.seen.on_trial_added(TrialId(4), at_half);
  f.seen.on_trial_completed(TrialId(5), at_half, Result());
  for (const Observation& observation : f.seen.all()) {
    CHECK_FALSE(Observations::loss_at(observation, 0));
  }
  CHECK(f.seen.find(TrialId(5)) == 1u);
  CHECK(f.seen.find(TrialId(6)) == std::nullopt);
}

TEST_CASE("a configuration that changes takes the levels before it along no more",
          "[observations]") {
  Fixture f;
  f.seen.on_trial_result(TrialId(0), at_half, result_at(3, 5));
  f.seen.on_trial_result(TrialId(0), Config(Json{{"x", 0.25}}), result_at(4, 2));
  CHECK(f.seen.all()[0].point.at(0) == 0.25);
  CHECK(f.seen.all()[0].levels == std::vector<double>{2, 2});
}

TEST_CASE("observations are restored as they were saved", "[observations]") {
  Fixture f;
  f.seen.on_trial_added(TrialId(0), at_half);
  f.seen.on_trial_result(TrialId(1), at_half, result_at(9, std::nan("")));
  f.seen.on_trial_completed(TrialId(2), at_half, result_at(5, 0.1, true));
  f.seen.on_trial_failed(TrialId(3), at_half, true);
  const Json state = Json::parse(f.seen.save().dump());
  Fixture g;
  g.seen.restore(state);
  CHECK(g.seen.save() == state);
  CHECK(g.seen.ended() == 2);
  CHECK(g.seen.all()[2].state == Observation::State::stopped_early);
  CHECK(g.seen.find(TrialId(3)) == 3u);
}

}  // namespace
}  // namespace tune::searchers
