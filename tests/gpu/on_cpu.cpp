// The CUDA sources for a GPU that is played on the CPU.
#include <array>
#include <cstdlib>
#include <span>

#include "../../trainables/cuda/blas.cu"
#include "../../trainables/cuda/cuda_device.cu"
#include "../../trainables/cuda/kernels.cu"

namespace tune::trainables {
namespace {

// What the kernels declare.
alignas(16) constinit thread_local float tile[48 * 1024 / sizeof(float)];

[[maybe_unused]] const bool is_ready = [] {
  fake_cuda::set_dynamic_shared([] { return std::as_writable_bytes(std::span(tile)); });
  setenv("TUNE_CUBLAS_LIBRARY", TUNE_FAKE_CUBLAS, /*overwrite=*/1);
  return true;
}();

}  // namespace
}  // namespace tune::trainables
