#pragma once

#include <memory>

#include "trainables/mlp/device.hpp"

namespace tune::trainables {

/// A GPU, with a stream of its own.
/// @param ordinal as CUDA counts those that this process sees
/// @param uses_cublas false: matrix products by our own kernel even where cuBLAS is there
/// @throws std::runtime_error naming the call that failed and why.
[[nodiscard]] std::shared_ptr<Device> make_cuda_device(int ordinal, bool uses_cublas = true);

}  // namespace tune::trainables
