#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace tune::trainables {

/// Images with a label each, as read from two IDX files. Immutable once loaded.
struct ImageSet {
  std::size_t image_size = 0;        ///< Pixels of one image.
  std::size_t classes = 0;           ///< One more than the highest label.
  std::vector<std::uint8_t> pixels;  ///< [images, image_size], 0 to 255.
  std::vector<std::uint8_t> labels;  ///< [images]

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] std::span<const std::uint8_t> image(std::size_t index) const {
    return std::span(pixels).subspan(index * image_size, image_size);
  }
};

/// The two halves that data sets of the MNIST family come in.
enum class ImageSplit {
  train,  ///< train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz
  test,   ///< t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz
};

/// Reads one half of the data set in `folder`.
/// @throws std::runtime_error naming the file and what is wrong with it.
[[nodiscard]] ImageSet load_image_set(const std::filesystem::path& folder, ImageSplit split);

/// The same, loaded once a process and shared by all trials. Safe from several threads: those who
/// ask while it is being loaded wait. A failure is not remembered.
[[nodiscard]] std::shared_ptr<const ImageSet> shared_image_set(const std::filesystem::path& folder,
                                                               ImageSplit split);

}  // namespace tune::trainables
