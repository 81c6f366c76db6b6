#include "searchers/encoded_space.hpp"

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/search_space.hpp>

namespace tune::searchers {
namespace {

// Two branches hold a branch of the same name, and parameters of the same name.
SearchSpace model_space() {
  return {{"seed", 7},
          {"model", branch({{"net",
                             {{"kind", branch({{"wide", {{"units", lograndint(16, 513)}}},
                                               {"deep", {{"units", randint(1, 9)}}}})},
                              {"lr", loguniform(1e-4, 1)}}},
                            {"tree",
                             {{"kind", branch({{"one", {}}, {"many", {{"count", randint(1, 5)}}}})},
                              {"lr", uniform(0, 1)}}}})},
          {"fit", {{"batch", ordinal({16, 32, 64})}, {"opt", choice({"sgd", "adam"})}}}};
}

TEST_CASE("a configuration goes into a point and comes back as it was", "[encoded_space]") {
  const SearchSpace space = model_space();
  const EncodedSpace encoded(space);
  CHECK(encoded.is_conditional());
  Random random(3, "encoded");
  const Point open(encoded.size(), std::nan(""));
  for (int i = 0; i < 500; ++i) {
    const Point drawn = encoded.sample(open, random);
    const Json config = encoded.decode(drawn, Json::object());
    const Point again = encoded.encode(config);
    for (std::size_t d = 0; d < encoded.size(); ++d) {
      CHECK(std::isnan(drawn[d]) == !encoded.is_active(d, drawn));
      CHECK(std::isnan(drawn[d]) == std::isnan(again[d]));
      if (!std::isnan(drawn[d])) CHECK(again[d] == Approx(drawn[d]).margin(1e-12));
    }
    CHECK_FALSE(config.contains("seed"));
  }
}

TEST_CASE("conditions lead to the branch on the way, not to another of its name",
          "[encoded_space]") {
  const EncodedSpace encoded(model_space());
  const Point tree =
      encoded.encode({{"model", "tree"}, {"kind", "many"}, {"count", 3}, {"lr", 0.25}});
  std::vector<std::string> active;
  for (std::size_t d = 0; d < encoded.size(); ++d) {
    if (encoded.is_active(d, tree)) active.push_back(encoded.dimensions()[d].path);
  }
  CHECK(active == std::vector<std::string>{"model", "kind", "count", "lr", "fit/batch", "fit/opt"});
}

TEST_CASE("what is fixed stays, and decides what else there is", "[encoded_space]") {
  const EncodedSpace encoded(model_space());
  const Json fixed = {{"model", "net"}, {"kind", "deep"}, {"fit", {{"opt", "adam"}}}};
  Random random(5, "fixed");
  const Point point = encoded.sample(encoded.encode(fixed), random);
  const Json config = encoded.decode(point, fixed);
  CHECK(config.at("model") == "net");
  CHECK(config.at("kind") == "deep");
  CHECK(config.at("fit").at("opt") == "adam");
  CHECK(config.contains("lr"));
  CHECK(config.at("units") >= 1);
  CHECK(config.at("units") <= 8);
}

TEST_CASE("places are brought to the values that there are", "[encoded_space]") {
  const EncodedSpace encoded({{"n", randint(0, 4)}, {"c", choice({"a", "b", "c"})}});
  CHECK(encoded.snapped(0, 0.3) == Approx(0.375));
  CHECK(encoded.snapped(0, 7) == Approx(0.875));
  CHECK(encoded.snapped(1, 5) == 2);
  CHECK(encoded.cell(0, 0.3).first == Approx(0.25));
  CHECK(encoded.cell(0, 0.3).last == Approx(0.5));
}

}  // namespace
}  // namespace tune::searchers
