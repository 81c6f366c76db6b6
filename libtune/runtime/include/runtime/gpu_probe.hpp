#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tune::runtime {

/// A GPU that trials can be given, or an instance of one that is divided (MIG).
struct Gpu {
  std::string uuid;          ///< "GPU-..." or "MIG-...": what CUDA_VISIBLE_DEVICES takes.
  std::string name;          ///< Of the model.
  std::uint64_t memory = 0;  ///< Bytes in all; 0 if the driver does not say.
};

struct GpuFindings {
  std::vector<Gpu> gpus;           ///< In the order in which CUDA counts them here.
  std::vector<std::string> notes;  ///< For people: what was left out, and why.

  /// For people, several lines: each GPU with its number, then the notes.
  [[nodiscard]] std::string describe() const;
};

/// A process that holds memory of a GPU.
struct GpuProcess {
  std::int64_t pid = 0;
  std::uint64_t memory = 0;  ///< Bytes; 0 if the driver does not say.
};

/// NVIDIA's management library, loaded at run time: `TUNE_NVML_LIBRARY` (a path) if that is set,
/// else libnvidia-ml.so.1. It makes no context on any GPU.
class GpuLibrary {
 public:
  /// Never throws: where there is no library or no driver there are no GPUs.
  GpuLibrary();
  ~GpuLibrary();
  GpuLibrary(const GpuLibrary&) = delete;
  GpuLibrary& operator=(const GpuLibrary&) = delete;

  /// Those that this program may use: all, or what CUDA_VISIBLE_DEVICES of `environment` names, by
  /// number or UUID. Where a GPU is divided, its instances stand for it.
  [[nodiscard]] GpuFindings find(std::span<const std::string> environment) const;
  /// Who computes on the GPU of that UUID; nothing if the driver does not say.
  [[nodiscard]] std::optional<std::vector<GpuProcess>> processes(const std::string& uuid) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// `environment` with the UUIDs of the GPUs that were found in CUDA_VISIBLE_DEVICES, so that no
/// number means one GPU to NVML and another to CUDA; unchanged where none was found.
[[nodiscard]] std::vector<std::string> with_named_gpus(std::vector<std::string> environment,
                                                       std::span<const std::string> uuids);

}  // namespace tune::runtime
