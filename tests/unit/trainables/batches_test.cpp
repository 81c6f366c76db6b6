#include "trainables/mlp/batches.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::trainables {
namespace {

TEST_CASE("a shuffled order holds each number once and depends on its key", "[mlp][batches]") {
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::uint32_t> order = shuffled_order(count, Random(1, "order"));
    CHECK(order == shuffled_order(count, Random(1, "order")));
    std::ranges::sort(order);
    REQUIRE(order.size() == count);
    for (std::uint32_t i = 0; i < count; ++i) CHECK(order[i] == i);
  }
  CHECK(shuffled_order(1000, Random(1, "order")) != shuffled_order(1000, Random(2, "order")));
}

TEST_CASE("every number comes to every place equally often", "[mlp][batches]") {
  constexpr std::uint64_t shuffles = 6000;
  std::vector<std::vector<double>> counts(4, std::vector<double>(4));
  for (std::uint64_t i = 0; i < shuffles; ++i) {
    const std::vector<std::uint32_t> order = shuffled_order(4, Random(1, "order", i));
    for (std::size_t place = 0; place < 4; ++place) ++counts[place][order[place]];
  }
  for (const auto& row : counts) {
    for (const double count : row) CHECK(std::abs(count - 1500) < 4 * std::sqrt(1500 * 0.75));
  }
}

TEST_CASE("a batch has the images asked for, scaled to 0 to 1", "[mlp][batches]") {
  const ImageSet images{
      .image_size = 2, .classes = 3, .pixels = {0, 255, 51, 102, 153, 204}, .labels = {2, 0, 1}};
  Batch<float> batch;
  gather_batch(images, std::vector<std::uint32_t>{2, 0}, batch);
  REQUIRE(batch.inputs.rows() == 2);
  REQUIRE(batch.inputs.cols() == 2);
  CHECK(batch.inputs(0, 0) == Approx(0.6));
  CHECK(batch.inputs(0, 1) == Approx(0.8));
  CHECK(batch.inputs(1, 0) == 0);
  CHECK(batch.inputs(1, 1) == 1);
  CHECK(batch.labels == std::vector<std::uint8_t>{1, 2});

  gather_batch(images, std::vector<std::uint32_t>{1}, batch);
  REQUIRE(batch.inputs.rows() == 1);
  CHECK(batch.inputs(0, 0) == Approx(0.2));
  CHECK(batch.labels == std::vector<std::uint8_t>{0});
}

}  // namespace
}  // namespace tune::trainables
