#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tune/random.hpp>

#include "trainables/image_set.hpp"
#include "trainables/mlp/layers.hpp"

namespace tune::trainables {

/// Some images of a set, ready for the network.
template <class Scalar>
struct Batch {
  Matrix<Scalar> inputs;             ///< [batch, pixels], 0 to 1.
  std::vector<std::uint8_t> labels;  ///< [batch]
};

/// The numbers 0 to count - 1 in random order: Fisher and Yates' shuffle.
[[nodiscard]] std::vector<std::uint32_t> shuffled_order(std::size_t count, Random random);

/// Fills `batch` with the images of those indices, in that order.
void gather_batch(const ImageSet& images, std::span<const std::uint32_t> indices,
                  Batch<float>& batch);

}  // namespace tune::trainables
