#include "trainables/mlp/network.hpp"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace tune::trainables {

template <class Scalar>
Network<Scalar>::Network(std::vector<Index> sizes, double dropout_rate)
    : sizes_(std::move(sizes)), dropout_rate_(dropout_rate) {
  if (sizes_.size() < 2) {
    throw std::invalid_argument("network: " + std::to_string(sizes_.size()) +
                                " widths, want at least those of inputs and outputs");
  }
  for (const Index size : sizes_) {
    if (size < 1) {
      throw std::invalid_argument("network: a layer's width is " + std::to_string(size) +
                                  ", want at least 1");
    }
  }
  if (!(dropout_rate >= 0 && dropout_rate < 1)) {
    throw std::invalid_argument("network: dropout is " + std::to_string(dropout_rate) +
                                ", allowed is [0, 1)");
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < layer_count(); ++i) {
    offsets_.push_back(count);
    count += static_cast<std::size_t>((sizes_[i] + 1) * sizes_[i + 1]);
  }
  parameters_.assign(count, Scalar(0));
  gradients_.assign(count, Scalar(0));
  outputs_.resize(layer_count());
  output_gradients_.resize(layer_count());
  dropout_keys_.resize(layer_count() - 1);
}

template <class Scalar>
void Network<Scalar>::initialise(Random random) {
  for (std::size_t i = 0; i < layer_count(); ++i) {
    DenseMap<Scalar> dense = layer(parameters_, i);
    const double deviation = std::sqrt(2.0 / static_cast<double>(sizes_[i]));
    for (Index row = 0; row < dense.weights.rows(); ++row) {
      for (Index column = 0; column < dense.weights.cols(); ++column) {
        dense.weights(row, column) = static_cast<Scalar>(deviation * random.normal());
      }
    }
    dense.biases.setZero();
  }
}

template <class Scalar>
const Matrix<Scalar>& Network<Scalar>::forward(const Matrix<Scalar>& inputs) {
  is_training_ = false;
  return propagate(inputs);
}

template <class Scalar>
const Matrix<Scalar>& Network<Scalar>::forward_training(const Matrix<Scalar>& inputs,
                                                        std::uint64_t dropout_key) {
  is_training_ = true;
  Random keys(dropout_key);
  for (std::uint64_t& key : dropout_keys_) key = keys.next();
  return propagate(inputs);
}

template <class Scalar>
const Matrix<Scalar>& Network<Scalar>::propagate(const Matrix<Scalar>& inputs) {
  const Matrix<Scalar>* below = &inputs;
  for (std::size_t i = 0; i < layer_count(); ++i) {
    Matrix<Scalar>& output = outputs_[i];
    dense_forward(*below, layer(parameters_, i), output);
    if (i + 1 < layer_count()) {
      relu_forward(output);
      if (is_training_) apply_dropout(output, dropout(i));
    }
    below = &output;
  }
  return *below;
}

template <class Scalar>
double Network<Scalar>::backward(const Matrix<Scalar>& inputs,
                                 std::span<const std::uint8_t> labels) {
  const double loss = softmax_cross_entropy(outputs_.back(), labels, &output_gradients_.back());
  for (std::size_t i = layer_count(); i-- > 0;) {
    DenseMap<Scalar> gradients = layer(gradients_, i);
    dense_gradients(i == 0 ? inputs : outputs_[i - 1], output_gradients_[i], gradients);
    if (i == 0) break;
    Matrix<Scalar>& below = output_gradients_[i - 1];
    dense_backward(layer(parameters_, i), output_gradients_[i], below);
    if (is_training_) apply_dropout(below, dropout(i - 1));
    relu_backward(outputs_[i - 1], below);
  }
  return loss;
}

template <class Scalar>
DenseMap<Scalar> Network<Scalar>::layer(std::vector<Scalar>& numbers, std::size_t index) const {
  const Index inputs = sizes_[index];
  const Index outputs = sizes_[index + 1];
  Scalar* const weights = numbers.data() + offsets_[index];
  return {.weights = Eigen::Map<Matrix<Scalar>>(weights, inputs, outputs),
          .biases = Eigen::Map<RowVector<Scalar>>(weights + inputs * outputs, outputs)};
}

template <class Scalar>
Dropout Network<Scalar>::dropout(std::size_t layer) const {
  return {.rate = dropout_rate_, .key = dropout_keys_[layer]};
}

template class Network<float>;
template class Network<double>;

}  // namespace tune::trainables
