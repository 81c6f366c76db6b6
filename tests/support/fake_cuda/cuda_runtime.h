#pragma once

/// What our CUDA sources use of CUDA, for the CPU: with this folder before the toolkit's in the
/// include path they compile as C++, and their kernels run, thread by thread, on a GPU that is
/// played. It is as unfriendly as a real one may be:
///
/// - Streams do nothing until somebody waits for them, and nothing for one another.
/// - Blocks, and threads between two barriers, run in an order that differs from launch to launch
///   (TUNE_TEST_SEED draws others).
/// - Device memory is garbage at first, cannot be touched by the host, and ends at a page that
///   nobody may touch.
/// - A block of which some threads end and others wait (newer GPUs allow it), and what may not be
///   called while a stream is recorded, are errors. Dynamic shared memory is garbage at first, too,
///   and nothing may be written behind it.
///
/// It does not see updates that get lost because threads or blocks make them at the same time, what
/// is read from static shared memory that nobody wrote (zeros, or what the block before left), and
/// reads of up to 255 bytes behind a piece of memory (not numbers).
///
/// There are two of them (FAKE_CUDA_DEVICES: 0 to 2) with 8 GiB each (FAKE_CUDA_MIB).
///
/// Names, numbers and meanings are those of the CUDA runtime; what our sources do not use is not
/// here. Threads may share it: one of them runs at a time.
#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(threads)
// Static, where it is no declaration: one block runs at a time, and its threads are fibers of one
// thread.
#define __shared__ constinit thread_local

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(4) uchar4 {
  unsigned char x, y, z, w;
};

/// Of the thread that runs.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
void __syncthreads();

template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
};
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);

cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);

using cudaStream_t = struct FakeStream*;
constexpr unsigned cudaStreamNonBlocking = 1;
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
};
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* memory, int byte, std::size_t bytes, cudaStream_t stream);

using cudaEvent_t = struct FakeEvent*;
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

using cudaGraph_t = struct FakeGraph*;
using cudaGraphExec_t = struct FakeGraphExec*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
};

/// For those who play a library of CUDA.
namespace fake_cuda {

/// Queues what touches device memory.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> operation);
/// Queues a kernel: `thread` is called for each of its threads.
cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> thread);
[[nodiscard]] bool is_recorded(cudaStream_t stream);

/// For those who compile kernels: where the dynamic shared memory of this thread's kernels lies.
/// Kernels write no further than what their launch asked for. Returns where it lay before.
std::function<std::span<std::byte>()> set_dynamic_shared(
    std::function<std::span<std::byte>()> memory);

/// Pieces of memory, streams, events and graphs that were made and not destroyed.
[[nodiscard]] std::size_t live_objects();
/// After a kernel failed all calls do, as with the real one; but here it can be undone.
void forget_failure();

}  // namespace fake_cuda

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  return fake_cuda::launch(
      *config, [kernel, values = std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)] {
        std::apply(kernel, values);
      });
}
