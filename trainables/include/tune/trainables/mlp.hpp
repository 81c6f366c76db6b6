#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include <tune/config.hpp>
#include <tune/metrics.hpp>
#include <tune/trainable.hpp>

namespace tune::trainables {

/// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr std::string_view fashion_mnist_folder = "/usr/share/datasets/fashion-mnist";

/// How a network does on images that it was not trained on.
struct Evaluation {
  double loss = 0;      ///< Mean cross-entropy.
  double accuracy = 0;  ///< Share of images whose class is predicted, in [0, 1].
  std::int64_t images = 0;
};

/// A multilayer perceptron that classifies the images of a data set of the MNIST family.
///
/// Fully connected layers, ReLU and inverted dropout between them, softmax and cross-entropy at the
/// end, on one core. A step is an epoch over the training images in a new order; it reports
/// `train_loss` (mean over the epoch, dropout on), `val_loss` and `val_accuracy` on the last
/// `validation_images` of the training file, which are never trained on.
///
/// | key               | default              | allowed                                         |
/// |-------------------|----------------------|-------------------------------------------------|
/// | data              | fashion_mnist_folder | a folder with the four IDX files                |
/// | hidden            | 128                  | 1 to 65536, or a list of such (empty: none)     |
/// | optimizer         | "adam"               | "adam", "sgd"                                   |
/// | lr                | 0.001; sgd 0.1       | above 0                                         |
/// | momentum          | 0.9                  | [0, 1), sgd only                                |
/// | beta1, beta2      | 0.9, 0.999           | [0, 1), adam only                               |
/// | epsilon           | 1e-8                 | above 0, adam only                              |
/// | batch_size        | 128                  | at least 1; the last batch may be smaller       |
/// | dropout           | 0                    | [0, 1), the chance of a hidden unit to drop out |
/// | validation_images | 5000                 | at least 1, fewer than there are                |
///
/// Other keys and values are an InvalidConfig. All chance (weights, order, dropout) is keyed by
/// (context().seed, epoch, batch): a trial that goes on from a checkpoint trains exactly as one
/// that was never interrupted, whatever else runs beside it. The images are loaded once a process
/// and shared by all trials.
class Mlp final : public Trainable {
 public:
  Mlp();
  ~Mlp() override;

  /// @throws InvalidConfig; std::runtime_error naming a data file that is missing or damaged.
  void setup(const Config& config) override;
  Metrics step() override;
  /// Writes one file, `mlp.bin`: parameters, optimizer state and epochs done.
  /// @throws std::runtime_error naming the file and why it cannot be written.
  void save_checkpoint(const std::filesystem::path& dir) override;
  /// Nothing has changed if it throws.
  /// @throws std::runtime_error naming the file, what is wrong with it or does not fit the
  /// configuration, the value and the one wanted.
  void load_checkpoint(const std::filesystem::path& dir) override;
  bool reset_config(const Config& config) override;

  /// How the network does on the data set's test images, which nothing else here looks at.
  /// @throws std::runtime_error naming a data file that is missing or damaged.
  [[nodiscard]] Evaluation evaluate_test() const;

  /// Loads the training images before the first trial wants them, so that a missing data set is
  /// noticed early. @throws std::runtime_error naming the file that is missing or damaged.
  static void preload(const std::filesystem::path& folder);

 private:
  struct Model;
  std::unique_ptr<Model> model_;  // keeps Eigen out of this header
};

}  // namespace tune::trainables
