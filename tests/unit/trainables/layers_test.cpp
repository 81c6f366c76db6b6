#include "trainables/mlp/layers.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "finite_differences.hpp"

namespace tune::trainables {
namespace {

using DoubleMatrix = Matrix<double>;

DoubleMatrix random_matrix(Index rows, Index columns, std::uint64_t seed) {
  Random random(seed, "matrix");
  DoubleMatrix matrix(rows, columns);
  for (Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = random.normal();
  return matrix;
}

std::span<double> values_of(DoubleMatrix& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

/// A function of a layer's outputs whose gradient is `weights`.
double weighted_sum(const DoubleMatrix& outputs, const DoubleMatrix& weights) {
  return outputs.cwiseProduct(weights).sum();
}

TEST_CASE("dense layers: outputs by hand", "[mlp][layers]") {
  std::vector<double> numbers{1, 2, 3, 4, 5, 6, 10, 20, 30};
  const DenseMap<double> layer{.weights = {numbers.data(), 2, 3}, .biases = {&numbers[6], 3}};
  DoubleMatrix inputs(1, 2);
  inputs << 1, -1;
  DoubleMatrix outputs;
  dense_forward(inputs, layer, outputs);
  DoubleMatrix wanted(1, 3);
  wanted << 7, 17, 27;
  CHECK(outputs == wanted);
}

TEST_CASE("dense layers: gradients are those of finite differences", "[mlp][layers]") {
  constexpr Index batch = 3;
  constexpr Index width = 4;
  constexpr Index units = 5;
  DoubleMatrix numbers = random_matrix(width + 1, units, 1);
  DoubleMatrix gradients = DoubleMatrix::Zero(width + 1, units);
  const DenseMap<double> layer{.weights = {numbers.data(), width, units},
                               .biases = {numbers.data() + width * units, units}};
  DenseMap<double> gradient_map{.weights = {gradients.data(), width, units},
                                .biases = {gradients.data() + width * units, units}};
  DoubleMatrix inputs = random_matrix(batch, width, 2);
  const DoubleMatrix output_gradient = random_matrix(batch, units, 3);
  const auto function = [&] {
    DoubleMatrix outputs;
    dense_forward(inputs, layer, outputs);
    return weighted_sum(outputs, output_gradient);
  };
  dense_gradients(inputs, output_gradient, gradient_map);
  CHECK(test::gradient_error(values_of(numbers), values_of(gradients), function) < 1e-8);

  DoubleMatrix input_gradient;
  dense_backward(layer, output_gradient, input_gradient);
  CHECK(test::gradient_error(values_of(inputs), values_of(input_gradient), function) < 1e-8);
}

TEST_CASE("ReLU: values, NaN kept, gradients of finite differences", "[mlp][layers]") {
  CHECK(relu(2.5) == 2.5);
  CHECK(relu(-2.5) == 0);
  CHECK(relu(0.0) == 0);
  CHECK(std::isnan(relu(std::numeric_limits<double>::quiet_NaN())));

  DoubleMatrix inputs = random_matrix(4, 6, 4);
  const DoubleMatrix output_gradient = random_matrix(4, 6, 5);
  const auto function = [&] {
    DoubleMatrix x = inputs;
    relu_forward(x);
    return weighted_sum(x, output_gradient);
  };
  DoubleMatrix activations = inputs;
  relu_forward(activations);
  DoubleMatrix gradient = output_gradient;
  relu_backward(activations, gradient);
  CHECK(test::gradient_error(values_of(inputs), values_of(gradient), function) < 1e-8);
}

TEST_CASE("dropout: gradients are those of finite differences", "[mlp][layers]") {
  const Dropout dropout{.rate = 0.4, .key = 17};
  DoubleMatrix inputs = random_matrix(4, 6, 6);
  const DoubleMatrix output_gradient = random_matrix(4, 6, 7);
  const auto function = [&] {
    DoubleMatrix x = inputs;
    apply_dropout(x, dropout);
    return weighted_sum(x, output_gradient);
  };
  DoubleMatrix gradient = output_gradient;
  apply_dropout(gradient, dropout);
  CHECK(test::gradient_error(values_of(inputs), values_of(gradient), function) < 1e-8);
}

TEST_CASE("dropout drops its share and keeps the mean", "[mlp][layers]") {
  for (const double rate : {0.1, 0.5, 0.9}) {
    INFO("rate " << rate);
    Matrix<float> x = Matrix<float>::Ones(500, 400);
    apply_dropout(x, {.rate = rate, .key = 3});
    const auto count = static_cast<double>(x.size());
    const auto dropped = static_cast<double>((x.array() == 0).count());
    const double deviation = std::sqrt(rate * (1 - rate) / count);
    CHECK(std::abs(dropped / count - rate) < 4 * deviation);
    const auto kept = static_cast<float>(1 / (1 - rate));
    CHECK(((x.array() == 0) || (x.array() == kept)).all());
  }
}

TEST_CASE("dropout of rate 0 changes nothing", "[mlp][layers]") {
  DoubleMatrix x = random_matrix(3, 3, 8);
  const DoubleMatrix before = x;
  apply_dropout(x, {.rate = 0, .key = 3});
  CHECK(x == before);
}

TEST_CASE("a dropout mask is a function of its key alone", "[mlp][layers]") {
  const auto mask = [](Index rows, Index columns, std::uint64_t key) {
    DoubleMatrix x = DoubleMatrix::Ones(rows, columns);
    apply_dropout(x, {.rate = 0.5, .key = key});
    return x;
  };
  CHECK(mask(20, 30, 1) == mask(20, 30, 1));
  CHECK(mask(20, 30, 1).topRows(10) == mask(10, 30, 1));  // whatever the batch size

  // Masks of different keys agree in half of the places: they have nothing to do with each other.
  const DoubleMatrix one = mask(100, 100, 1);
  const DoubleMatrix other = mask(100, 100, 2);
  const auto equal = static_cast<double>((one.array() == other.array()).count());
  CHECK(std::abs(equal / 10000 - 0.5) < 0.02);
}

TEST_CASE("dropout's bits are those of the keyed generator", "[mlp][layers]") {
  Random random(12345);
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(random_bits(12345, i) == random.next() >> 32);
}

TEST_CASE("softmax cross-entropy: loss by hand", "[mlp][layers]") {
  DoubleMatrix logits(2, 2);
  logits << std::log(3.0), 0, 0, 0;
  const std::vector<std::uint8_t> labels{0, 1};
  CHECK(softmax_cross_entropy<double>(logits, labels, nullptr) ==
        Approx(-std::log(0.75) - std::log(0.5)).epsilon(1e-14));
}

TEST_CASE("softmax cross-entropy: gradients are those of finite differences", "[mlp][layers]") {
  DoubleMatrix logits = random_matrix(5, 4, 9);
  const std::vector<std::uint8_t> labels{0, 3, 1, 1, 2};
  DoubleMatrix gradient;
  (void)softmax_cross_entropy(logits, labels, &gradient);
  const auto mean_loss = [&] { return softmax_cross_entropy<double>(logits, labels, nullptr) / 5; };
  CHECK(test::gradient_error(values_of(logits), values_of(gradient), mean_loss) < 1e-7);
}

TEST_CASE("softmax cross-entropy: large logits neither overflow nor lose the gradient",
          "[mlp][layers]") {
  Matrix<float> logits(1, 3);
  logits << 1e4F, -1e4F, 0;
  const std::vector<std::uint8_t> label{1};
  Matrix<float> gradient;
  CHECK(softmax_cross_entropy(logits, label, &gradient) == 2e4);
  Matrix<float> wanted(1, 3);
  wanted << 1, -1, 0;
  CHECK(gradient == wanted);
}

TEST_CASE("a prediction is the highest logit, and a row of NaN predicts nothing", "[mlp][layers]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  DoubleMatrix logits(4, 3);
  logits << 1, 3, 2, 5, 1, 1, nan, nan, nan, nan, 0, 1;
  CHECK(count_correct(logits, std::vector<std::uint8_t>{1, 0, 0, 2}) == 3);
  CHECK(count_correct(logits, std::vector<std::uint8_t>{0, 2, 1, 0}) == 0);
}

}  // namespace
}  // namespace tune::trainables
