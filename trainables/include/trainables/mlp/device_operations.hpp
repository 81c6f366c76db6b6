#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "trainables/mlp/arithmetic.hpp"

/// What a device computes in one step of training, and what one element, row or column of it is.
///
/// A kernel calls the body once for each of them; a loop that does the same on the CPU computes the
/// same, and so the mathematics is tested without a GPU. All matrices are row-major. All pointers
/// are the device's. What differs from batch to batch stands in tables, and `batch` says which of
/// them is due: so one recorded step serves all batches.
namespace tune::trainables {

/// inputs[row] = image order[batch * batch_size + row], scaled to 0 to 1; its label beside it.
struct GatherBatch {
  const std::uint8_t* pixels = nullptr;  ///< [images, features]
  const std::uint8_t* labels = nullptr;  ///< [images]
  const std::uint32_t* order = nullptr;
  const std::uint32_t* batch = nullptr;
  std::size_t batch_size = 0;  ///< Of whole batches.
  std::size_t rows = 0;        ///< Of this one.
  std::size_t features = 0;
  float* inputs = nullptr;                ///< [rows, features]
  std::uint8_t* chosen_labels = nullptr;  ///< [rows]

  [[nodiscard]] TUNE_HOST_DEVICE std::size_t image(std::size_t row) const {
    return order[*batch * batch_size + row];
  }
  [[nodiscard]] static TUNE_HOST_DEVICE float input(std::uint8_t pixel) {
    return static_cast<float>(pixel) * (1.0F / 255.0F);
  }
};

/// product = left * right, either of which may stand transposed in memory.
struct Multiply {
  const float* left = nullptr;   ///< [rows, inner], or [inner, rows] if transposed
  const float* right = nullptr;  ///< [inner, columns], or [columns, inner] if transposed
  float* product = nullptr;      ///< [rows, columns]
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;
  bool is_left_transposed = false;
  bool is_right_transposed = false;

  [[nodiscard]] TUNE_HOST_DEVICE float left_at(std::size_t row, std::size_t i) const {
    return left[is_left_transposed ? i * rows + row : row * inner + i];
  }
  [[nodiscard]] TUNE_HOST_DEVICE float right_at(std::size_t i, std::size_t column) const {
    return right[is_right_transposed ? column * inner + i : i * columns + column];
  }
};

/// values = dropout(relu(values + biases)), in place.
struct HiddenForward {
  float* values = nullptr;        ///< [rows, columns]
  const float* biases = nullptr;  ///< [columns]
  std::size_t rows = 0;
  std::size_t columns = 0;
  const std::uint64_t* keys = nullptr;  ///< [batches, layers] of dropout; null: none drops out.
  const std::uint32_t* batch = nullptr;
  std::size_t layers = 0;
  std::size_t layer = 0;
  std::uint32_t threshold = 0;
  float scale = 1;

  [[nodiscard]] TUNE_HOST_DEVICE std::uint64_t key() const {
    return keys == nullptr ? 0 : keys[*batch * layers + layer];
  }
  [[nodiscard]] static TUNE_HOST_DEVICE float kept(float value, float bias) {
    return relu(value + bias);
  }
  [[nodiscard]] TUNE_HOST_DEVICE float dropped(float value, float bias, std::uint64_t layer_key,
                                               std::size_t index) const {
    return drop(relu(value + bias), random_bits(layer_key, index), threshold, scale);
  }
};

/// Turns the gradient behind ReLU and dropout into the one before both, in place. What dropped out
/// has activation 0, so the bits of the dropout are not needed again.
struct HiddenBackward {
  const float* activations = nullptr;  ///< [rows, columns]
  float* gradient = nullptr;           ///< [rows, columns]
  std::size_t rows = 0;
  std::size_t columns = 0;
  float scale = 1;  ///< Of the dropout.

  [[nodiscard]] TUNE_HOST_DEVICE float value(float activation, float behind) const {
    return relu_gradient(activation, behind * scale);
  }
};

/// Biases, softmax and cross-entropy of the last layer, row by row.
struct Classify {
  const float* logits = nullptr;         ///< [rows, classes], without the biases
  const float* biases = nullptr;         ///< [classes]
  const std::uint8_t* labels = nullptr;  ///< [rows]
  std::size_t rows = 0;
  std::size_t classes = 0;
  float* gradient = nullptr;  ///< [rows, classes] of the batch's mean loss; null: not wanted.
  float* losses = nullptr;    ///< [rows], -log(probability of the label)
  float* hits = nullptr;      ///< [rows], 1 where the label has the highest logit, else 0

  /// One row, without its biases. `row`, which may be the same memory, is overwritten; if wanted,
  /// it becomes the gradient. It may be in registers, too: no index into it is computed.
  TUNE_HOST_DEVICE void classify_row(const float* row_logits, float* row, std::uint32_t label,
                                     bool wants_gradient, float& loss, float& hit) const {
    const float of_label = row_logits[label] + biases[label];
    const auto count = static_cast<std::uint32_t>(classes);
    std::uint32_t best = count;  // a row without a number above -infinity has none
    float highest = -INFINITY;
    for (std::uint32_t c = 0; c < count; ++c) {
      row[c] = row_logits[c] + biases[c];
      if (row[c] > highest) {
        best = c;
        highest = row[c];
      }
    }
    hit = best == label ? 1.0F : 0.0F;
    const float to_label = of_label - highest;
    float sum = 0;
    for (std::uint32_t c = 0; c < count; ++c) {
      row[c] = std::exp(row[c] - highest);
      sum += row[c];
    }
    loss = std::log(sum) - to_label;
    if (!wants_gradient) return;
    // Two divisions in all: a GPU takes as long for one as for ten products.
    const float scale = 1 / sum;
    const float share = 1 / static_cast<float>(rows);
    for (std::uint32_t c = 0; c < count; ++c) {
      row[c] = cross_entropy_gradient(row[c] * scale, c == label, share);
    }
  }
};

/// sums = the columns' sums of a matrix, each added up in an order that depends on its size alone.
struct SumColumns {
  const float* values = nullptr;  ///< [rows, columns]
  std::size_t rows = 0;
  std::size_t columns = 0;
  float* sums = nullptr;  ///< [columns]
};

/// totals[0] += the sum of losses, totals[1] += that of hits, in double.
struct AddUp {
  const float* losses = nullptr;  ///< [rows]
  const float* hits = nullptr;    ///< [rows]
  std::size_t rows = 0;
  double* totals = nullptr;  ///< [2]
};

/// One step of gradient descent with momentum.
struct SgdUpdate {
  float* parameters = nullptr;
  float* velocity = nullptr;
  const float* gradients = nullptr;
  std::size_t count = 0;
  float lr = 0;
  float momentum = 0;

  TUNE_HOST_DEVICE void apply(float& parameter, float& speed, float gradient) const {
    sgd_update(parameter, speed, gradient, lr, momentum);
  }
};

/// One step of Adam.
struct AdamUpdate {
  float* parameters = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  const float* gradients = nullptr;
  std::size_t count = 0;
  const AdamStep<float>* steps = nullptr;  ///< [batches]
  const std::uint32_t* batch = nullptr;

  [[nodiscard]] TUNE_HOST_DEVICE AdamStep<float> step() const { return steps[*batch]; }
};

}  // namespace tune::trainables
