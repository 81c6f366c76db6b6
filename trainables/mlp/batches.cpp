#include "trainables/mlp/batches.hpp"

#include <numeric>
#include <utility>

namespace tune::trainables {

std::vector<std::uint32_t> shuffled_order(std::size_t count, Random random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t left = count; left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left))]);
  }
  return order;
}

void gather_batch(const ImageSet& images, std::span<const std::uint32_t> indices,
                  Batch<float>& batch) {
  const auto width = static_cast<Index>(images.image_size);
  batch.inputs.resize(static_cast<Index>(indices.size()), width);
  batch.labels.resize(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::span<const std::uint8_t> image = images.image(indices[i]);
    float* const row = batch.inputs.data() + static_cast<Index>(i) * width;
    for (std::size_t pixel = 0; pixel < image.size(); ++pixel) {
      row[pixel] = static_cast<float>(image[pixel]) * (1.0F / 255.0F);
    }
    batch.labels[i] = images.labels[indices[i]];
  }
}

}  // namespace tune::trainables
