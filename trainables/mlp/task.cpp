#include "trainables/mlp/task.hpp"

#include <stdexcept>
#include <string>

#include <tune/error.hpp>
#include <tune/random.hpp>

#include "trainables/mlp/batches.hpp"

namespace tune::trainables {

MlpTask::MlpTask(const Config& config, std::uint64_t trial_seed)
    : options(mlp_options(config)),
      images(shared_image_set(options.data, ImageSplit::train)),
      seed(trial_seed) {
  if (static_cast<std::size_t>(options.validation_images) >= images->size()) {
    throw InvalidConfig("mlp: validation_images is " + std::to_string(options.validation_images) +
                        ", allowed is 1 to " + std::to_string(images->size() - 1) + " of the " +
                        std::to_string(images->size()) + " training images");
  }
}

std::vector<std::int64_t> MlpTask::sizes() const {
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(images->image_size)};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  sizes.push_back(static_cast<std::int64_t>(images->classes));
  return sizes;
}

std::size_t MlpTask::training_images() const {
  return images->size() - static_cast<std::size_t>(options.validation_images);
}

std::vector<std::uint32_t> MlpTask::order(std::int64_t epoch) const {
  return shuffled_order(training_images(),
                        Random(seed, "mlp/order", static_cast<std::uint64_t>(epoch)));
}

std::uint64_t MlpTask::dropout_key(std::int64_t epoch, std::size_t first) const {
  return Random(seed, "mlp/dropout", static_cast<std::uint64_t>(epoch), first).next();
}

std::shared_ptr<const ImageSet> MlpTask::test_images() const {
  std::shared_ptr<const ImageSet> test = shared_image_set(options.data, ImageSplit::test);
  if (test->image_size != images->image_size || test->classes > images->classes) {
    throw std::runtime_error(options.data.string() + ": test images of " +
                             std::to_string(test->image_size) + " pixels in " +
                             std::to_string(test->classes) + " classes, want " +
                             std::to_string(images->image_size) + " pixels and at most " +
                             std::to_string(images->classes));
  }
  return test;
}

}  // namespace tune::trainables
