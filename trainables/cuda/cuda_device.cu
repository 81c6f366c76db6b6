#include "trainables/cuda/cuda_device.hpp"

#include <cuda_runtime.h>

#include <string>
#include <utility>

#include <tune/trainables/cuda_mlp.hpp>

#include "trainables/cuda/blas.hpp"
#include "trainables/cuda/cuda_objects.hpp"
#include "trainables/cuda/kernels.hpp"

namespace tune::trainables {
namespace {

class GraphRecording final : public Recording {
 public:
  GraphRecording(CudaGraphExec graph, cudaStream_t stream)
      : graph_(std::move(graph)), stream_(stream) {}
  void play() override {
    check_cuda(cudaGraphLaunch(graph_.get(), stream_), "cudaGraphLaunch, of a training step");
  }

 private:
  CudaGraphExec graph_;
  cudaStream_t stream_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, bool uses_cublas) : ordinal_(ordinal) {
    choose();
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    stream_ = CudaStream(stream);
    if (uses_cublas) {
      blas_ = load_blas(stream, no_blas_);
    } else {
      no_blas_ = "as was asked";
    }
    void* scratch = nullptr;
    check_cuda(cudaMalloc(&scratch, column_sums_scratch * sizeof(float)), "cudaMalloc, scratch");
    scratch_ = CudaMemory(scratch);
  }

  [[nodiscard]] std::string describe() const override {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, ordinal_), "cudaGetDeviceProperties");
    return std::string(properties.name) + ", " + std::to_string(properties.totalGlobalMem >> 20) +
           " MiB, matrix products by " +
           (blas_ ? blas_->describe() : "a kernel of ours (" + no_blas_ + ")");
  }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    choose();
    void* memory = nullptr;
    if (const cudaError_t error = cudaMalloc(&memory, bytes); error != cudaSuccess) {
      throw_cuda_error(error, "cudaMalloc of " + std::to_string(bytes) + " bytes" + free_memory());
    }
    CudaMemory owner(memory);
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream_.get()), "cudaMemsetAsync");
    return owner.release();
  }

  void release(void* memory) noexcept override { (void)cudaFree(memory); }

  void upload(void* to, const void* from, std::size_t bytes) override {
    choose();
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_.get()),
               "cudaMemcpyAsync to the device");
  }

  void download(void* to, const void* from, std::size_t bytes) override {
    choose();
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_.get()),
               "cudaMemcpyAsync from the device");
    check_cuda(cudaStreamSynchronize(stream_.get()), "one of the kernels before a download");
  }

  void run(const GatherBatch& op) override { launch(op, stream_.get()); }
  void run(const HiddenForward& op) override { launch(op, stream_.get()); }
  void run(const HiddenBackward& op) override { launch(op, stream_.get()); }
  void run(const Classify& op) override { launch(op, stream_.get()); }
  void run(const AddUp& op) override { launch(op, stream_.get()); }
  void run(const SgdUpdate& op) override { launch(op, stream_.get()); }
  void run(const AdamUpdate& op) override { launch(op, stream_.get()); }
  void advance(std::uint32_t* counter) override { launch_advance(counter, stream_.get()); }
  void run(const SumColumns& op) override {
    launch(op, static_cast<float*>(scratch_.get()), stream_.get());
  }
  void run(const Multiply& op) override {
    if (blas_) {
      blas_->multiply(op);
    } else {
      launch_multiply(op, stream_.get());
    }
  }

  [[nodiscard]] std::unique_ptr<Recording> record(
      const std::function<void()>& operations) override {
    choose();
    check_cuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaGraph_t captured = nullptr;
    try {
      operations();
    } catch (...) {
      (void)cudaStreamEndCapture(stream_.get(), &captured);
      const CudaGraph of_no_use(captured);
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream_.get(), &captured), "cudaStreamEndCapture");
    const CudaGraph graph(captured);
    cudaGraphExec_t executable = nullptr;
    check_cuda(cudaGraphInstantiate(&executable, captured, 0), "cudaGraphInstantiate");
    return std::make_unique<GraphRecording>(CudaGraphExec(executable), stream_.get());
  }

 private:
  // For people, of whom others may use the GPU, too.
  [[nodiscard]] static std::string free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return "";
    return ", where " + std::to_string(free) + " of " + std::to_string(total) + " are free";
  }

  // A thread of ours may have served a trial on another GPU before.
  void choose() const { check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice"); }

  int ordinal_;
  CudaStream stream_;
  CudaMemory scratch_;
  std::string no_blas_;
  std::unique_ptr<Blas> blas_;
};

}  // namespace

std::shared_ptr<Device> make_cuda_device(int ordinal, bool uses_cublas) {
  return std::make_shared<CudaDevice>(ordinal, uses_cublas);
}

std::string describe_cuda_device(int ordinal) { return make_cuda_device(ordinal)->describe(); }

CudaDevices cuda_devices() {
  CudaDevices devices;
  const cudaError_t error = cudaGetDeviceCount(&devices.count);
  if (error == cudaSuccess && devices.count > 0) return devices;
  devices.count = 0;
  switch (error) {
    case cudaErrorInsufficientDriver:
      devices.reason = "no NVIDIA driver, or one older than the CUDA that this was built with";
      break;
    case cudaSuccess:
    case cudaErrorNoDevice:
      devices.reason = "no GPU that this process may see";
      break;
    default:
      devices.reason =
          std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
  }
  return devices;
}

}  // namespace tune::trainables
