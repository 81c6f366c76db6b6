#include "trainables/mlp/device_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>

#include "support/host_device.hpp"
#include "trainables/mlp/batches.hpp"
#include "trainables/mlp/network.hpp"

// What the kernels compute, in loops on the CPU: DeviceTrainer and the bodies of the kernels are
// those that run on a GPU. The network that they are compared with has its gradients checked by
// finite differences.
namespace tune::trainables {
namespace {

ImageSet random_images(std::size_t count, std::size_t pixels, std::size_t classes) {
  Random random(3, "images");
  ImageSet images{.image_size = pixels, .classes = classes, .pixels = {}, .labels = {}};
  for (std::size_t i = 0; i < count * pixels; ++i) {
    images.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    images.labels.push_back(static_cast<std::uint8_t>(random.below(classes)));
  }
  return images;
}

struct Case {
  std::vector<std::int64_t> hidden;
  double dropout;
  std::size_t batch_size;
  OptimizerOptions optimizer;
};

std::string describe(const Case& c) {
  return std::to_string(c.hidden.size()) + " hidden layers, dropout " + std::to_string(c.dropout) +
         ", batches of " + std::to_string(c.batch_size) +
         (std::holds_alternative<SgdOptions>(c.optimizer) ? ", sgd" : ", adam");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& hidden : std::vector<std::vector<std::int64_t>>{{}, {9}, {8, 5}}) {
    for (const double dropout : {0.0, 0.4}) {
      for (const std::size_t batch_size : {1UL, 7UL, 21UL, 50UL}) {
        cases.push_back({hidden, dropout, batch_size, SgdOptions{.lr = 0.05, .momentum = 0.9}});
        cases.push_back({hidden, dropout, batch_size, AdamOptions{.lr = 0.01}});
      }
    }
  }
  return cases;
}

/// The same training twice: on the CPU's network, and by a DeviceTrainer.
class Twins {
 public:
  static constexpr std::size_t training_images = 21;

  Twins(const Case& c, std::shared_ptr<Device> device)
      : case_(c),
        sizes_(layer_sizes(c.hidden)),
        network_({sizes_.begin(), sizes_.end()}, c.dropout),
        device_images_(device, images_),
        trainer_(std::move(device), {.sizes = sizes_,
                                     .dropout = c.dropout,
                                     .batch_size = c.batch_size,
                                     .optimizer = c.optimizer}) {
    network_.initialise(Random(5, "weights"));
    optimizer_ = make_optimizer<float>(c.optimizer, network_.parameters().size());
    trainer_.set_parameters(network_.parameters());
  }

  double train_network(std::uint64_t epoch) {
    const auto order = shuffled_order(training_images, Random(7, "order", epoch));
    const auto keys = dropout_keys(epoch);
    Batch<float> batch;
    double loss = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t first = i * case_.batch_size;
      const std::size_t count = std::min(case_.batch_size, order.size() - first);
      gather_batch(images_, std::span(order).subspan(first, count), batch);
      network_.forward_training(batch.inputs, keys[i]);
      loss += network_.backward(batch.inputs, batch.labels);
      optimizer_->step(network_.parameters(), network_.gradients());
    }
    return loss / static_cast<double>(training_images);
  }

  double train_device(std::uint64_t epoch) {
    return trainer_.train_epoch(device_images_,
                                shuffled_order(training_images, Random(7, "order", epoch)),
                                dropout_keys(epoch));
  }

  [[nodiscard]] Evaluation evaluate_network() {
    std::vector<std::uint32_t> rest(images_.size() - training_images);
    std::iota(rest.begin(), rest.end(), static_cast<std::uint32_t>(training_images));
    Batch<float> batch;
    gather_batch(images_, rest, batch);
    const Matrix<float>& logits = network_.forward(batch.inputs);
    const auto count = static_cast<double>(rest.size());
    return {.loss = softmax_cross_entropy<float>(logits, batch.labels, nullptr) / count,
            .accuracy = static_cast<double>(count_correct(logits, batch.labels)) / count,
            .images = std::ssize(rest)};
  }

  [[nodiscard]] Evaluation evaluate_device() {
    return trainer_.evaluate(device_images_, training_images, images_.size());
  }

  Network<float>& network() { return network_; }
  Optimizer<float>& optimizer() { return *optimizer_; }
  DeviceTrainer& trainer() { return trainer_; }

 private:
  static std::vector<std::int64_t> layer_sizes(const std::vector<std::int64_t>& hidden) {
    std::vector<std::int64_t> sizes{12};
    sizes.insert(sizes.end(), hidden.begin(), hidden.end());
    sizes.push_back(4);
    return sizes;
  }

  [[nodiscard]] std::vector<std::uint64_t> dropout_keys(std::uint64_t epoch) const {
    std::vector<std::uint64_t> keys;
    for (std::size_t first = 0; first < training_images; first += case_.batch_size) {
      keys.push_back(Random(7, "dropout", epoch, first).next());
    }
    return keys;
  }

  Case case_;
  ImageSet images_ = random_images(30, 12, 4);
  std::vector<std::int64_t> sizes_;
  Network<float> network_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  DeviceImages device_images_;
  DeviceTrainer trainer_;
};

double largest_difference(std::span<const float> left, std::span<const float> right) {
  REQUIRE(left.size() == right.size());
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(left[i] - right[i])));
  }
  return largest;
}

TEST_CASE("device_trainer: trains as the network on the CPU does", "[mlp][device]") {
  for (const Case& c : all_cases()) {
    INFO(describe(c));
    const auto device = std::make_shared<test::HostDevice>();
    Twins twins(c, device);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      const double loss = twins.train_network(epoch);
      CHECK(twins.train_device(epoch) == Approx(loss).epsilon(1e-5));
      CHECK(largest_difference(twins.trainer().gradients(), twins.network().gradients()) < 1e-5);
      // Adam divides by the root of small squares, which magnifies rounding.
      CHECK(largest_difference(twins.trainer().parameters(), twins.network().parameters()) < 1e-4);
    }
    const Evaluation wanted = twins.evaluate_network();
    const Evaluation found = twins.evaluate_device();
    CHECK(found.loss == Approx(wanted.loss).epsilon(1e-4));
    CHECK(found.accuracy == Approx(wanted.accuracy));
    CHECK(found.images == wanted.images);
    CHECK(twins.trainer().optimizer_steps() == twins.optimizer().steps());
    const std::vector<std::vector<float>> state = twins.trainer().optimizer_state();
    const std::vector<std::span<float>> wanted_state = twins.optimizer().state();
    REQUIRE(state.size() == wanted_state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      CHECK(largest_difference(state[i], wanted_state[i]) < 1e-4);
    }
    // Whole batches are done by one recording, but for the very first.
    const std::size_t whole = Twins::training_images / c.batch_size;
    CHECK(device->plays() == (whole < 2 ? 0 : 3 * whole - 1));
  }
}

TEST_CASE("device_trainer: a recorded step gives the same bits as one that is not",
          "[mlp][device]") {
  for (const Case& c : all_cases()) {
    INFO(describe(c));
    Twins recorded(c, std::make_shared<test::HostDevice>(true));
    Twins plain(c, std::make_shared<test::HostDevice>(false));
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      CHECK(recorded.train_device(epoch) == plain.train_device(epoch));
      (void)recorded.evaluate_device();  // needs more rows: what was recorded is of no use then
      CHECK(recorded.trainer().parameters() == plain.trainer().parameters());
    }
  }
}

TEST_CASE("device_trainer: goes on from the state of another", "[mlp][device]") {
  const Case c{{8, 5}, 0.4, 7, AdamOptions{.lr = 0.01}};
  Twins first(c, std::make_shared<test::HostDevice>());
  Twins second(c, std::make_shared<test::HostDevice>());
  (void)first.train_device(0);
  second.trainer().set_parameters(first.trainer().parameters());
  second.trainer().set_optimizer_state(first.trainer().optimizer_state(),
                                       first.trainer().optimizer_steps());
  CHECK(first.train_device(1) == second.train_device(1));
  CHECK(first.trainer().parameters() == second.trainer().parameters());
}

TEST_CASE("device_trainer: NaN has no class and stays NaN", "[mlp][device]") {
  Classify op;
  const std::vector<float> biases(3, 0.0F);
  op.biases = biases.data();
  op.classes = 3;
  op.rows = 1;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  float loss = 0;
  float hit = 1;
  std::vector<float> row{nan, nan, nan};
  op.classify_row(row.data(), row.data(), 0, true, loss, hit);
  CHECK(hit == 0);
  CHECK(std::isnan(loss));
  row = {nan, 5, 1};
  op.classify_row(row.data(), row.data(), 1, true, loss, hit);
  CHECK(hit == 1);
  CHECK(std::isnan(loss));
}

TEST_CASE("device_trainer: large logits do not overflow", "[mlp][device]") {
  Classify op;
  const std::vector<float> biases{0, 100, -50};
  op.biases = biases.data();
  op.classes = 3;
  op.rows = 4;
  float loss = 0;
  float hit = 0;
  std::vector<float> row{1000, 700, 900};
  op.classify_row(row.data(), row.data(), 2, true, loss, hit);
  CHECK(loss == 150.0F);
  CHECK(hit == 0);
  CHECK(row == std::vector<float>{0.25F, 0, -0.25F});
}

TEST_CASE("device_trainer: gives its memory back", "[mlp][device]") {
  const auto device = std::make_shared<test::HostDevice>();
  {
    Twins twins({{8}, 0.1, 7, SgdOptions{}}, device);
    (void)twins.train_device(0);
    (void)twins.evaluate_device();
    CHECK(device->allocations() > 10);
  }
  CHECK(device->allocations() == 0);
}

TEST_CASE("device_trainer: refuses what does not fit", "[mlp][device]") {
  const auto device = std::make_shared<test::HostDevice>();
  CHECK_THROWS_WITH(DeviceTrainer(device, {.sizes = {2, 2}, .optimizer = SgdOptions{}}),
                    Catch::Contains("batch_size is 0"));
  const ImageSet images = random_images(5, 2, 2);
  const DeviceImages there(device, images);
  DeviceTrainer trainer(device, {.sizes = {2, 2}, .batch_size = 2, .optimizer = SgdOptions{}});
  CHECK_THROWS_WITH(trainer.train_epoch(there, std::vector<std::uint32_t>{0, 1, 2},
                                        std::vector<std::uint64_t>{1}),
                    Catch::Contains("1 dropout keys for 3 images"));
}

}  // namespace
}  // namespace tune::trainables
