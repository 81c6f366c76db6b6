#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <tune/trainables/mlp.hpp>

#include "trainables/image_set.hpp"
#include "trainables/mlp/device.hpp"
#include "trainables/mlp/optimizer.hpp"

namespace tune::trainables {

/// An image set in a device's memory.
struct DeviceImages {
  /// Keeps `device`, whose memory this is.
  DeviceImages(std::shared_ptr<Device> device, const ImageSet& images);

  std::shared_ptr<Device> device;
  std::size_t features = 0;
  std::size_t classes = 0;
  DeviceArray<std::uint8_t> pixels;  ///< [images, features]
  DeviceArray<std::uint8_t> labels;  ///< [images]
};

/// Trains the network of Mlp on a device: the same parameters, the same order of images, the same
/// dropout; the same results but for rounding.
class DeviceTrainer {
 public:
  struct Options {
    std::vector<std::int64_t> sizes;  ///< Widths from the inputs to the classes.
    double dropout = 0;               ///< In [0, 1).
    std::size_t batch_size = 0;
    OptimizerOptions optimizer;
  };

  DeviceTrainer(std::shared_ptr<Device> device, Options options);

  /// Trains once on each of the images whose numbers `order` has. Returns the mean loss.
  /// @param dropout_keys one for each batch, as Network::forward_training() takes it
  double train_epoch(const DeviceImages& images, std::span<const std::uint32_t> order,
                     std::span<const std::uint64_t> dropout_keys);
  /// Of the images `begin` to `end`, without dropout.
  [[nodiscard]] Evaluation evaluate(const DeviceImages& images, std::size_t begin, std::size_t end);

  [[nodiscard]] std::size_t parameter_count() const { return parameters_.size(); }
  [[nodiscard]] std::vector<float> parameters() const { return parameters_.download(); }
  void set_parameters(std::span<const float> values) { parameters_.upload(values); }
  /// As Optimizer's state() and steps().
  [[nodiscard]] std::vector<std::vector<float>> optimizer_state() const;
  void set_optimizer_state(const std::vector<std::vector<float>>& arrays, std::int64_t steps);
  [[nodiscard]] std::int64_t optimizer_steps() const { return steps_; }
  /// The gradients of the last batch.
  [[nodiscard]] std::vector<float> gradients() const { return gradients_.download(); }

 private:
  struct Pass {
    const DeviceImages& images;
    std::size_t batch_size = 0;  // of whole batches
    std::size_t rows = 0;        // of this one
    bool is_training = false;
  };

  [[nodiscard]] std::size_t layer_count() const { return options_.sizes.size() - 1; }
  [[nodiscard]] float* weights(const DeviceArray<float>& numbers, std::size_t layer) const;
  [[nodiscard]] float* biases(const DeviceArray<float>& numbers, std::size_t layer) const;
  [[nodiscard]] std::size_t width(std::size_t i) const {
    return static_cast<std::size_t>(options_.sizes[i]);
  }
  void reserve_rows(std::size_t rows);
  void begin_pass(std::span<const std::uint32_t> order);
  void fill_tables(std::span<const std::uint64_t> dropout_keys);
  void forward(const Pass& pass);
  void classify(const Pass& pass);
  void backward(const Pass& pass);
  void update();
  void train_batch(const Pass& pass);

  std::shared_ptr<Device> device_;
  Options options_;
  std::vector<std::size_t> offsets_;  // of each layer in parameters and gradients
  std::int64_t steps_ = 0;
  DeviceArray<float> parameters_;
  DeviceArray<float> gradients_;
  std::vector<DeviceArray<float>> optimizer_state_;

  // For so many rows at a time:
  std::size_t most_rows_ = 0;
  DeviceArray<float> inputs_;
  DeviceArray<std::uint8_t> labels_;
  std::vector<DeviceArray<float>> outputs_;           // of each layer
  std::vector<DeviceArray<float>> output_gradients_;  // of each layer
  DeviceArray<float> losses_;
  DeviceArray<float> hits_;

  // Of one pass over images:
  DeviceArray<std::uint32_t> order_;
  DeviceArray<std::uint32_t> batch_;  // one number: which is due
  DeviceArray<std::uint64_t> dropout_keys_;
  DeviceArray<AdamStep<float>> adam_steps_;
  DeviceArray<double> totals_;
  std::unique_ptr<Recording> whole_batch_;  // of recorded_images_
  const DeviceImages* recorded_images_ = nullptr;
};

}  // namespace tune::trainables
