#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "cuda_runtime.h"
#include "kernel.hpp"
#include "memory.hpp"

using Operation = std::function<void()>;
using Clock = std::chrono::steady_clock;

struct FakeGraph {
  std::vector<Operation> operations;
};
struct FakeGraphExec {
  std::vector<Operation> operations;
};
struct FakeStream {
  int device = 0;
  std::deque<Operation> queue;
  std::unique_ptr<FakeGraph> recording;
  std::thread::id recorder;  // who began the recording
  bool is_spoilt = false;    // by a call that may not be in a recording
};
struct FakeEvent {
  FakeStream* stream = nullptr;  // where it was recorded last
  Clock::time_point time;
  bool is_over = true;
};

namespace {

class Runtime {
 public:
  static constexpr int most_devices = 2;

  std::recursive_mutex mutex;
  fake_cuda::Memory memory;
  fake_cuda::KernelRunner kernels;
  std::set<FakeStream*> streams;
  std::set<FakeEvent*> events;
  std::set<FakeGraph*> graphs;
  std::set<FakeGraphExec*> executables;
  cudaError_t failure = cudaSuccess;  // stays

  [[nodiscard]] FakeStream* find(FakeStream* stream) {
    if (stream == nullptr) return &default_streams_[current_device()];
    return streams.contains(stream) ? stream : nullptr;
  }

  [[nodiscard]] static int devices() {
    const char* const given = std::getenv("FAKE_CUDA_DEVICES");
    return given == nullptr ? most_devices : std::clamp(std::atoi(given), 0, most_devices);
  }
  static int& current_device() {
    thread_local int device = 0;
    return device;
  }

  /// What waits, or asks the driver for memory, is not allowed to a thread that records.
  [[nodiscard]] bool spoils_recording() {
    bool spoils = false;
    for (FakeStream* const stream : streams) {
      if (stream->recording && stream->recorder == std::this_thread::get_id()) {
        stream->is_spoilt = spoils = true;
      }
    }
    return spoils;
  }

  cudaError_t finish(FakeStream& stream) {
    const fake_cuda::Memory::Access access(memory, stream.device);
    while (!stream.queue.empty() && failure == cudaSuccess) {
      const Operation operation = std::move(stream.queue.front());
      stream.queue.pop_front();
      operation();
    }
    return failure;
  }

  cudaError_t finish_all() {
    for (FakeStream& stream : default_streams_) (void)finish(stream);
    for (FakeStream* const stream : streams) (void)finish(*stream);
    return failure;
  }

  void drop_all() {
    for (FakeStream& stream : default_streams_) stream.queue.clear();
    for (FakeStream* const stream : streams) stream->queue.clear();
  }

 private:
  static std::array<FakeStream, most_devices> make_default_streams() {
    std::array<FakeStream, most_devices> made;
    for (int device = 0; device < most_devices; ++device) made[device].device = device;
    return made;
  }

  std::array<FakeStream, most_devices> default_streams_ = make_default_streams();
};

Runtime& runtime() {
  static auto* const one = new Runtime;  // alive until the process ends
  return *one;
}

using Lock = std::scoped_lock<std::recursive_mutex>;

template <class T>
cudaError_t destroy(std::set<T*>& owned, T* handle) {
  if (owned.erase(handle) == 0) return cudaErrorInvalidResourceHandle;
  delete handle;
  return cudaSuccess;
}

}  // namespace

void __syncthreads() { runtime().kernels.wait(); }

namespace fake_cuda {

cudaError_t enqueue(cudaStream_t handle, Operation operation) {
  const Lock lock(runtime().mutex);
  FakeStream* const stream = runtime().find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (runtime().failure != cudaSuccess) return runtime().failure;
  if (stream->recording) {
    stream->recording->operations.push_back(std::move(operation));
  } else {
    stream->queue.push_back(std::move(operation));
  }
  return cudaSuccess;
}

cudaError_t launch(const cudaLaunchConfig_t& config, Operation thread) {
  const Lock lock(runtime().mutex);
  const std::size_t threads =
      std::size_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  const dim3& grid = config.gridDim;
  if (threads == 0 || threads > 1024 || config.dynamicSmemBytes > 48 * 1024 || grid.x == 0 ||
      grid.x > 0x7fffffff || grid.y == 0 || grid.y > 65535 || grid.z == 0 || grid.z > 65535) {
    return cudaErrorInvalidConfiguration;
  }
  const FakeStream* const stream = runtime().find(config.stream);
  // A kernel goes to streams of the current device alone.
  if (stream == nullptr || stream->device != Runtime::current_device()) {
    return cudaErrorInvalidResourceHandle;
  }
  return enqueue(config.stream, [config, thread = std::move(thread)] {
    if (!runtime().kernels.run(config, thread)) runtime().failure = cudaErrorLaunchFailure;
  });
}

bool is_recorded(cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  const FakeStream* const found = runtime().find(stream);
  return found != nullptr && found->recording != nullptr;
}

std::function<std::span<std::byte>()> set_dynamic_shared(
    std::function<std::span<std::byte>()> memory) {
  const Lock lock(runtime().mutex);
  return std::exchange(runtime().kernels.dynamic_shared, std::move(memory));
}

std::size_t live_objects() {
  const Lock lock(runtime().mutex);
  const Runtime& all = runtime();
  return all.memory.pieces() + all.streams.size() + all.events.size() + all.graphs.size() +
         all.executables.size();
}

void forget_failure() {
  const Lock lock(runtime().mutex);
  runtime().drop_all();
  runtime().failure = cudaSuccess;
}

}  // namespace fake_cuda

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
  }
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = Runtime::devices();
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int ordinal) {
  if (ordinal < 0 || ordinal >= Runtime::devices()) return cudaErrorInvalidDevice;
  Runtime::current_device() = ordinal;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  if (ordinal < 0 || ordinal >= Runtime::devices()) return cudaErrorInvalidDevice;
  std::strcpy(properties->name, "a GPU that is played on the CPU");
  properties->totalGlobalMem = fake_cuda::Memory::bytes_of_device();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const Lock lock(runtime().mutex);
  return runtime().spoils_recording() ? cudaErrorStreamCaptureUnsupported : runtime().finish_all();
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const Lock lock(runtime().mutex);
  *total = fake_cuda::Memory::bytes_of_device();
  *free = *total - std::min(*total, runtime().memory.used(Runtime::current_device()));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const Lock lock(runtime().mutex);
  *memory = nullptr;
  if (runtime().spoils_recording()) return cudaErrorStreamCaptureUnsupported;
  if (bytes == 0) return cudaSuccess;
  *memory = runtime().memory.allocate(bytes, Runtime::current_device());
  return *memory == nullptr ? cudaErrorMemoryAllocation : runtime().failure;
}

// Waits for everything, as the real one does.
cudaError_t cudaFree(void* memory) {
  const Lock lock(runtime().mutex);
  if (runtime().spoils_recording()) return cudaErrorStreamCaptureUnsupported;
  if (memory == nullptr) return cudaSuccess;
  const cudaError_t error = runtime().finish_all();
  return runtime().memory.release(memory) ? error : cudaErrorInvalidValue;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Lock lock(runtime().mutex);
  if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;  // others are not played
  *stream = new FakeStream;
  (*stream)->device = Runtime::current_device();
  runtime().streams.insert(*stream);
  return runtime().failure;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  if (!runtime().streams.contains(stream)) return cudaErrorInvalidResourceHandle;
  (void)runtime().finish(*stream);
  return destroy(runtime().streams, stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const Lock lock(runtime().mutex);
  FakeStream* const stream = runtime().find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (runtime().spoils_recording()) return cudaErrorStreamCaptureUnsupported;
  return runtime().finish(*stream);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  const fake_cuda::Memory& memory = runtime().memory;
  if (memory.has(to, bytes) != (kind != cudaMemcpyDeviceToHost) ||
      memory.has(from, bytes) != (kind != cudaMemcpyHostToDevice)) {
    return cudaErrorInvalidValue;
  }
  if (kind == cudaMemcpyDeviceToDevice) {
    return fake_cuda::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  // What is played is memory of the host that is not pinned.
  if (fake_cuda::is_recorded(stream)) {
    stream->is_spoilt = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  if (kind == cudaMemcpyDeviceToHost) {
    return fake_cuda::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  const auto* const begin = static_cast<const std::byte*>(from);
  return fake_cuda::enqueue(stream, [to, copy = std::vector<std::byte>(begin, begin + bytes)] {
    std::memcpy(to, copy.data(), copy.size());
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const Lock lock(runtime().mutex);
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  if (error != cudaSuccess || kind != cudaMemcpyDeviceToHost) return error;
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  if (!runtime().memory.has(memory, bytes)) return cudaErrorInvalidValue;
  return fake_cuda::enqueue(stream, [=] { std::memset(memory, byte, bytes); });
}

cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  return cudaMemsetAsync(memory, byte, bytes, nullptr);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const Lock lock(runtime().mutex);
  *event = new FakeEvent;
  runtime().events.insert(*event);
  return runtime().failure;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(runtime().mutex);
  if (runtime().events.contains(event) && !event->is_over) (void)runtime().finish(*event->stream);
  return destroy(runtime().events, event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  event->stream = runtime().find(stream);
  event->is_over = false;
  return fake_cuda::enqueue(stream, [event] {
    event->time = Clock::now();
    event->is_over = true;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(runtime().mutex);
  if (runtime().spoils_recording()) return cudaErrorStreamCaptureUnsupported;
  return event->is_over ? runtime().failure : runtime().finish(*event->stream);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const Lock lock(runtime().mutex);
  if (!begin->is_over || !end->is_over) return cudaErrorInvalidValue;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(runtime().mutex);
  if (!runtime().streams.contains(stream)) return cudaErrorInvalidResourceHandle;
  if (stream->recording) return cudaErrorStreamCaptureUnsupported;
  stream->recording = std::make_unique<FakeGraph>();
  stream->recorder = std::this_thread::get_id();
  stream->is_spoilt = false;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(runtime().mutex);
  *graph = nullptr;
  if (!runtime().streams.contains(stream)) return cudaErrorInvalidResourceHandle;
  const std::unique_ptr<FakeGraph> recording = std::move(stream->recording);
  if (!recording || stream->is_spoilt) return cudaErrorStreamCaptureUnsupported;
  *graph = new FakeGraph(*recording);
  runtime().graphs.insert(*graph);
  return runtime().failure;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  const Lock lock(runtime().mutex);
  if (!runtime().graphs.contains(graph) || flags != 0) return cudaErrorInvalidValue;
  *executable = new FakeGraphExec{graph->operations};
  runtime().executables.insert(*executable);
  return runtime().failure;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  if (!runtime().executables.contains(executable)) return cudaErrorInvalidResourceHandle;
  for (const Operation& operation : executable->operations) {
    if (const cudaError_t error = fake_cuda::enqueue(stream, operation); error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Lock lock(runtime().mutex);
  return destroy(runtime().graphs, graph);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Lock lock(runtime().mutex);
  return destroy(runtime().executables, executable);
}
