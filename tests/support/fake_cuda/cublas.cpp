#include "cublas_v2.h"

#include <Eigen/Core>

struct FakeBlas {
  cudaStream_t stream = nullptr;
  bool has_workspace = false;
};

namespace {

using Matrix = Eigen::Map<const Eigen::MatrixXf, 0, Eigen::OuterStride<>>;

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new FakeBlas;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->has_workspace = false;  // the real one, too, goes back to its own
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  handle->has_workspace = workspace != nullptr && bytes > 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t left,
                              cublasOperation_t right, int rows, int columns, int inner,
                              const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc) {
  const bool is_a_turned = left == CUBLAS_OP_T;
  const bool is_b_turned = right == CUBLAS_OP_T;
  if (rows < 0 || columns < 0 || inner < 0 || lda < std::max(1, is_a_turned ? inner : rows) ||
      ldb < std::max(1, is_b_turned ? columns : inner) || ldc < std::max(1, rows) || *alpha != 1 ||
      *beta != 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  // The real one would ask the driver for memory now.
  if (fake_cuda::is_recorded(handle->stream) && !handle->has_workspace) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  const cudaError_t error = fake_cuda::enqueue(handle->stream, [=] {
    const Matrix as_stored(a, is_a_turned ? inner : rows, is_a_turned ? rows : inner,
                           Eigen::OuterStride<>(lda));
    const Matrix bs_stored(b, is_b_turned ? columns : inner, is_b_turned ? inner : columns,
                           Eigen::OuterStride<>(ldb));
    Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>> product(c, rows, columns,
                                                                 Eigen::OuterStride<>(ldc));
    if (is_a_turned && is_b_turned) {
      product.noalias() = as_stored.transpose() * bs_stored.transpose();
    } else if (is_a_turned) {
      product.noalias() = as_stored.transpose() * bs_stored;
    } else if (is_b_turned) {
      product.noalias() = as_stored * bs_stored.transpose();
    } else {
      product.noalias() = as_stored * bs_stored;
    }
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : 0;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
  return "unknown";
}
}
