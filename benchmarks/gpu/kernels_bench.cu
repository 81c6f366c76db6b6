// How near kernels come to what the GPU's memory gives, measured in the same run.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gpu_rows.hpp"
#include "trainables/cuda/blas.hpp"
#include "trainables/cuda/cuda_objects.hpp"
#include "trainables/cuda/kernels.hpp"

namespace tune::bench {
namespace {

using namespace tune::trainables;

template <class T>
class Array {
 public:
  explicit Array(std::size_t count, int byte = 0) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc, of a benchmark");
    memory_ = CudaMemory(memory);
    check_cuda(cudaMemset(memory, byte, count * sizeof(T)), "cudaMemset");
  }
  void fill(const std::vector<T>& values) {
    check_cuda(cudaMemcpy(get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
               "cudaMemcpy");
  }
  [[nodiscard]] T* get() const { return static_cast<T*>(memory_.get()); }

 private:
  CudaMemory memory_;
};

CudaEvent make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "cudaEventCreate");
  return CudaEvent(event);
}

class Timer {
 public:
  Timer() {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    stream_ = CudaStream(stream);
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  /// Seconds of one call: the median of `rounds` rounds, each long enough to be measured.
  double seconds(const std::function<void()>& call, int rounds) {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // arrays fill by another stream
    call();
    const double once = round(call, 1);
    const int calls = std::clamp(static_cast<int>(2e-3 / std::max(once, 1e-7)), 1, 1000);
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) times.push_back(round(call, calls));
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[static_cast<std::size_t>(rounds / 2)];
  }

 private:
  double round(const std::function<void()>& call, int calls) {
    check_cuda(cudaEventRecord(begin_.get(), stream()), "cudaEventRecord");
    for (int i = 0; i < calls; ++i) call();
    check_cuda(cudaEventRecord(end_.get(), stream()), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end_.get()), "a kernel of the benchmark");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()),
               "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1000 / calls;
  }

  CudaStream stream_;
  CudaEvent begin_ = make_event();
  CudaEvent end_ = make_event();
};

class KernelBench {
 public:
  explicit KernelBench(bool is_quick)
      : rows_(std::min(is_quick ? 16'384UL : 131'072UL, fitting_bytes() / row_bytes)),
        rounds_(is_quick ? 5 : 15) {}

  std::vector<GpuRow> run() {
    measure_copy();
    measure_gather();
    measure_hidden();
    measure_last_layer();
    measure_updates();
    measure_products();
    return std::move(out_);
  }

 private:
  /// What an array, or all of a product, may take: a GPU may be small, or in use by others.
  static std::size_t fitting_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free / 8;
  }

  // Both ways: bytes read and written. The same amount as the kernels move, out of no cache.
  void measure_copy() {
    const std::size_t bytes = rows_ * row_bytes;
    Array<char> from(bytes);
    Array<char> to(bytes);
    const double seconds = timer_.seconds(
        [&] {
          check_cuda(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice,
                                     timer_.stream()),
                     "cudaMemcpyAsync");
        },
        rounds_);
    copy_ = 2 * static_cast<double>(bytes) / seconds;
    out_.push_back({"copy on the device", copy_ / 1e9, "GB/s", 0, ""});
  }

  void add(const std::string& name, double bytes, const std::function<void()>& call) {
    const double rate = bytes / timer_.seconds(call, rounds_);
    out_.push_back({name, rate / 1e9, "GB/s", copy_ / 1e9, "copy on the device"});
  }

  void measure_gather() {
    constexpr std::size_t features = 784;
    const std::size_t images = std::min(std::size_t{60'000}, fitting_bytes() / features);
    const std::size_t rows = rows_ / 2;
    Array<std::uint8_t> pixels(images * features, 7);
    Array<std::uint8_t> labels(images, 3);
    Array<std::uint8_t> chosen(rows);
    Array<std::uint32_t> order(rows);
    std::vector<std::uint32_t> numbers(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      numbers[i] = static_cast<std::uint32_t>(i * 7919 % images);
    }
    order.fill(numbers);
    Array<std::uint32_t> batch(1);
    Array<float> inputs(rows * features);
    add("gather", static_cast<double>(rows * features) * (sizeof(float) + 1), [&] {
      launch(GatherBatch{.pixels = pixels.get(),
                         .labels = labels.get(),
                         .order = order.get(),
                         .batch = batch.get(),
                         .batch_size = rows,
                         .rows = rows,
                         .features = features,
                         .inputs = inputs.get(),
                         .chosen_labels = chosen.get()},
             timer_.stream());
    });
  }

  void measure_hidden() {
    const std::size_t count = rows_ * width_;
    Array<float> values(count);
    Array<float> gradient(count);
    Array<float> biases(width_);
    Array<float> scratch(column_sums_scratch);
    Array<std::uint64_t> keys(4);
    Array<std::uint32_t> batch(1);
    const Dropout dropout{.rate = 0.3};
    HiddenForward forward{.values = values.get(),
                          .biases = biases.get(),
                          .rows = rows_,
                          .columns = width_,
                          .keys = nullptr,
                          .batch = batch.get(),
                          .layers = 1,
                          .layer = 0,
                          .threshold = dropout.threshold(),
                          .scale = static_cast<float>(dropout.scale())};
    const auto bytes = static_cast<double>(count) * sizeof(float);
    add("bias and ReLU", 2 * bytes, [&] { launch(forward, timer_.stream()); });
    forward.keys = keys.get();
    add("bias, ReLU and dropout", 2 * bytes, [&] { launch(forward, timer_.stream()); });
    add("their gradient", 3 * bytes, [&] {
      launch(HiddenBackward{.activations = values.get(),
                            .gradient = gradient.get(),
                            .rows = rows_,
                            .columns = width_,
                            .scale = forward.scale},
             timer_.stream());
    });
    add("sums of columns", bytes, [&] {
      launch(
          SumColumns{
              .values = values.get(), .rows = rows_, .columns = width_, .sums = biases.get()},
          scratch.get(), timer_.stream());
    });
  }

  void measure_last_layer() {
    constexpr std::size_t classes = 10;
    const std::size_t rows = rows_ * width_ / classes / 2;
    Array<float> logits(rows * classes);
    Array<float> gradient(rows * classes);
    Array<float> biases(classes);
    Array<std::uint8_t> labels(rows, 1);
    Array<float> losses(rows);
    Array<float> hits(rows);
    const auto bytes = static_cast<double>(rows) * (2 * classes * sizeof(float) + 9);
    add("softmax, cross-entropy, gradient", bytes, [&] {
      launch(Classify{.logits = logits.get(),
                      .biases = biases.get(),
                      .labels = labels.get(),
                      .rows = rows,
                      .classes = classes,
                      .gradient = gradient.get(),
                      .losses = losses.get(),
                      .hits = hits.get()},
             timer_.stream());
    });
  }

  void measure_updates() {
    const std::size_t count = rows_ * width_;
    Array<float> parameters(count);
    Array<float> mean(count);
    Array<float> square(count);
    Array<float> gradients(count);
    Array<AdamStep<float>> steps(1);
    steps.fill({{1e-3F, 0.9F, 0.999F, 1e-8F, 1, 1}});
    Array<std::uint32_t> batch(1);
    const auto bytes = static_cast<double>(count) * sizeof(float);
    add("SGD", 5 * bytes, [&] {
      launch(SgdUpdate{.parameters = parameters.get(),
                       .velocity = mean.get(),
                       .gradients = gradients.get(),
                       .count = count,
                       .lr = 0.1F,
                       .momentum = 0.9F},
             timer_.stream());
    });
    add("Adam", 7 * bytes, [&] {
      launch(AdamUpdate{.parameters = parameters.get(),
                        .mean = mean.get(),
                        .square = square.get(),
                        .gradients = gradients.get(),
                        .count = count,
                        .steps = steps.get(),
                        .batch = batch.get()},
             timer_.stream());
    });
  }

  void measure_products() {
    std::string reason;
    const std::unique_ptr<Blas> blas = load_blas(timer_.stream(), reason);
    double limit = 0;
    const auto rate = [&](const Multiply& op, const std::function<void(const Multiply&)>& by) {
      const double flops = 2.0 * static_cast<double>(op.rows) * static_cast<double>(op.inner) *
                           static_cast<double>(op.columns);
      return flops / timer_.seconds([&] { by(op); }, rounds_) / 1e12;
    };
    const auto cublas = [&](const Multiply& op) { blas->multiply(op); };
    const auto own = [&](const Multiply& op) { launch_multiply(op, timer_.stream()); };
    for (const auto& [rows, inner, columns] :
         {std::array<std::size_t, 3>{4096, 4096, 4096}, std::array<std::size_t, 3>{256, 784, 512},
          std::array<std::size_t, 3>{4096, 784, 1024}}) {
      const std::size_t numbers = rows * inner + inner * columns + rows * columns;
      if (numbers * sizeof(float) > fitting_bytes()) continue;
      Array<float> left(rows * inner);
      Array<float> right(inner * columns);
      Array<float> product(rows * columns);
      const Multiply op{.left = left.get(),
                        .right = right.get(),
                        .product = product.get(),
                        .rows = rows,
                        .inner = inner,
                        .columns = columns};
      const std::string size =
          std::to_string(rows) + " x " + std::to_string(inner) + " x " + std::to_string(columns);
      double by_blas = 0;
      if (blas) {
        by_blas = rate(op, cublas);
        limit = std::max(limit, by_blas);
        out_.push_back(
            {"product " + size + ", cuBLAS", by_blas, "TFLOP/s", limit, "its largest product"});
      }
      out_.push_back({"product " + size + ", ours", rate(op, own), "TFLOP/s", by_blas, "cuBLAS"});
    }
  }

  static constexpr std::size_t width_ = 2048;
  static constexpr std::size_t row_bytes = width_ * sizeof(float);
  std::size_t rows_;
  int rounds_;
  Timer timer_;
  double copy_ = 0;
  std::vector<GpuRow> out_;
};

}  // namespace

std::vector<GpuRow> measure_kernels(bool is_quick) { return KernelBench(is_quick).run(); }

}  // namespace tune::bench
