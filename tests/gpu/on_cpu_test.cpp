#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <catch2/catch.hpp>

#include <tune/trainables/cuda_mlp.hpp>

#include "support/environment_variable.hpp"
#include "support/skip.hpp"
#include "trainables/cuda/cuda_device.hpp"
#include "trainables/mlp/device.hpp"

// What can be seen only where the GPU is played on the CPU.
namespace tune::trainables {
namespace {

bool has_data() { return std::filesystem::exists(std::string(fashion_mnist_folder)); }

Config network_of(int hidden) {
  return Config({{"hidden", {hidden}}, {"batch_size", 512}, {"validation_images", 50'000}});
}

TrialContext context_on(int gpu) {
  TrialContext context;
  context.trial_name = "00003";
  context.seed = 11;
  context.resources.amounts.set("gpu", 1000);
  context.resources.gpu_ids = {gpu};
  return context;
}

std::unique_ptr<CudaMlp> trial_on(int gpu, const Config& config) {
  auto trial = std::make_unique<CudaMlp>();
  trial->set_context(context_on(gpu));
  trial->setup(config);
  return trial;
}

TEST_CASE("on the CPU: a trial leaves nothing on the GPU", "[gpu]") {
  if (!has_data()) return test::skip_test("package dataset-fashion-mnist is not installed");
  const std::size_t before = fake_cuda::live_objects();
  auto trial = trial_on(0, network_of(8));
  (void)trial->step();
  CHECK(fake_cuda::live_objects() > before);
  trial->cleanup();
  CHECK(fake_cuda::live_objects() == before);
}

TEST_CASE("on the CPU: neither does one for which there is too little memory", "[gpu]") {
  if (!has_data()) return test::skip_test("package dataset-fashion-mnist is not installed");
  const std::size_t before = fake_cuda::live_objects();
  {
    const test::EnvironmentVariable little("FAKE_CUDA_MIB", "64");
    CHECK_THROWS_WITH(trial_on(0, network_of(8192)),
                      Catch::Contains("cuda: cudaMalloc of 26050600 bytes, where ") &&
                          Catch::Contains(" of 67108864 are free: ") &&
                          Catch::Contains("(cudaErrorMemoryAllocation)"));
    CHECK(fake_cuda::live_objects() == before);
  }
  // The next one of the same thread has not to do with it.
  CHECK_NOTHROW(trial_on(0, network_of(8))->step());
}

TEST_CASE("on the CPU: trials on two GPUs take turns in one thread", "[gpu]") {
  if (!has_data()) return test::skip_test("package dataset-fashion-mnist is not installed");
  const Config config = network_of(8);
  const auto first = trial_on(0, config);
  const auto second = trial_on(1, config);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const Metrics on_first = first->step();
    const Metrics on_second = second->step();
    // Kernels whose result hangs on the order of their threads would differ.
    CHECK(on_first.at("train_loss").as_double() == on_second.at("train_loss").as_double());
    CHECK(on_first.at("val_loss").as_double() == on_second.at("val_loss").as_double());
  }
}

TEST_CASE("on the CPU: no GPU, and the reason", "[gpu]") {
  const test::EnvironmentVariable none("FAKE_CUDA_DEVICES", "0");
  CHECK(cuda_devices().count == 0);
  CHECK(cuda_devices().reason == "no GPU that this process may see");
}

TEST_CASE("on the CPU: a recording that fails is no end", "[gpu]") {
  const std::shared_ptr<Device> device = make_cuda_device(0);
  DeviceArray<std::uint32_t> counter(*device, 1);
  CHECK_THROWS_WITH(device->record([&] { (void)device->allocate(16); }),
                    Catch::Contains("cudaErrorStreamCaptureUnsupported"));
  CHECK_THROWS_WITH(device->record([&] { (void)counter.download(); }),
                    Catch::Contains("cudaErrorStreamCaptureUnsupported"));
  const auto recording = device->record([&] {
    device->advance(counter.data());
    device->advance(counter.data());
  });
  CHECK(counter.download() == std::vector<std::uint32_t>{0});
  recording->play();
  recording->play();
  device->advance(counter.data());
  CHECK(counter.download() == std::vector<std::uint32_t>{5});
}

__global__ void half_wait(std::uint32_t* counter) {
  if (threadIdx.x < 16) return;
  __syncthreads();
  ++*counter;
}

constinit thread_local float shared[64];

__global__ void write_shared() { shared[threadIdx.x] = 1; }

TEST_CASE("on the CPU: a kernel has no more shared memory than was asked for", "[gpu]") {
  const auto before =
      fake_cuda::set_dynamic_shared([] { return std::as_writable_bytes(std::span(shared)); });
  const std::size_t asked = GENERATE(0, 31, 32);
  cudaLaunchConfig_t config{};
  config.blockDim = 32;
  config.dynamicSmemBytes = asked * sizeof(float);
  CHECK(cudaLaunchKernelEx(&config, write_shared) == cudaSuccess);
  CHECK((cudaDeviceSynchronize() == cudaSuccess) == (asked == 32));
  fake_cuda::forget_failure();
  (void)fake_cuda::set_dynamic_shared(before);
}

TEST_CASE("on the CPU: a kernel that fails shows at the next wait, and in all that follows",
          "[gpu]") {
  const std::shared_ptr<Device> device = make_cuda_device(0);
  DeviceArray<std::uint32_t> counter(*device, 1);
  CHECK(counter.download() == std::vector<std::uint32_t>{0});
  cudaLaunchConfig_t config{};
  config.blockDim = 32;
  CHECK(cudaLaunchKernelEx(&config, half_wait, counter.data()) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK_THROWS_WITH(device->advance(counter.data()),
                    Catch::Equals("cuda: kernel advance: cudaErrorLaunchFailure "
                                  "(cudaErrorLaunchFailure)"));
  CHECK_THROWS_WITH(counter.download(), Catch::Contains("cudaMemcpyAsync from the device"));
  fake_cuda::forget_failure();
  CHECK(counter.download() == std::vector<std::uint32_t>{0});
}

}  // namespace
}  // namespace tune::trainables
