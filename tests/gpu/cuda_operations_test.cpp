#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/random.hpp>
#include <tune/trainables/cuda_mlp.hpp>

#include "support/host_device.hpp"
#include "support/skip.hpp"
#include "trainables/cuda/cuda_device.hpp"
#include "trainables/mlp/optimizer.hpp"

// Each kernel against a loop over the same body.
namespace tune::trainables {
namespace {

std::vector<float> random_floats(std::size_t count, std::uint64_t key, double from = -1,
                                 double to = 1) {
  Random random(key);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(from + (to - from) * random.uniform());
  return values;
}

/// The same arrays on two devices.
class Pair {
 public:
  explicit Pair(bool uses_cublas = false)
      : gpu_(make_cuda_device(0, uses_cublas)), host_(std::make_shared<test::HostDevice>()) {}

  template <class T>
  struct Array {
    DeviceArray<T> on_gpu;
    DeviceArray<T> on_host;
  };

  template <class T>
  Array<T> put(const std::vector<T>& values) {
    Array<T> array{{*gpu_, values.size()}, {*host_, values.size()}};
    array.on_gpu.upload(values);
    array.on_host.upload(values);
    return array;
  }

  /// Calls `run` for either device; `pointer` picks an array's memory there.
  template <class Run>
  void on_both(Run run) {
    run(*gpu_, [](const auto& array) { return array.on_gpu.data(); });
    run(*host_, [](const auto& array) { return array.on_host.data(); });
  }

  template <class T>
  static void check_equal(const Array<T>& array, double tolerance) {
    const std::vector<T> found = array.on_gpu.download();
    const std::vector<T> wanted = array.on_host.download();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto want = static_cast<double>(wanted[i]);
      const double off = std::abs(static_cast<double>(found[i]) - want);
      if (!(off <= tolerance * std::max(1.0, std::abs(want)))) {
        if (++wrong < 4) {
          UNSCOPED_INFO("element " << i << " is " << +found[i] << ", want " << +wanted[i]);
        }
      }
    }
    CHECK(wrong == 0);
  }

 private:
  std::shared_ptr<Device> gpu_;
  std::shared_ptr<Device> host_;
};

const std::vector<std::pair<std::size_t, std::size_t>> shapes = {
    {1, 1}, {3, 10}, {64, 128}, {65, 127}, {129, 4}, {300, 10}, {1000, 33}, {4099, 20}, {7, 2048}};

std::string describe(const std::pair<std::size_t, std::size_t>& shape) {
  return std::to_string(shape.first) + " x " + std::to_string(shape.second);
}

#define NEEDS_GPU                                                     \
  if (const CudaDevices devices = cuda_devices(); devices.count == 0) \
  return test::skip_test(devices.reason)

TEST_CASE("gpu: gather", "[gpu]") {
  NEEDS_GPU;
  for (const std::size_t features : {1UL, 10UL, 784UL}) {
    Pair pair;
    Random random(1);
    std::vector<std::uint8_t> pixels(50 * features);
    std::vector<std::uint8_t> labels(50);
    for (auto& value : pixels) value = static_cast<std::uint8_t>(random.below(256));
    for (auto& value : labels) value = static_cast<std::uint8_t>(random.below(10));
    std::vector<std::uint32_t> order(50);
    for (auto& image : order) image = static_cast<std::uint32_t>(random.below(50));
    const auto images = pair.put(pixels);
    const auto classes = pair.put(labels);
    const auto numbers = pair.put(order);
    const auto batch = pair.put(std::vector<std::uint32_t>{1});
    const auto inputs = pair.put(std::vector<float>(20 * features));
    const auto chosen = pair.put(std::vector<std::uint8_t>(20));
    pair.on_both([&](Device& device, auto at) {
      device.run(GatherBatch{.pixels = at(images),
                             .labels = at(classes),
                             .order = at(numbers),
                             .batch = at(batch),
                             .batch_size = 20,
                             .rows = 20,
                             .features = features,
                             .inputs = at(inputs),
                             .chosen_labels = at(chosen)});
    });
    Pair::check_equal(inputs, 0);
    Pair::check_equal(chosen, 0);
  }
}

void check_products(bool uses_cublas) {
  for (const auto& [rows, inner, columns] : std::vector<std::array<std::size_t, 3>>{
           {1, 1, 1}, {5, 7, 3}, {64, 16, 64}, {65, 17, 66}, {128, 784, 10}, {130, 33, 257}}) {
    for (const bool left : {false, true}) {
      for (const bool right : {false, true}) {
        INFO(rows << " x " << inner << " x " << columns << (left ? ", left transposed" : "")
                  << (right ? ", right transposed" : ""));
        Pair pair(uses_cublas);
        const auto a = pair.put(random_floats(rows * inner, 1));
        const auto b = pair.put(random_floats(inner * columns, 2));
        const auto product = pair.put(std::vector<float>(rows * columns));
        pair.on_both([&, rows = rows, inner = inner, columns = columns](Device& device, auto at) {
          device.run(Multiply{.left = at(a),
                              .right = at(b),
                              .product = at(product),
                              .rows = rows,
                              .inner = inner,
                              .columns = columns,
                              .is_left_transposed = left,
                              .is_right_transposed = right});
        });
        Pair::check_equal(product, 1e-4);
      }
    }
  }
}

TEST_CASE("gpu: matrix products, by cuBLAS if it is there", "[gpu]") {
  NEEDS_GPU;
  INFO(make_cuda_device(0)->describe());
  check_products(true);
}

TEST_CASE("gpu: matrix products, by our own kernel", "[gpu]") {
  NEEDS_GPU;
  check_products(false);
}

TEST_CASE("gpu: hidden_forward", "[gpu]") {
  NEEDS_GPU;
  for (const auto& shape : shapes) {
    for (const bool drops : {false, true}) {
      INFO(describe(shape) << (drops ? ", drops" : ""));
      Pair pair;
      const auto values = pair.put(random_floats(shape.first * shape.second, 1));
      const auto biases = pair.put(random_floats(shape.second, 2));
      const auto keys = pair.put(std::vector<std::uint64_t>{1, 2, 3, 4});
      const auto batch = pair.put(std::vector<std::uint32_t>{1});
      const Dropout dropout{.rate = 0.3};
      pair.on_both([&](Device& device, auto at) {
        device.run(HiddenForward{.values = at(values),
                                 .biases = at(biases),
                                 .rows = shape.first,
                                 .columns = shape.second,
                                 .keys = drops ? at(keys) : nullptr,
                                 .batch = at(batch),
                                 .layers = 2,
                                 .layer = 1,
                                 .threshold = dropout.threshold(),
                                 .scale = static_cast<float>(dropout.scale())});
      });
      Pair::check_equal(values, 1e-6);
    }
  }
}

TEST_CASE("gpu: hidden_backward", "[gpu]") {
  NEEDS_GPU;
  for (const auto& shape : shapes) {
    INFO(describe(shape));
    Pair pair;
    const auto activations = pair.put(random_floats(shape.first * shape.second, 1));
    const auto gradient = pair.put(random_floats(shape.first * shape.second, 2));
    pair.on_both([&](Device& device, auto at) {
      device.run(HiddenBackward{.activations = at(activations),
                                .gradient = at(gradient),
                                .rows = shape.first,
                                .columns = shape.second,
                                .scale = 1.25F});
    });
    Pair::check_equal(gradient, 1e-6);
  }
}

TEST_CASE("gpu: classify and add up", "[gpu]") {
  NEEDS_GPU;
  for (const auto& shape : shapes) {
    if (shape.second > 256) continue;
    for (const bool wants_gradient : {false, true}) {
      INFO(describe(shape) << (wants_gradient ? ", with gradient" : ""));
      Pair pair;
      std::vector<std::uint8_t> classes;
      Random random(5);
      for (std::size_t i = 0; i < shape.first; ++i) {
        classes.push_back(static_cast<std::uint8_t>(random.below(shape.second)));
      }
      const auto logits = pair.put(random_floats(shape.first * shape.second, 1, -30, 30));
      const auto biases = pair.put(random_floats(shape.second, 2));
      const auto labels = pair.put(classes);
      const auto gradient = pair.put(std::vector<float>(shape.first * shape.second));
      const auto losses = pair.put(std::vector<float>(shape.first));
      const auto hits = pair.put(std::vector<float>(shape.first));
      const auto totals = pair.put(std::vector<double>{1, 2});
      pair.on_both([&](Device& device, auto at) {
        device.run(Classify{.logits = at(logits),
                            .biases = at(biases),
                            .labels = at(labels),
                            .rows = shape.first,
                            .classes = shape.second,
                            .gradient = wants_gradient ? at(gradient) : nullptr,
                            .losses = at(losses),
                            .hits = at(hits)});
        device.run(AddUp{
            .losses = at(losses), .hits = at(hits), .rows = shape.first, .totals = at(totals)});
      });
      Pair::check_equal(gradient, 1e-6);
      Pair::check_equal(losses, 1e-5);
      Pair::check_equal(hits, 0);
      Pair::check_equal(totals, 1e-5);
    }
  }
}

TEST_CASE("gpu: sums of columns, twice the same bits", "[gpu]") {
  NEEDS_GPU;
  for (const auto& shape : shapes) {
    INFO(describe(shape));
    Pair pair;
    const auto values = pair.put(random_floats(shape.first * shape.second, 1));
    const auto sums = pair.put(std::vector<float>(shape.second));
    const auto again = pair.put(std::vector<float>(shape.second));
    pair.on_both([&](Device& device, auto at) {
      for (const auto* to : {&sums, &again}) {
        device.run(SumColumns{
            .values = at(values), .rows = shape.first, .columns = shape.second, .sums = at(*to)});
      }
    });
    Pair::check_equal(sums, 1e-3);
    CHECK(sums.on_gpu.download() == again.on_gpu.download());
  }
}

TEST_CASE("gpu: updates of sgd and adam", "[gpu]") {
  NEEDS_GPU;
  for (const std::size_t count : {1UL, 3UL, 4UL, 1001UL, 1026UL, 100480UL}) {
    INFO(count);
    Pair pair;
    const auto gradients = pair.put(random_floats(count, 1));
    const auto parameters = pair.put(random_floats(count, 2));
    const auto velocity = pair.put(random_floats(count, 3));
    const auto weights = pair.put(random_floats(count, 4));
    const auto mean = pair.put(random_floats(count, 5));
    const auto square = pair.put(random_floats(count, 6, 0, 1));
    const AdamOptions options{.lr = 0.01};
    const auto steps = pair.put(
        std::vector<AdamStep<float>>{adam_step<float>(options, 1), adam_step<float>(options, 2)});
    const auto batch = pair.put(std::vector<std::uint32_t>{0});
    pair.on_both([&](Device& device, auto at) {
      device.run(SgdUpdate{.parameters = at(parameters),
                           .velocity = at(velocity),
                           .gradients = at(gradients),
                           .count = count,
                           .lr = 0.1F,
                           .momentum = 0.9F});
      for (int i = 0; i < 2; ++i) {
        device.run(AdamUpdate{.parameters = at(weights),
                              .mean = at(mean),
                              .square = at(square),
                              .gradients = at(gradients),
                              .count = count,
                              .steps = at(steps),
                              .batch = at(batch)});
        device.advance(at(batch));
      }
    });
    Pair::check_equal(parameters, 1e-6);
    Pair::check_equal(velocity, 1e-6);
    Pair::check_equal(weights, 1e-5);
    Pair::check_equal(mean, 1e-6);
    Pair::check_equal(square, 1e-6);
  }
}

TEST_CASE("gpu: what goes wrong is named", "[gpu]") {
  NEEDS_GPU;
  const std::shared_ptr<Device> device = make_cuda_device(0);
  CHECK_THROWS_WITH(device->allocate(std::size_t{1} << 60),
                    Catch::Contains("cudaMalloc of 1152921504606846976 bytes"));
  // That is no error that stays: the device works on.
  DeviceArray<float> array(*device, 10);
  CHECK(array.download() == std::vector<float>(10));
}

}  // namespace
}  // namespace tune::trainables
