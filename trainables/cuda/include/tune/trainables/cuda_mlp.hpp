#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <tune/config.hpp>
#include <tune/metrics.hpp>
#include <tune/trainable.hpp>
#include <tune/trainables/mlp.hpp>

namespace tune::trainables {

/// The network of Mlp on an NVIDIA GPU: the same keys of the configuration, the same metrics, and
/// checkpoints that either of the two goes on from.
///
/// The images are copied to the device once a process. A trial trains with kernels of ours and
/// multiplies matrices by cuBLAS, where libcublas is found (`TUNE_CUBLAS_LIBRARY` names one), else
/// by a kernel of ours, too. All in single precision, without TF32: what it computes differs from
/// Mlp by rounding alone. It takes the first GPU that the trial was granted; several trials can
/// share one (`.resources = {.gpu = 0.25}`).
///
/// Errors of CUDA are a std::runtime_error naming the call or kernel. The worker process that met
/// one ends with its trial. Kernels run behind: `CUDA_LAUNCH_BLOCKING=1` finds which one it was.
class CudaMlp final : public Trainable {
 public:
  CudaMlp();
  ~CudaMlp() override;

  /// @throws InvalidConfig; std::runtime_error if the trial was granted no GPU or none can be used,
  /// or naming a data file that is missing or damaged.
  void setup(const Config& config) override;
  Metrics step() override;
  void save_checkpoint(const std::filesystem::path& dir) override;
  void load_checkpoint(const std::filesystem::path& dir) override;
  bool reset_config(const Config& config) override;
  /// Gives the device's memory back.
  void cleanup() override;

  /// How the network does on the data set's test images, which nothing else here looks at.
  [[nodiscard]] Evaluation evaluate_test();
  /// For people: the device, and how it multiplies matrices.
  [[nodiscard]] std::string device() const;

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

/// How many GPUs this process can use, at most what CUDA_VISIBLE_DEVICES lets it see.
struct CudaDevices {
  int count = 0;
  std::string reason;  ///< Why there is none, for people; empty if there are some.
};

/// Never throws; a machine without a driver has none. In a program that starts trials it makes no
/// context on any GPU.
[[nodiscard]] CudaDevices cuda_devices();

/// For people: what that GPU is, and how it multiplies matrices. Makes a context on it.
/// @throws std::runtime_error naming the call of CUDA that failed.
[[nodiscard]] std::string describe_cuda_device(int ordinal);

}  // namespace tune::trainables
