#include <tune/trainables/mlp.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <tune/random.hpp>

#include "trainables/image_set.hpp"
#include "trainables/mlp/batches.hpp"
#include "trainables/mlp/checkpoint_file.hpp"
#include "trainables/mlp/network.hpp"
#include "trainables/mlp/optimizer.hpp"
#include "trainables/mlp/task.hpp"

namespace tune::trainables {
namespace {

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

}  // namespace

struct Mlp::Model {
  MlpTask task;
  std::int64_t epochs = 0;
  Network<float> network;
  std::unique_ptr<Optimizer<float>> optimizer;

  Model(const Config& config, std::uint64_t seed) : task(config, seed) {
    const std::vector<std::int64_t> sizes = task.sizes();
    network = Network<float>({sizes.begin(), sizes.end()}, task.options.dropout);
    network.initialise(Random(seed, "mlp/weights"));
    optimizer = make_optimizer<float>(task.options.optimizer, network.parameters().size());
  }

  /// Returns the mean loss over the epoch.
  double train_epoch() {
    const std::vector<std::uint32_t> order = task.order(epochs);
    const auto batch_size = static_cast<std::size_t>(task.options.batch_size);
    Batch<float> batch;
    double loss = 0;
    for (std::size_t first = 0; first < order.size(); first += batch_size) {
      const std::size_t count = std::min(batch_size, order.size() - first);
      gather_batch(*task.images, std::span(order).subspan(first, count), batch);
      network.forward_training(batch.inputs, task.dropout_key(epochs, first));
      loss += network.backward(batch.inputs, batch.labels);
      optimizer->step(network.parameters(), network.gradients());
    }
    ++epochs;
    return loss / static_cast<double>(order.size());
  }

  [[nodiscard]] MlpShape shape() const {
    return {.sizes = task.sizes(),
            .optimizer = std::string(optimizer->name()),
            .parameters = network.parameters().size(),
            .optimizer_arrays = optimizer->state().size()};
  }
};

Mlp::Mlp() = default;
Mlp::~Mlp() = default;

void Mlp::setup(const Config& config) { model_ = std::make_unique<Model>(config, context().seed); }

Metrics Mlp::step() {
  const double train_loss = model_->train_epoch();
  const MlpTask& task = model_->task;
  const Evaluation validation =
      evaluate(model_->network, *task.images, task.training_images(), task.images->size());
  return {{"train_loss", train_loss},
          {"val_loss", validation.loss},
          {"val_accuracy", validation.accuracy}};
}

void Mlp::save_checkpoint(const std::filesystem::path& dir) {
  const std::span<const float> parameters = model_->network.parameters();
  MlpState state{.sizes = model_->task.sizes(),
                 .optimizer = std::string(model_->optimizer->name()),
                 .epochs = model_->epochs,
                 .optimizer_steps = model_->optimizer->steps(),
                 .parameters = {parameters.begin(), parameters.end()},
                 .optimizer_state = {}};
  for (const std::span<float> values : model_->optimizer->state()) {
    state.optimizer_state.emplace_back(values.begin(), values.end());
  }
  write_checkpoint_file(dir / mlp_checkpoint_name, state);
}

void Mlp::load_checkpoint(const std::filesystem::path& dir) {
  const MlpState state = read_matching_checkpoint(dir / mlp_checkpoint_name, model_->shape());
  std::ranges::copy(state.parameters, model_->network.parameters().begin());
  const std::vector<std::span<float>> arrays = model_->optimizer->state();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    std::ranges::copy(state.optimizer_state[i], arrays[i].begin());
  }
  model_->optimizer->set_steps(state.optimizer_steps);
  model_->epochs = state.epochs;
}

bool Mlp::reset_config(const Config& config) {
  setup(config);  // builds everything anew; only the shared images are worth keeping
  return true;
}

Evaluation Mlp::evaluate_test() const {
  const std::shared_ptr<const ImageSet> test = model_->task.test_images();
  return evaluate(model_->network, *test, 0, test->size());
}

void Mlp::preload(const std::filesystem::path& folder) {
  (void)shared_image_set(folder, ImageSplit::train);
}

}  // namespace tune::trainables
