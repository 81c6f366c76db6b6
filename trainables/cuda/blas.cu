#include "trainables/cuda/blas.hpp"

#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "trainables/cuda/cuda_objects.hpp"

namespace tune::trainables {
namespace {

/// The functions of cuBLAS that are used here. Stays loaded once it is.
struct Library {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSgemm_v2) sgemm = nullptr;
  decltype(&cublasGetProperty) property = nullptr;
  decltype(&cublasGetStatusName) status_name = nullptr;
  std::string reason;  // why it is not there

  Library() {
    void* const handle = open();
    if (handle == nullptr) return;
    find(handle, "cublasCreate_v2", create);
    find(handle, "cublasDestroy_v2", destroy);
    find(handle, "cublasSetStream_v2", set_stream);
    find(handle, "cublasSetWorkspace_v2", set_workspace);
    find(handle, "cublasSgemm_v2", sgemm);
    find(handle, "cublasGetProperty", property);
    find(handle, "cublasGetStatusName", status_name);
  }

 private:
  void* open() {
    const char* const named = std::getenv("TUNE_CUBLAS_LIBRARY");
    std::vector<std::string> names;
    if (named != nullptr && *named != '\0') {
      if (std::string(named) == "none") {
        reason = "TUNE_CUBLAS_LIBRARY is none";
        return nullptr;
      }
      names = {named};
    } else {
      const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
      names = {name, "/usr/local/cuda/lib64/" + name};
    }
    for (const std::string& name : names) {
      if (void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        reason.clear();
        return handle;
      }
      reason += (reason.empty() ? "" : "; ") + std::string(::dlerror());
    }
    return nullptr;
  }

  template <class Function>
  void find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    if (function == nullptr) reason = std::string("libcublas has no ") + name;
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

void check_blas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string("cuda: ") + call + ": " + library().status_name(status));
}

class CuBlas final : public Blas {
 public:
  // Its workspace must not be allocated while a graph is recorded, so it gets one.
  explicit CuBlas(cudaStream_t stream) {
    check_blas(library().create(&handle_), "cublasCreate");
    try {
      check_blas(library().set_stream(handle_, stream), "cublasSetStream");
      void* workspace = nullptr;
      check_cuda(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc, cuBLAS's workspace");
      workspace_ = CudaMemory(workspace);
      check_blas(library().set_workspace(handle_, workspace, workspace_bytes),
                 "cublasSetWorkspace");
    } catch (...) {
      (void)library().destroy(handle_);
      throw;
    }
  }
  ~CuBlas() override { (void)library().destroy(handle_); }

  // cuBLAS's matrices stand column by column: it computes the transposed product of ours.
  void multiply(const Multiply& op) override {
    const float one = 1;
    const float zero = 0;
    const auto rows = static_cast<int>(op.rows);
    const auto inner = static_cast<int>(op.inner);
    const auto columns = static_cast<int>(op.columns);
    const cublasStatus_t status =
        library().sgemm(handle_, op.is_right_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                        op.is_left_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, columns, rows, inner,
                        &one, op.right, op.is_right_transposed ? inner : columns, op.left,
                        op.is_left_transposed ? rows : inner, &zero, op.product, columns);
    check_blas(status, "cublasSgemm");
  }

  [[nodiscard]] std::string describe() const override {
    std::string text = "cuBLAS ";
    for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
      int number = 0;
      check_blas(library().property(part, &number), "cublasGetProperty");
      text += (part == MAJOR_VERSION ? "" : ".") + std::to_string(number);
    }
    return text;
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{4} << 20;

  cublasHandle_t handle_ = nullptr;
  CudaMemory workspace_;
};

}  // namespace

std::unique_ptr<Blas> load_blas(cudaStream_t stream, std::string& reason) {
  reason = library().reason;
  if (!reason.empty()) return nullptr;
  return std::make_unique<CuBlas>(stream);
}

}  // namespace tune::trainables
