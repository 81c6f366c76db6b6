#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "trainables/mlp/device_operations.hpp"

namespace tune::trainables {

/// Matrix products by cuBLAS on one stream. The library is loaded at run time, for it is ten times
/// as large as all the rest, and what runs without it shall start without it.
class Blas {
 public:
  virtual ~Blas() = default;
  virtual void multiply(const Multiply& op) = 0;
  /// "cuBLAS 13.0.2".
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// Null where there is no cuBLAS, with the reason, for people, in `reason`. The library is looked
/// for by TUNE_CUBLAS_LIBRARY (a path; "none" for none), else as the loader finds it, else in
/// /usr/local/cuda.
[[nodiscard]] std::unique_ptr<Blas> load_blas(cudaStream_t stream, std::string& reason);

}  // namespace tune::trainables
