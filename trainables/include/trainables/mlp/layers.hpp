#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <Eigen/Core>

#include "trainables/mlp/arithmetic.hpp"

namespace tune::trainables {

using Index = Eigen::Index;

/// Row-major, so that [batch, features] has a sample's features side by side.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Scalar>
using RowVector = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;

/// A fully connected layer's numbers (its parameters, or their gradients), owned by someone else.
template <class Scalar>
struct DenseMap {
  Eigen::Map<Matrix<Scalar>> weights;    ///< [inputs, outputs]
  Eigen::Map<RowVector<Scalar>> biases;  ///< [outputs]
};

/// outputs = inputs * weights + biases: [batch, outputs] from [batch, inputs].
template <class Scalar>
void dense_forward(const Matrix<Scalar>& inputs, const DenseMap<Scalar>& layer,
                   Matrix<Scalar>& outputs) {
  outputs.noalias() = inputs * layer.weights;
  outputs.rowwise() += layer.biases;
}

/// The gradients of the layer's parameters, from the gradient of its outputs.
template <class Scalar>
void dense_gradients(const Matrix<Scalar>& inputs, const Matrix<Scalar>& output_gradient,
                     DenseMap<Scalar>& gradients) {
  gradients.weights.noalias() = inputs.transpose() * output_gradient;
  gradients.biases = output_gradient.colwise().sum();
}

/// The gradient of the layer's inputs, from the gradient of its outputs.
template <class Scalar>
void dense_backward(const DenseMap<Scalar>& layer, const Matrix<Scalar>& output_gradient,
                    Matrix<Scalar>& input_gradient) {
  input_gradient.noalias() = output_gradient * layer.weights.transpose();
}

/// In place.
template <class Scalar>
void relu_forward(Matrix<Scalar>& x) {
  x = x.unaryExpr([](Scalar value) { return relu(value); });
}

/// Turns the gradient behind a ReLU, whose outputs were `activations`, into the one before it. A
/// dropout between may have set some of both to 0.
template <class Scalar>
void relu_backward(const Matrix<Scalar>& activations, Matrix<Scalar>& gradient) {
  gradient = activations.binaryExpr(
      gradient, [](Scalar activation, Scalar value) { return relu_gradient(activation, value); });
}

/// In place. Dropout is linear with a fixed mask, so the same call takes activations forward and
/// their gradient backward.
template <class Scalar>
void apply_dropout(Matrix<Scalar>& x, const Dropout& dropout) {
  if (dropout.rate == 0) return;
  const std::uint32_t threshold = dropout.threshold();
  const auto scale = static_cast<Scalar>(dropout.scale());
  Scalar* const values = x.data();
  for (Index i = 0; i < x.size(); ++i) {
    const std::uint32_t bits = random_bits(dropout.key, static_cast<std::uint64_t>(i));
    values[i] = drop(values[i], bits, threshold, scale);
  }
}

/// Softmax and cross-entropy in one, so that no exponential overflows.
///
/// Returns the sum over the batch of -log(probability of the label). `gradient`, if not null,
/// becomes the gradient of the batch's *mean* for the logits.
/// @pre every label is below logits.cols()
template <class Scalar>
[[nodiscard]] double softmax_cross_entropy(const Matrix<Scalar>& logits,
                                           std::span<const std::uint8_t> labels,
                                           Matrix<Scalar>* gradient) {
  if (gradient != nullptr) gradient->resize(logits.rows(), logits.cols());
  RowVector<Scalar> exponentials(logits.cols());
  const Scalar share = Scalar(1) / static_cast<Scalar>(logits.rows());
  double loss = 0;
  for (Index row = 0; row < logits.rows(); ++row) {
    const Index label = labels[static_cast<std::size_t>(row)];
    const Scalar highest = logits.row(row).maxCoeff();
    Scalar sum = 0;
    for (Index column = 0; column < logits.cols(); ++column) {
      exponentials[column] = std::exp(logits(row, column) - highest);
      sum += exponentials[column];
    }
    loss += static_cast<double>(std::log(sum) - (logits(row, label) - highest));
    if (gradient == nullptr) continue;
    for (Index column = 0; column < logits.cols(); ++column) {
      (*gradient)(row, column) =
          cross_entropy_gradient(exponentials[column] / sum, column == label, share);
    }
  }
  return loss;
}

/// How many rows have their highest logit at the label. A row without a number above -infinity has
/// none.
template <class Scalar>
[[nodiscard]] std::int64_t count_correct(const Matrix<Scalar>& logits,
                                         std::span<const std::uint8_t> labels) {
  std::int64_t correct = 0;
  for (Index row = 0; row < logits.rows(); ++row) {
    Index best = -1;
    Scalar highest = -std::numeric_limits<Scalar>::infinity();
    for (Index column = 0; column < logits.cols(); ++column) {
      if (!(logits(row, column) > highest)) continue;
      best = column;
      highest = logits(row, column);
    }
    if (best == labels[static_cast<std::size_t>(row)]) ++correct;
  }
  return correct;
}

}  // namespace tune::trainables
