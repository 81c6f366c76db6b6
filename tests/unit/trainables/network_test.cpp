#include "trainables/mlp/network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "finite_differences.hpp"

namespace tune::trainables {
namespace {

template <class Scalar>
Matrix<Scalar> random_inputs(Index rows, Index columns) {
  Random random(1, "inputs");
  Matrix<Scalar> inputs(rows, columns);
  for (Index i = 0; i < inputs.size(); ++i) {
    inputs.data()[i] = static_cast<Scalar>(random.uniform());
  }
  return inputs;
}

const std::vector<std::uint8_t> six_labels{0, 2, 1, 2, 2, 0};

TEST_CASE("network: gradients are those of finite differences", "[mlp][network]") {
  for (const std::vector<Index>& sizes :
       std::vector<std::vector<Index>>{{4, 3}, {4, 7, 3}, {4, 6, 5, 3}}) {
    for (const double dropout : {0.0, 0.3}) {
      INFO(sizes.size() << " widths, dropout " << dropout);
      Network<double> network(sizes, dropout);
      network.initialise(Random(5, "weights"));
      const Matrix<double> inputs = random_inputs<double>(6, 4);
      network.forward_training(inputs, 99);
      const double loss = network.backward(inputs, six_labels);
      const std::vector<double> gradients(network.gradients().begin(), network.gradients().end());
      const auto mean_loss = [&] {
        return softmax_cross_entropy<double>(network.forward_training(inputs, 99), six_labels,
                                             nullptr) /
               6;
      };
      CHECK(loss == 6 * mean_loss());
      CHECK(test::gradient_error(network.parameters(), gradients, mean_loss) < 1e-6);
    }
  }
}

TEST_CASE("network: floats have the gradients of doubles", "[mlp][network]") {
  Network<double> exact({4, 6, 5, 3}, 0.3);
  Network<float> network({4, 6, 5, 3}, 0.3);
  exact.initialise(Random(5, "weights"));
  network.initialise(Random(5, "weights"));
  const Matrix<double> inputs = random_inputs<double>(6, 4);
  const Matrix<float> rounded = inputs.cast<float>();
  exact.forward_training(inputs, 7);
  network.forward_training(rounded, 7);
  CHECK(network.backward(rounded, six_labels) ==
        Approx(exact.backward(inputs, six_labels)).epsilon(1e-5));
  for (std::size_t i = 0; i < exact.gradients().size(); ++i) {
    CHECK(static_cast<double>(network.gradients()[i]) == Approx(exact.gradients()[i]).margin(1e-5));
  }
}

TEST_CASE("network: dropout acts in training alone and by its key", "[mlp][network]") {
  const Matrix<double> inputs = random_inputs<double>(6, 4);
  Network<double> plain({4, 50, 3});
  Network<double> network({4, 50, 3}, 0.5);
  plain.initialise(Random(5, "weights"));
  network.initialise(Random(5, "weights"));
  CHECK(network.forward(inputs) == plain.forward(inputs));
  CHECK(plain.forward_training(inputs, 1) == plain.forward(inputs));

  const Matrix<double> first = network.forward_training(inputs, 1);
  const Matrix<double> second = network.forward_training(inputs, 2);
  CHECK(first != second);
  CHECK(first != network.forward(inputs));
  CHECK(network.forward_training(inputs, 1) == first);
}

TEST_CASE("network: the layers of one pass have masks of their own", "[mlp][network]") {
  // Identity weights carry a row of ones through; what is dropped in either layer is 0 at the end.
  constexpr Index width = 400;
  Network<double> network({width, width, width, width}, 0.5);
  for (Index layer = 0; layer < 3; ++layer) {
    const Index begin = layer * (width + 1) * width;
    for (Index i = 0; i < width; ++i) {
      network.parameters()[static_cast<std::size_t>(begin + i * width + i)] = 1;
    }
  }
  const Matrix<double> inputs = Matrix<double>::Ones(1, width);
  const auto kept =
      static_cast<double>((network.forward_training(inputs, 1).array() != 0).count()) / width;
  CHECK(std::abs(kept - 0.25) < 0.1);  // 0.5 if both masks were the same
}

TEST_CASE("network: weights are drawn after He, biases are 0", "[mlp][network]") {
  Network<double> network({100, 200, 50});
  network.initialise(Random(3, "weights"));
  const std::span<const double> parameters = network.parameters();
  const auto check_layer = [&](std::size_t begin, std::size_t inputs, std::size_t outputs) {
    const std::span<const double> weights = parameters.subspan(begin, inputs * outputs);
    const auto count = static_cast<double>(weights.size());
    const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / count;
    double variance = 0;
    for (const double weight : weights) variance += (weight - mean) * (weight - mean) / count;
    const double wanted = 2.0 / static_cast<double>(inputs);
    CHECK(std::abs(mean) < 4 * std::sqrt(wanted / count));
    CHECK(std::abs(variance / wanted - 1) < 4 * std::sqrt(2 / count));
    const std::span<const double> biases = parameters.subspan(begin + weights.size(), outputs);
    CHECK(std::ranges::all_of(biases, [](double bias) { return bias == 0; }));
  };
  check_layer(0, 100, 200);
  check_layer(101 * 200, 200, 50);
  CHECK(parameters.size() == 101 * 200 + 201 * 50);
}

TEST_CASE("network: impossible shapes and dropout rates are refused", "[mlp][network]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(Network<float>({4}), Contains("1 widths, want at least"));
  CHECK_THROWS_WITH(Network<float>({4, 0, 2}), Contains("width is 0, want at least 1"));
  CHECK_THROWS_WITH(Network<float>({4, 2}, 1.0), Contains("dropout is 1") && Contains("[0, 1)"));
  CHECK_THROWS_AS(Network<float>({4, 2}, -0.1), std::invalid_argument);
}

}  // namespace
}  // namespace tune::trainables
