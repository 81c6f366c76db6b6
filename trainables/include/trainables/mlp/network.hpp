#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tune/random.hpp>

#include "trainables/mlp/layers.hpp"

namespace tune::trainables {

/// A multilayer perceptron: fully connected layers, ReLU and dropout between them, logits at the
/// end.
///
/// All parameters stand in one array, layer by layer, weights before biases, and their gradients in
/// another: an optimizer, a checkpoint or a device copy needs to know no layer. Instantiated for
/// float and, to check gradients tightly, double.
template <class Scalar>
class Network {
 public:
  /// A network without layers, to be assigned to.
  Network() = default;
  /// `sizes` are the widths from the inputs over the hidden layers to the classes; zero parameters.
  /// @throws std::invalid_argument naming a width below 1, fewer than two, or a dropout rate
  /// outside [0, 1).
  explicit Network(std::vector<Index> sizes, double dropout_rate = 0);

  /// Draws the weights from N(0, 2 / inputs of the layer) and sets the biases to 0.
  ///
  /// He et al., "Delving Deep into Rectifiers", 2015, section 2.2.
  void initialise(Random random);

  /// The logits [batch, classes] for `inputs` [batch, features], without dropout. Valid until the
  /// next call.
  const Matrix<Scalar>& forward(const Matrix<Scalar>& inputs);
  /// The same with dropout, whose masks are a function of `dropout_key` alone.
  const Matrix<Scalar>& forward_training(const Matrix<Scalar>& inputs, std::uint64_t dropout_key);
  /// Fills gradients() with those of the mean cross-entropy of the batch, and returns its sum.
  /// @pre forward_training() was the last call, with the same inputs
  double backward(const Matrix<Scalar>& inputs, std::span<const std::uint8_t> labels);

  [[nodiscard]] const std::vector<Index>& sizes() const { return sizes_; }
  [[nodiscard]] std::span<Scalar> parameters() { return parameters_; }
  [[nodiscard]] std::span<const Scalar> parameters() const { return parameters_; }
  [[nodiscard]] std::span<const Scalar> gradients() const { return gradients_; }

 private:
  [[nodiscard]] std::size_t layer_count() const { return sizes_.size() - 1; }
  [[nodiscard]] DenseMap<Scalar> layer(std::vector<Scalar>& numbers, std::size_t index) const;
  [[nodiscard]] Dropout dropout(std::size_t layer) const;
  const Matrix<Scalar>& propagate(const Matrix<Scalar>& inputs);

  std::vector<Index> sizes_;
  double dropout_rate_ = 0;
  std::vector<std::size_t> offsets_;  // of each layer in the two arrays
  std::vector<Scalar> parameters_;
  std::vector<Scalar> gradients_;
  std::vector<Matrix<Scalar>> outputs_;           // of each layer, in the last pass
  std::vector<Matrix<Scalar>> output_gradients_;  // of each layer
  std::vector<std::uint64_t> dropout_keys_;       // of each hidden layer, in the last training pass
  bool is_training_ = false;
};

extern template class Network<float>;
extern template class Network<double>;

}  // namespace tune::trainables
