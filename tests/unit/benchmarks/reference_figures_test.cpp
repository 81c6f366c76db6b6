#include "benchmarks/reference_figures.hpp"

#include <catch2/catch.hpp>

#include "benchmarks/problem.hpp"

namespace tune::bench {
namespace {

TEST_CASE("a searcher is held against its own model, else against random search", "[benchmarks]") {
  CHECK(reference_column("tpe") == "TPE");
  CHECK(reference_column("cma_es") == "CMA-ES");
  CHECK(reference_column("gp") == "GP");
  CHECK(reference_column("automatic") == "best");
  CHECK(reference_column("sobol") == "random");
}

TEST_CASE("figures on record are found by problem, evaluations and column", "[benchmarks]") {
  const auto figure = find_reference("rosenbrock5", 200, "CMA-ES");
  REQUIRE(figure);
  CHECK(figure->values.median == 8.6);
  CHECK(figure->values.lower == 4.993);
  CHECK(figure->values.upper == 20);
  CHECK(figure->rounding == Approx(0.0005));
  CHECK_FALSE(find_reference("branin", 200, "GP"));
  CHECK_FALSE(find_reference("branin", 150, "TPE"));
  CHECK_FALSE(find_reference("other", 50, "TPE"));
  CHECK(find_reference("ackley10_shift", 200, "random")->rounding == Approx(0.05));
}

TEST_CASE(
    "every problem has figures at 50, 100 and 200 evaluations, its median between its quartiles",
    "[benchmarks]") {
  for (const Problem& problem : all_problems()) {
    for (const int evaluations : {50, 100, 200}) {
      for (const char* column : {"random", "TPE", "CMA-ES"}) {
        INFO(problem.name << ' ' << evaluations << ' ' << column);
        const auto figure = find_reference(problem.name, evaluations, column);
        REQUIRE(figure);
        CHECK(figure->values.lower <= figure->values.median);
        CHECK(figure->values.median <= figure->values.upper);
        CHECK(figure->values.median >= problem.optimum - figure->rounding);
      }
    }
  }
}

TEST_CASE("the best column is the one with the least median", "[benchmarks]") {
  CHECK(find_reference("rosenbrock5", 50, "best")->column == "CMA-ES");
  CHECK(find_reference("hartmann6", 100, "best")->column == "GP");
  CHECK(find_reference("hartmann6", 200, "best")->column == "TPE");
  CHECK(find_reference("cond_tree", 50, "best")->column == "TPE");
}

TEST_CASE("same is what the interval and the rounded figure have in common", "[benchmarks]") {
  const ReferenceFigure figure{.column = "GP", .values = {0.4, 0.398, 0.41}, .rounding = 0.0005};
  CHECK(compare({0.39, 0.40}, figure) == Verdict::same);
  CHECK(compare({0.3978, 0.3979}, figure) == Verdict::same);  // 0.398 rounded
  CHECK(compare({0.39, 0.397}, figure) == Verdict::better);
  CHECK(compare({0.399, 0.41}, figure) == Verdict::worse);
}

}  // namespace
}  // namespace tune::bench
