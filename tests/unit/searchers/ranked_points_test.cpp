#include "searchers/ranked_points.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::searchers {
namespace {

using Numbers = std::vector<std::size_t>;

TEST_CASE("points are kept in the order of their ranks", "[ranked_points]") {
  const EncodedSpace space(SearchSpace{{"x", uniform(0, 1)}});
  const ParzenColumns columns(space);
  RankedPoints points(columns);
  points.set(0, {0.1}, Rank{.loss = 3});
  points.set(1, {0.2}, std::nullopt);
  points.set(2, {0.3}, Rank{.loss = 1});
  points.set(3, {0.4}, Rank{.tier = 1, .loss = 0});
  points.set(4, {0.5}, Rank{.loss = 3});
  points.set(5, {0.6}, std::nullopt);
  CHECK(points.order() == Numbers{2, 0, 4, 3});
  CHECK(points.unranked() == Numbers{1, 5});
  points.set(1, {0.25}, Rank{.loss = 2});
  points.set(2, {0.3}, std::nullopt);
  points.set(0, {0.1}, Rank{.loss = 4});
  CHECK(points.order() == Numbers{1, 4, 0, 3});
  CHECK(points.unranked() == Numbers{2, 5});
  CHECK(points.row(1)[0] == 0.25);
}

TEST_CASE("trials rank by how they ended, how far they came, and their loss", "[ranked_points]") {
  using State = Observation::State;
  const auto rank = [](State state, double loss, std::size_t levels) {
    return final_rank({.trial = TrialId(0),
                       .point = {},
                       .state = state,
                       .loss = loss,
                       .iteration = 1,
                       .levels = std::vector<double>(levels, loss)});
  };
  const std::vector<Rank> in_order = {
      rank(State::completed, 1, 1),     rank(State::completed, 5, 3),
      rank(State::stopped_early, 4, 3), rank(State::stopped_early, 5, 3),
      rank(State::stopped_early, 0, 1), rank(State::failed, 0, 3)};
  for (std::size_t i = 1; i < in_order.size(); ++i) CHECK(in_order[i - 1] < in_order[i]);
  CHECK_FALSE(in_order.back() < rank(State::completed, std::numeric_limits<double>::infinity(), 2));
}

TEST_CASE("a name with one domain in exclusive branches is one column", "[ranked_points]") {
  const Domain lr = uniform(0, 1);
  const EncodedSpace space({{"kind", branch({{"a", {{"lr", lr}, {"n", randint(0, 5)}}},
                                             {"b", {{"lr", lr}, {"n", randint(0, 6)}}},
                                             {"c", {{"depth", branch({{1, {}}, {2, {}}})}}}})}});
  const ParzenColumns columns(space);
  REQUIRE(space.size() == 6);
  CHECK(columns.size() == 5);
  CHECK(columns.of(1) == columns.of(3));
  CHECK(columns.of(2) != columns.of(4));
  const Point point = space.encode({{"kind", "b"}, {"lr", 0.25}, {"n", 5}});
  std::vector<double> row(columns.size());
  columns.write(point, row);
  CHECK(row[columns.of(1)] == 0.25);
  CHECK(std::isnan(row[columns.of(2)]));
  CHECK(std::isnan(row[columns.of(5)]));
}

TEST_CASE("cells are the shares of values in order", "[ranked_points]") {
  const EncodedSpace space({{"n", lograndint(1, 9)}, {"wide", randint(0, 1000)}});
  const ParzenColumns columns(space);
  const ParzenColumn& column = columns.all()[0];
  REQUIRE(column.count == 8);
  CHECK(columns.all()[1].count == 0);
  for (std::uint64_t value = 0; value < 8; ++value) {
    const double place = space.encode({{"n", static_cast<int>(value) + 1}, {"wide", 1}})[0];
    CHECK(column.centres[value] == place);
    CHECK(column.cell(place) == value);
  }
  CHECK(column.cell(0) == 0);
  CHECK(column.cell(1) == 7);
}

}  // namespace
}  // namespace tune::searchers
