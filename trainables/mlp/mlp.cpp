#include <tune/trainables/mlp.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tune/error.hpp>
#include <tune/random.hpp>

#include "trainables/image_set.hpp"
#include "trainables/mlp/batches.hpp"
#include "trainables/mlp/checkpoint_file.hpp"
#include "trainables/mlp/network.hpp"
#include "trainables/mlp/optimizer.hpp"
#include "trainables/mlp/options.hpp"

namespace tune::trainables {
namespace {

constexpr std::string_view checkpoint_file_name = "mlp.bin";

std::vector<Index> layer_sizes(const MlpOptions& options, const ImageSet& images) {
  std::vector<Index> sizes{static_cast<Index>(images.image_size)};
  for (const std::int64_t width : options.hidden) sizes.push_back(width);
  sizes.push_back(static_cast<Index>(images.classes));
  return sizes;
}

/// Loss and accuracy of the network on the images `begin` to `end`.
Evaluation evaluate(Network<float>& network, const ImageSet& images, std::size_t begin,
                    std::size_t end) {
  constexpr std::size_t batch_size = 500;
  std::vector<std::uint32_t> indices(end - begin);
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(begin));
  Batch<float> batch;
  double loss = 0;
  std::int64_t correct = 0;
  for (std::size_t first = 0; first < indices.size(); first += batch_size) {
    const std::size_t count = std::min(batch_size, indices.size() - first);
    gather_batch(images, std::span(indices).subspan(first, count), batch);
    const Matrix<float>& logits = network.forward(batch.inputs);
    loss += softmax_cross_entropy<float>(logits, batch.labels, nullptr);
    correct += count_correct(logits, batch.labels);
  }
  const auto total = static_cast<double>(indices.size());
  return {.loss = loss / total,
          .accuracy = static_cast<double>(correct) / total,
          .images = static_cast<std::int64_t>(indices.size())};
}

std::string join(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += '-';
    text += std::to_string(size);
  }
  return text;
}

}  // namespace

struct Mlp::Model {
  MlpOptions options;
  std::shared_ptr<const ImageSet> images;  // shared by all trials of the process
  std::uint64_t seed = 0;
  std::int64_t epochs = 0;
  Network<float> network;
  std::unique_ptr<Optimizer<float>> optimizer;

  Model(const Config& config, std::uint64_t trial_seed)
      : options(mlp_options(config)),
        images(shared_image_set(options.data, ImageSplit::train)),
        seed(trial_seed),
        network(layer_sizes(options, *images), options.dropout),
        optimizer(make_optimizer<float>(options.optimizer, network.parameters().size())) {
    if (static_cast<std::size_t>(options.validation_images) >= images->size()) {
      throw InvalidConfig("mlp: validation_images is " + std::to_string(options.validation_images) +
                          ", allowed is 1 to " + std::to_string(images->size() - 1) + " of the " +
                          std::to_string(images->size()) + " training images");
    }
    network.initialise(Random(seed, "mlp/weights"));
  }

  [[nodiscard]] std::size_t training_images() const {
    return images->size() - static_cast<std::size_t>(options.validation_images);
  }

  /// Returns the mean loss over the epoch.
  double train_epoch() {
    const auto epoch = static_cast<std::uint64_t>(epochs);
    const std::vector<std::uint32_t> order =
        shuffled_order(training_images(), Random(seed, "mlp/order", epoch));
    const auto batch_size = static_cast<std::size_t>(options.batch_size);
    Batch<float> batch;
    double loss = 0;
    for (std::size_t first = 0; first < order.size(); first += batch_size) {
      const std::size_t count = std::min(batch_size, order.size() - first);
      gather_batch(*images, std::span(order).subspan(first, count), batch);
      network.forward_training(batch.inputs, Random(seed, "mlp/dropout", epoch, first).next());
      loss += network.backward(batch.inputs, batch.labels);
      optimizer->step(network.parameters(), network.gradients());
    }
    ++epochs;
    return loss / static_cast<double>(order.size());
  }
};

Mlp::Mlp() = default;
Mlp::~Mlp() = default;

void Mlp::setup(const Config& config) { model_ = std::make_unique<Model>(config, context().seed); }

Metrics Mlp::step() {
  const double train_loss = model_->train_epoch();
  const Evaluation validation =
      evaluate(model_->network, *model_->images, model_->training_images(), model_->images->size());
  return {{"train_loss", train_loss},
          {"val_loss", validation.loss},
          {"val_accuracy", validation.accuracy}};
}

void Mlp::save_checkpoint(const std::filesystem::path& dir) {
  const std::span<const float> parameters = model_->network.parameters();
  const std::vector<Index>& sizes = model_->network.sizes();
  MlpState state{.sizes = {sizes.begin(), sizes.end()},
                 .optimizer = std::string(model_->optimizer->name()),
                 .epochs = model_->epochs,
                 .optimizer_steps = model_->optimizer->steps(),
                 .parameters = {parameters.begin(), parameters.end()},
                 .optimizer_state = {}};
  for (const std::span<float> values : model_->optimizer->state()) {
    state.optimizer_state.emplace_back(values.begin(), values.end());
  }
  write_checkpoint_file(dir / checkpoint_file_name, state);
}

void Mlp::load_checkpoint(const std::filesystem::path& dir) {
  const std::filesystem::path file = dir / checkpoint_file_name;
  const MlpState state = read_checkpoint_file(file);
  const auto require_equal = [&](const std::string& what, const std::string& found,
                                 const std::string& wanted) {
    if (found == wanted) return;
    throw std::runtime_error("checkpoint " + file.string() + ": " + what + " " + found + ", want " +
                             wanted + " as configured");
  };
  Network<float>& network = model_->network;
  Optimizer<float>& optimizer = *model_->optimizer;
  const std::vector<std::span<float>> arrays = optimizer.state();
  require_equal("layer widths", join(state.sizes),
                join({network.sizes().begin(), network.sizes().end()}));
  require_equal("optimizer", state.optimizer, std::string(optimizer.name()));
  require_equal("number of parameters", std::to_string(state.parameters.size()),
                std::to_string(network.parameters().size()));
  require_equal("number of optimizer arrays", std::to_string(state.optimizer_state.size()),
                std::to_string(arrays.size()));

  std::ranges::copy(state.parameters, network.parameters().begin());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::ranges::copy(state.optimizer_state[i], arrays[i].begin());
  }
  optimizer.set_steps(state.optimizer_steps);
  model_->epochs = state.epochs;
}

bool Mlp::reset_config(const Config& config) {
  setup(config);  // builds everything anew; only the shared images are worth keeping
  return true;
}

Evaluation Mlp::evaluate_test() const {
  const std::shared_ptr<const ImageSet> test =
      shared_image_set(model_->options.data, ImageSplit::test);
  const ImageSet& train = *model_->images;
  if (test->image_size != train.image_size || test->classes > train.classes) {
    throw std::runtime_error(
        model_->options.data.string() + ": test images of " + std::to_string(test->image_size) +
        " pixels in " + std::to_string(test->classes) + " classes, want " +
        std::to_string(train.image_size) + " pixels and at most " + std::to_string(train.classes));
  }
  return evaluate(model_->network, *test, 0, test->size());
}

void Mlp::preload(const std::filesystem::path& folder) {
  (void)shared_image_set(folder, ImageSplit::train);
}

}  // namespace tune::trainables
