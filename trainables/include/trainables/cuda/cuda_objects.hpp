#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tune::trainables {

/// What CUDA says of a failed call, with the call's name.
[[noreturn]] inline void throw_cuda_error(cudaError_t error, const std::string& what) {
  throw std::runtime_error("cuda: " + what + ": " + cudaGetErrorString(error) + " (" +
                           cudaGetErrorName(error) + ")");
}

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw_cuda_error(error, what);
}

/// Owns a handle of CUDA. @tparam destroy its errors are of no use: the context may be broken
template <class Handle, cudaError_t (*destroy)(Handle)>
class CudaObject {
 public:
  CudaObject() = default;
  explicit CudaObject(Handle handle) : handle_(handle) {}
  CudaObject(CudaObject&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CudaObject& operator=(CudaObject&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  CudaObject(const CudaObject&) = delete;
  CudaObject& operator=(const CudaObject&) = delete;
  ~CudaObject() {
    if (handle_ != nullptr) (void)destroy(handle_);
  }
  [[nodiscard]] Handle get() const { return handle_; }
  /// Somebody else destroys it.
  [[nodiscard]] Handle release() { return std::exchange(handle_, nullptr); }

 private:
  Handle handle_ = nullptr;
};

using CudaStream = CudaObject<cudaStream_t, cudaStreamDestroy>;
using CudaEvent = CudaObject<cudaEvent_t, cudaEventDestroy>;
using CudaGraph = CudaObject<cudaGraph_t, cudaGraphDestroy>;
using CudaGraphExec = CudaObject<cudaGraphExec_t, cudaGraphExecDestroy>;
using CudaMemory = CudaObject<void*, cudaFree>;

}  // namespace tune::trainables
