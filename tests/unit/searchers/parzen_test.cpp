#include "searchers/parzen.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::searchers {
namespace {

constexpr double absent = std::numeric_limits<double>::quiet_NaN();

ParzenColumn five_cells() {
  return {
      .count = 5, .edges = {0, 0.1, 0.3, 0.6, 0.9, 1}, .centres = {0.05, 0.2, 0.45, 0.75, 0.95}};
}

ParzenMixture mixture(const std::vector<ParzenColumn>& columns, const std::vector<double>& rows) {
  ParzenMixture made(columns);
  const std::size_t size = rows.size() / columns.size();
  made.build(rows, std::vector<double>(size, 1), 1, 1.0 / static_cast<double>(size + 1));
  return made;
}

TEST_CASE("the density over places integrates to 1", "[parzen]") {
  const std::vector<ParzenColumn> columns(1);
  for (const std::vector<double>& rows :
       {std::vector<double>{}, {0.5}, {0, 1}, {0.01, 0.02, 0.02, 0.9}, {absent, 0.3}}) {
    const ParzenMixture made = mixture(columns, rows);
    std::vector<double> places;
    for (int i = 0; i < 20'000; ++i) places.push_back((i + 0.5) / 20'000);
    double whole = 0;
    for (const double density : made.log_densities(places)) whole += std::exp(density) / 20'000;
    CHECK(whole == Approx(1).epsilon(1e-6));
  }
}

TEST_CASE("the density over cells and over options sums to 1", "[parzen]") {
  const std::vector<ParzenColumn> columns = {five_cells(), {.count = 3, .is_categorical = true}};
  const ParzenMixture made = mixture(columns, {0.05, 0, 0.2, 2, 0.95, absent});
  double whole = 0;
  for (std::size_t cell = 0; cell < 5; ++cell) {
    for (int option = 0; option < 3; ++option) {
      const std::vector<double> point = {columns[0].centres[cell], static_cast<double>(option)};
      const double width = columns[0].edges[cell + 1] - columns[0].edges[cell];
      whole += std::exp(made.log_densities(point)[0]) * width / 3;
    }
  }
  CHECK(whole == Approx(1).epsilon(1e-9));
}

TEST_CASE("a kernel is as wide as the farther of its neighbours (Bergstra et al., section 4.2)",
          "[parzen]") {
  const std::vector<ParzenColumn> columns(1);
  const ParzenMixture made = mixture(columns, {0.3, 0.5, 0.52});
  // 0.3: 0.2 to the right; 0.5: 0.2 to the left; 0.52: not its 0.02 but the least, 1/4.
  const auto kernel = [](double x, double mean, double width) {
    const auto cdf = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
    const double z = (x - mean) / width;
    return std::exp(-0.5 * z * z) / (width * std::sqrt(2 * M_PI)) /
           (cdf((1 - mean) / width) - cdf(-mean / width));
  };
  for (const double x : {0.0, 0.2, 0.51, 0.99}) {
    const double want =
        (1 + kernel(x, 0.3, 0.25) + kernel(x, 0.5, 0.25) + kernel(x, 0.52, 0.25)) / 4;
    CHECK(std::exp(made.log_densities(std::vector<double>{x})[0]) == Approx(want).epsilon(1e-8));
  }
  const ParzenMixture far = mixture(columns, {0.1, 0.9});
  const double want = (1 + kernel(0.4, 0.1, 0.8) + kernel(0.4, 0.9, 0.8)) / 3;
  CHECK(std::exp(far.log_densities(std::vector<double>{0.4})[0]) == Approx(want).epsilon(1e-8));
}

TEST_CASE("columns that a kernel or a point does not have leave the density as it is", "[parzen]") {
  const std::vector<ParzenColumn> columns = {{}, {.count = 2, .is_categorical = true}};
  const ParzenMixture made = mixture(columns, {absent, absent});
  CHECK(made.log_densities(std::vector<double>{0.3, 1})[0] == Approx(0).margin(1e-12));
  const ParzenMixture both = mixture(columns, {0.3, 1});
  CHECK(both.log_densities(std::vector<double>{absent, absent})[0] == Approx(0).margin(1e-12));
}

TEST_CASE("many columns do not overflow", "[parzen]") {
  const std::vector<ParzenColumn> columns(800);
  std::vector<double> rows;
  for (int i = 0; i < 300; ++i) {
    for (int c = 0; c < 800; ++c) rows.push_back(((i * 37 + c * 11) % 300) / 300.0);
  }
  const ParzenMixture made = mixture(columns, rows);
  const std::vector<double> first(rows.begin(), rows.begin() + 800);
  std::vector<double> other(800, 0.123);
  CHECK(std::isfinite(made.log_densities(first)[0]));
  CHECK(made.log_densities(first)[0] > made.log_densities(other)[0]);
}

TEST_CASE("what was good together stays together (Watanabe, section 3)", "[parzen]") {
  const std::vector<ParzenColumn> columns(2);
  const ParzenMixture made = mixture(columns, {0.1, 0.1, 0.15, 0.15, 0.85, 0.85, 0.9, 0.9});
  const auto density = [&](double x, double y) {
    return made.log_densities(std::vector<double>{x, y})[0];
  };
  CHECK(density(0.1, 0.1) > density(0.1, 0.9) + 0.5);
  // Each by itself, low and high are as likely.
  CHECK(density(absent, 0.1) == Approx(density(absent, 0.9)));
}

TEST_CASE("drawing follows the density", "[parzen]") {
  const std::vector<ParzenColumn> columns = {
      {}, five_cells(), {.count = 3, .is_categorical = true}};
  const ParzenMixture made = mixture(columns, {0.1, 0.45, 2, 0.9, absent, 0});
  const std::vector<double> known = {absent, absent, absent};
  Random random(3);
  constexpr int draws = 40'000;
  std::vector<double> tenths(10, 0);
  std::vector<double> cells(5, 0);
  std::vector<double> options(3, 0);
  for (int i = 0; i < draws; ++i) {
    const std::size_t kernel = made.draw_kernel(known, random);
    tenths[static_cast<std::size_t>(made.draw(kernel, 0, random) * 10)] += 1.0 / draws;
    cells[columns[1].cell(made.draw(kernel, 1, random))] += 1.0 / draws;
    options[static_cast<std::size_t>(made.draw(kernel, 2, random))] += 1.0 / draws;
  }
  for (std::size_t cell = 0; cell < 5; ++cell) {
    const double width = columns[1].edges[cell + 1] - columns[1].edges[cell];
    const std::vector<double> point = {absent, columns[1].centres[cell], absent};
    CHECK(cells[cell] == Approx(std::exp(made.log_densities(point)[0]) * width).margin(0.015));
  }
  for (std::size_t option = 0; option < 3; ++option) {
    const std::vector<double> point = {absent, absent, static_cast<double>(option)};
    CHECK(options[option] == Approx(std::exp(made.log_densities(point)[0]) / 3).margin(0.015));
  }
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    double want = 0;
    for (int i = 0; i < 100; ++i) {
      const std::vector<double> point = {(static_cast<double>(tenth) + (i + 0.5) / 100) / 10,
                                         absent, absent};
      want += std::exp(made.log_densities(point)[0]) / 1000;
    }
    CHECK(tenths[tenth] == Approx(want).margin(0.015));
  }
}

}  // namespace
}  // namespace tune::searchers
