#include "trainables/mlp/device_trainer.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <tune/random.hpp>

#include "trainables/mlp/network.hpp"

namespace tune::trainables {

DeviceImages::DeviceImages(std::shared_ptr<Device> where, const ImageSet& images)
    : device(std::move(where)),
      features(images.image_size),
      classes(images.classes),
      pixels(*device, images.pixels.size()),
      labels(*device, images.labels.size()) {
  pixels.upload(images.pixels);
  labels.upload(images.labels);
  // Others read it in an order of their own: only when it is there.
  std::uint8_t last = 0;
  if (labels.size() > 0) device->download(&last, labels.data(), 1);
}

DeviceTrainer::DeviceTrainer(std::shared_ptr<Device> device, Options options)
    : device_(std::move(device)), options_(std::move(options)) {
  if (options_.batch_size == 0) throw std::invalid_argument("trainer: batch_size is 0");
  std::size_t count = 0;
  for (std::size_t i = 0; i < layer_count(); ++i) {
    offsets_.push_back(count);
    count += (width(i) + 1) * width(i + 1);
  }
  parameters_ = {*device_, count};
  gradients_ = {*device_, count};
  const std::size_t arrays = std::holds_alternative<AdamOptions>(options_.optimizer) ? 2 : 1;
  for (std::size_t i = 0; i < arrays; ++i) optimizer_state_.emplace_back(*device_, count);
  batch_ = {*device_, 1};
  totals_ = {*device_, 2};
  outputs_.resize(layer_count());
  output_gradients_.resize(layer_count());
}

double DeviceTrainer::train_epoch(const DeviceImages& images, std::span<const std::uint32_t> order,
                                  std::span<const std::uint64_t> dropout_keys) {
  const std::size_t whole = order.size() / options_.batch_size;
  const std::size_t rest = order.size() % options_.batch_size;
  if (dropout_keys.size() != whole + (rest > 0 ? 1 : 0)) {
    throw std::invalid_argument("trainer: " + std::to_string(dropout_keys.size()) +
                                " dropout keys for " + std::to_string(order.size()) + " images");
  }
  if (order.empty()) return 0;
  begin_pass(order);
  fill_tables(dropout_keys);
  reserve_rows(std::min(options_.batch_size, order.size()));
  const Pass pass{images, options_.batch_size, options_.batch_size, /*is_training=*/true};
  for (std::size_t i = 0; i < whole; ++i) {
    const bool is_recorded = recorded_images_ == &images;
    if (is_recorded && whole_batch_) {
      whole_batch_->play();
      continue;
    }
    // The first one as it is: libraries load what they need then, which nobody can record.
    train_batch(pass);
    if (is_recorded || i + 1 == whole) continue;
    whole_batch_ = device_->record([&] { train_batch(pass); });
    recorded_images_ = &images;
  }
  if (rest > 0) train_batch({images, options_.batch_size, rest, /*is_training=*/true});
  steps_ += static_cast<std::int64_t>(dropout_keys.size());
  return totals_.download().front() / static_cast<double>(order.size());
}

Evaluation DeviceTrainer::evaluate(const DeviceImages& images, std::size_t begin, std::size_t end) {
  constexpr std::size_t rows_at_once = 4096;
  std::vector<std::uint32_t> order(end - begin);
  std::iota(order.begin(), order.end(), static_cast<std::uint32_t>(begin));
  if (order.empty()) return {};
  begin_pass(order);
  reserve_rows(std::min(rows_at_once, order.size()));
  for (std::size_t first = 0; first < order.size(); first += rows_at_once) {
    const Pass pass{images, rows_at_once, std::min(rows_at_once, order.size() - first),
                    /*is_training=*/false};
    forward(pass);
    classify(pass);
    device_->advance(batch_.data());
  }
  const std::vector<double> totals = totals_.download();
  const auto count = static_cast<double>(order.size());
  return {.loss = totals[0] / count,
          .accuracy = totals[1] / count,
          .images = static_cast<std::int64_t>(order.size())};
}

std::vector<std::vector<float>> DeviceTrainer::optimizer_state() const {
  std::vector<std::vector<float>> arrays;
  for (const auto& array : optimizer_state_) arrays.push_back(array.download());
  return arrays;
}

void DeviceTrainer::set_optimizer_state(const std::vector<std::vector<float>>& arrays,
                                        std::int64_t steps) {
  for (std::size_t i = 0; i < optimizer_state_.size(); ++i)
    optimizer_state_[i].upload(arrays.at(i));
  steps_ = steps;
}

float* DeviceTrainer::weights(const DeviceArray<float>& numbers, std::size_t layer) const {
  return numbers.data() + offsets_[layer];
}

float* DeviceTrainer::biases(const DeviceArray<float>& numbers, std::size_t layer) const {
  return weights(numbers, layer) + width(layer) * width(layer + 1);
}

// What was recorded names the memory that this replaces.
void DeviceTrainer::reserve_rows(std::size_t rows) {
  if (rows <= most_rows_) return;
  recorded_images_ = nullptr;
  whole_batch_.reset();
  inputs_ = {*device_, rows * width(0)};
  labels_ = {*device_, rows};
  losses_ = {*device_, rows};
  hits_ = {*device_, rows};
  for (std::size_t i = 0; i < layer_count(); ++i) {
    outputs_[i] = {*device_, rows * width(i + 1)};
    output_gradients_[i] = {*device_, rows * width(i + 1)};
  }
  most_rows_ = rows;
}

void DeviceTrainer::begin_pass(std::span<const std::uint32_t> order) {
  if (order.size() > order_.size()) {
    recorded_images_ = nullptr;
    order_ = {*device_, order.size()};
  }
  order_.upload(order);
  batch_.upload(std::vector<std::uint32_t>{0});
  totals_.upload(std::vector<double>{0, 0});
}

void DeviceTrainer::fill_tables(std::span<const std::uint64_t> dropout_keys) {
  const std::size_t batches = dropout_keys.size();
  const std::size_t hidden = layer_count() - 1;
  std::vector<std::uint64_t> keys;
  for (const std::uint64_t key : dropout_keys) {
    Random layer_keys(key);
    for (std::size_t i = 0; i < hidden; ++i) keys.push_back(layer_keys.next());
  }
  if (keys.size() > dropout_keys_.size()) {
    recorded_images_ = nullptr;
    dropout_keys_ = {*device_, keys.size()};
  }
  dropout_keys_.upload(keys);
  const auto* adam = std::get_if<AdamOptions>(&options_.optimizer);
  if (adam == nullptr) return;
  std::vector<AdamStep<float>> steps;
  for (std::size_t i = 0; i < batches; ++i) {
    steps.push_back(adam_step<float>(*adam, steps_ + static_cast<std::int64_t>(i) + 1));
  }
  if (steps.size() > adam_steps_.size()) {
    recorded_images_ = nullptr;
    adam_steps_ = {*device_, steps.size()};
  }
  adam_steps_.upload(steps);
}

void DeviceTrainer::train_batch(const Pass& pass) {
  forward(pass);
  classify(pass);
  backward(pass);
  update();
  device_->advance(batch_.data());
}

void DeviceTrainer::forward(const Pass& pass) {
  device_->run(GatherBatch{.pixels = pass.images.pixels.data(),
                           .labels = pass.images.labels.data(),
                           .order = order_.data(),
                           .batch = batch_.data(),
                           .batch_size = pass.batch_size,
                           .rows = pass.rows,
                           .features = width(0),
                           .inputs = inputs_.data(),
                           .chosen_labels = labels_.data()});
  const Dropout dropout{.rate = options_.dropout};
  const bool drops = pass.is_training && dropout.rate > 0;
  for (std::size_t i = 0; i < layer_count(); ++i) {
    device_->run(Multiply{.left = i == 0 ? inputs_.data() : outputs_[i - 1].data(),
                          .right = weights(parameters_, i),
                          .product = outputs_[i].data(),
                          .rows = pass.rows,
                          .inner = width(i),
                          .columns = width(i + 1)});
    if (i + 1 == layer_count()) break;
    device_->run(HiddenForward{.values = outputs_[i].data(),
                               .biases = biases(parameters_, i),
                               .rows = pass.rows,
                               .columns = width(i + 1),
                               .keys = drops ? dropout_keys_.data() : nullptr,
                               .batch = batch_.data(),
                               .layers = layer_count() - 1,
                               .layer = i,
                               .threshold = dropout.threshold(),
                               .scale = static_cast<float>(dropout.scale())});
  }
}

void DeviceTrainer::classify(const Pass& pass) {
  const std::size_t last = layer_count() - 1;
  device_->run(Classify{.logits = outputs_[last].data(),
                        .biases = biases(parameters_, last),
                        .labels = labels_.data(),
                        .rows = pass.rows,
                        .classes = width(last + 1),
                        .gradient = pass.is_training ? output_gradients_[last].data() : nullptr,
                        .losses = losses_.data(),
                        .hits = hits_.data()});
  device_->run(AddUp{
      .losses = losses_.data(), .hits = hits_.data(), .rows = pass.rows, .totals = totals_.data()});
}

void DeviceTrainer::backward(const Pass& pass) {
  for (std::size_t i = layer_count(); i-- > 0;) {
    const float* const below = i == 0 ? inputs_.data() : outputs_[i - 1].data();
    const float* const gradient = output_gradients_[i].data();
    device_->run(Multiply{.left = below,
                          .right = gradient,
                          .product = weights(gradients_, i),
                          .rows = width(i),
                          .inner = pass.rows,
                          .columns = width(i + 1),
                          .is_left_transposed = true});
    device_->run(SumColumns{.values = gradient,
                            .rows = pass.rows,
                            .columns = width(i + 1),
                            .sums = biases(gradients_, i)});
    if (i == 0) break;
    device_->run(Multiply{.left = gradient,
                          .right = weights(parameters_, i),
                          .product = output_gradients_[i - 1].data(),
                          .rows = pass.rows,
                          .inner = width(i + 1),
                          .columns = width(i),
                          .is_right_transposed = true});
    device_->run(
        HiddenBackward{.activations = outputs_[i - 1].data(),
                       .gradient = output_gradients_[i - 1].data(),
                       .rows = pass.rows,
                       .columns = width(i),
                       .scale = static_cast<float>(Dropout{.rate = options_.dropout}.scale())});
  }
}

void DeviceTrainer::update() {
  if (const auto* sgd = std::get_if<SgdOptions>(&options_.optimizer)) {
    device_->run(SgdUpdate{.parameters = parameters_.data(),
                           .velocity = optimizer_state_[0].data(),
                           .gradients = gradients_.data(),
                           .count = parameters_.size(),
                           .lr = static_cast<float>(sgd->lr),
                           .momentum = static_cast<float>(sgd->momentum)});
    return;
  }
  device_->run(AdamUpdate{.parameters = parameters_.data(),
                          .mean = optimizer_state_[0].data(),
                          .square = optimizer_state_[1].data(),
                          .gradients = gradients_.data(),
                          .count = parameters_.size(),
                          .steps = adam_steps_.data(),
                          .batch = batch_.data()});
}

}  // namespace tune::trainables
