#include "core/checkpoint_retention.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/limits.hpp"

namespace tune::core {
namespace {

/// "." for each that goes, "k" for each that stays.
std::string kept(const std::vector<double>& scores, const CheckpointOptions& options,
                 Mode mode = Mode::min) {
  std::string text;
  for (const bool is_kept : kept_checkpoints(scores, options, mode)) text += is_kept ? 'k' : '.';
  return text;
}

TEST_CASE("the newest checkpoints and the best ones are kept", "[checkpoint_retention]") {
  CHECK(kept({}, {.keep = 2}).empty());
  CHECK(kept({3, 2, 1}, {.keep = 5, .keep_best = 5}) == "kkk");
  CHECK(kept({1, 2, 3, 4}, {.keep = 2}) == "..kk");
  CHECK(kept({3, 1, 2, 4}, {.keep = 1, .keep_best = 1}) == ".k.k");
  CHECK(kept({3, 1, 2, 4}, {.keep = 1, .keep_best = 1}, Mode::max) == "...k");
  CHECK(kept({3, 1, 2, 4}, {.keep = 1, .keep_best = 2}, Mode::max) == "k..k");
  CHECK(kept({3, 1, 2, 4}, {.keep = 1, .keep_best = 2}) == ".kkk");
}

TEST_CASE("of equal checkpoints the newer is kept, and those without a value last",
          "[checkpoint_retention]") {
  CHECK(kept({1, 1, 1, 5}, {.keep = 1, .keep_best = 1}) == "..kk");
  CHECK(kept({test::nan, 7, test::nan, 5}, {.keep = 1, .keep_best = 2}) == ".k.k");
  CHECK(kept({-test::inf, 7, test::nan, 5}, {.keep = 1, .keep_best = 2}) == ".k.k");
  CHECK(kept({test::nan, test::nan, test::nan}, {.keep = 1, .keep_best = 2}) == ".kk");
}

TEST_CASE("the best checkpoints need a metric with a mode", "[checkpoint_retention]") {
  const Objective loss{"loss", Mode::min};
  CHECK_FALSE(objective_of(CheckpointOptions{}, std::nullopt));
  CHECK(objective_of(CheckpointOptions{.keep_best = 1}, loss)->metric == "loss");
  const auto own = objective_of(
      CheckpointOptions{.keep_best = 1, .metric = "accuracy", .mode = Mode::max}, loss);
  CHECK(own->metric == "accuracy");
  CHECK(own->mode == Mode::max);
  CHECK_THROWS_WITH(objective_of(CheckpointOptions{.keep_best = 1}, std::nullopt),
                    Catch::Contains("checkpoint.keep_best is 1, but there is no metric"));
  CHECK_THROWS_WITH(objective_of(CheckpointOptions{.keep_best = 1, .metric = "accuracy"}, loss),
                    Catch::Contains("checkpoint: keep_best looks at \"accuracy\"") &&
                        Catch::Contains("set mode"));
  CHECK_THROWS_WITH(objective_of(CheckpointOptions{.keep_best = 1, .mode = Mode::max}, loss),
                    Catch::Contains("the experiment has it with mode min"));
}

}  // namespace
}  // namespace tune::core
