#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tune/config.hpp>

#include "trainables/image_set.hpp"
#include "trainables/mlp/options.hpp"

namespace tune::trainables {

/// What Mlp and CudaMlp are to do: the same images in the same order, with the same chance.
struct MlpTask {
  /// @throws InvalidConfig; std::runtime_error naming a data file that is missing or damaged.
  MlpTask(const Config& config, std::uint64_t seed);

  MlpOptions options;
  std::shared_ptr<const ImageSet> images;  ///< Shared by all trials of the process.
  std::uint64_t seed = 0;                  ///< Of the trial.

  /// Widths of the layers, from the pixels to the classes.
  [[nodiscard]] std::vector<std::int64_t> sizes() const;
  /// They come first; behind them stand those for validation.
  [[nodiscard]] std::size_t training_images() const;
  /// The numbers of the training images, in the order of that epoch.
  [[nodiscard]] std::vector<std::uint32_t> order(std::int64_t epoch) const;
  /// For Network::forward_training() on the batch whose first image is number `first` of the order.
  [[nodiscard]] std::uint64_t dropout_key(std::int64_t epoch, std::size_t first) const;
  /// Of both halves, so that one network serves for both.
  /// @throws std::runtime_error naming what is missing, damaged, or does not fit the training set.
  [[nodiscard]] std::shared_ptr<const ImageSet> test_images() const;
};

}  // namespace tune::trainables
