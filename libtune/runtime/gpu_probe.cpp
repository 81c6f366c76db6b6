#include "runtime/gpu_probe.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "runtime/grant_environment.hpp"

namespace tune::runtime {
namespace nvml {

// The few of NVML's declarations that are needed: no header of it is packaged. All of them keep
// their meaning; those that changed have a version in their name.
using Return = int;
using Device = struct DeviceObject*;
constexpr Return success = 0;
constexpr Return insufficient_size = 7;
struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

using Text = std::array<char, 96>;

struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*by_index)(unsigned, Device*) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*memory)(Device, Memory*) = nullptr;
  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*mig_count)(Device, unsigned*) = nullptr;
  Return (*mig_by_index)(Device, unsigned, Device*) = nullptr;
  Return (*processes)(Device, unsigned*, Process*) = nullptr;
};

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

}  // namespace nvml

namespace {

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

std::string GpuFindings::describe() const {
  std::string text;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const Gpu& gpu = gpus[i];
    text += "gpu " + std::to_string(i) + ": " + gpu.name + ", " +
            (gpu.memory == 0 ? "memory not known" : megabytes(gpu.memory)) + ", " + gpu.uuid + "\n";
  }
  if (gpus.empty()) text += "no GPU\n";
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

struct GpuLibrary::Implementation {
  std::unique_ptr<void, nvml::CloseLibrary> library;
  nvml::Functions functions;
  bool is_up = false;
  std::string fault;  // why it is not

  struct Part {
    nvml::Device device = nullptr;
    Gpu gpu;
  };
  struct Found {
    std::size_t number = 0;  // NVML's
    Part whole;
    std::vector<Part> instances = {};
    bool is_divided = false;
  };

  Implementation();
  ~Implementation() {
    if (is_up) functions.shutdown();
  }

  template <class Function>
  void load(const char* symbol, Function& function, bool is_needed = true);
  [[nodiscard]] std::string reason(nvml::Return error) const {
    return std::string(functions.error_string(error)) + " (" + std::to_string(error) + ")";
  }
  [[nodiscard]] std::optional<Gpu> describe(nvml::Device device, std::string& fault_text) const;
  void divide(Found& found) const;
  [[nodiscard]] std::vector<Found> all(std::vector<std::string>& notes) const;
  [[nodiscard]] std::optional<std::vector<GpuProcess>> processes(nvml::Device device) const;
};

GpuLibrary::Implementation::Implementation() {
  const char* const named = std::getenv("TUNE_NVML_LIBRARY");
  const char* const path = named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
  library.reset(::dlopen(path, RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    fault = "no NVIDIA driver: " + std::string(::dlerror());
    return;
  }
  load("nvmlInit_v2", functions.init);
  load("nvmlShutdown", functions.shutdown);
  load("nvmlErrorString", functions.error_string);
  load("nvmlDeviceGetCount_v2", functions.count);
  load("nvmlDeviceGetHandleByIndex_v2", functions.by_index);
  load("nvmlDeviceGetUUID", functions.uuid);
  load("nvmlDeviceGetName", functions.name);
  load("nvmlDeviceGetMemoryInfo", functions.memory);
  // Drivers from before MIG do not have these.
  load("nvmlDeviceGetMigMode", functions.mig_mode, false);
  load("nvmlDeviceGetMaxMigDeviceCount", functions.mig_count, false);
  load("nvmlDeviceGetMigDeviceHandleByIndex", functions.mig_by_index, false);
  load("nvmlDeviceGetComputeRunningProcesses_v3", functions.processes, false);
  if (!fault.empty()) return;
  const nvml::Return started = functions.init();
  is_up = started == nvml::success;
  if (!is_up) fault = "NVML does not start: " + reason(started);
}

template <class Function>
void GpuLibrary::Implementation::load(const char* symbol, Function& function, bool is_needed) {
  function = reinterpret_cast<Function>(::dlsym(library.get(), symbol));
  if (function == nullptr && is_needed && fault.empty()) {
    fault = std::string("NVML has no ") + symbol + ": the driver is too old";
  }
}

std::optional<Gpu> GpuLibrary::Implementation::describe(nvml::Device device,
                                                        std::string& fault_text) const {
  Gpu gpu;
  nvml::Text text{};
  if (const nvml::Return error = functions.uuid(device, text.data(), text.size());
      error != nvml::success) {
    fault_text = "no UUID: " + reason(error);
    return std::nullopt;
  }
  gpu.uuid = text.data();
  text = {};
  gpu.name =
      functions.name(device, text.data(), text.size()) == nvml::success ? text.data() : "GPU";
  nvml::Memory memory{};
  if (functions.memory(device, &memory) == nvml::success) gpu.memory = memory.total;
  return gpu;
}

void GpuLibrary::Implementation::divide(Found& found) const {
  unsigned now = 0;
  unsigned later = 0;
  if (functions.mig_mode == nullptr || functions.mig_count == nullptr ||
      functions.mig_by_index == nullptr)
    return;
  if (functions.mig_mode(found.whole.device, &now, &later) != nvml::success || now == 0) return;
  found.is_divided = true;
  unsigned most = 0;
  if (functions.mig_count(found.whole.device, &most) != nvml::success) return;
  for (unsigned i = 0; i < most; ++i) {
    nvml::Device instance = nullptr;
    if (functions.mig_by_index(found.whole.device, i, &instance) != nvml::success)
      continue;  // none there
    std::string ignored;
    std::optional<Gpu> gpu = describe(instance, ignored);
    if (gpu) found.instances.push_back({instance, *std::move(gpu)});
  }
}

std::vector<GpuLibrary::Implementation::Found> GpuLibrary::Implementation::all(
    std::vector<std::string>& notes) const {
  std::vector<Found> found;
  unsigned count = 0;
  if (const nvml::Return error = functions.count(&count); error != nvml::success) {
    notes.push_back("NVML cannot count GPUs: " + reason(error));
    return found;
  }
  for (unsigned i = 0; i < count; ++i) {
    const std::string place = "NVML's GPU " + std::to_string(i) + ": ";
    nvml::Device device = nullptr;
    if (const nvml::Return error = functions.by_index(i, &device); error != nvml::success) {
      notes.push_back(place + reason(error));
      continue;
    }
    std::string fault_text;
    std::optional<Gpu> gpu = describe(device, fault_text);
    if (!gpu) {
      notes.push_back(place + fault_text);
      continue;
    }
    Found one{.number = i, .whole = {device, *std::move(gpu)}};
    divide(one);
    if (one.is_divided && one.instances.empty()) {
      notes.push_back(place + one.whole.gpu.name + " is in MIG mode and has no instance");
    }
    found.push_back(std::move(one));
  }
  return found;
}

GpuLibrary::GpuLibrary() : implementation_(std::make_unique<Implementation>()) {}
GpuLibrary::~GpuLibrary() = default;

GpuFindings GpuLibrary::find(std::span<const std::string> environment) const {
  using Found = Implementation::Found;
  GpuFindings findings;
  if (!implementation_->is_up) {
    findings.notes.push_back(implementation_->fault);
    return findings;
  }
  const std::vector<Found> all = implementation_->all(findings.notes);
  const auto take = [&](const Found& found) {
    if (found.is_divided) {
      for (const Implementation::Part& part : found.instances) findings.gpus.push_back(part.gpu);
    } else {
      findings.gpus.push_back(found.whole.gpu);
    }
  };
  const std::optional<std::vector<std::string>> visible = visible_devices(environment);
  if (!visible) {
    for (const Found& found : all) take(found);
    return findings;
  }
  // As CUDA reads it: what it does not know hides all behind it.
  for (const std::string& wanted : *visible) {
    const std::size_t before = findings.gpus.size();
    for (const Found& found : all) {
      const bool is_number_of_it = is_number(wanted) && wanted == std::to_string(found.number);
      if (is_number_of_it || found.whole.gpu.uuid.starts_with(wanted)) take(found);
      for (const Implementation::Part& part : found.instances) {
        if (part.gpu.uuid.starts_with(wanted)) findings.gpus.push_back(part.gpu);
      }
    }
    if (findings.gpus.size() == before) {
      findings.notes.push_back(
          "CUDA_VISIBLE_DEVICES names " + wanted +
          ", which is none of the GPUs here; that hides what it names after it");
      break;
    }
  }
  findings.notes.push_back("CUDA_VISIBLE_DEVICES lists " + std::to_string(visible->size()) +
                           "; the driver knows " + std::to_string(all.size()) + " GPUs");
  return findings;
}

std::optional<std::vector<GpuProcess>> GpuLibrary::Implementation::processes(
    nvml::Device device) const {
  std::vector<nvml::Process> processes(64);
  for (;;) {
    auto count = static_cast<unsigned>(processes.size());
    const nvml::Return error = functions.processes(device, &count, processes.data());
    if (error == nvml::insufficient_size && processes.size() < 65536) {
      processes.resize(processes.size() * 2);
      continue;
    }
    if (error != nvml::success) return std::nullopt;
    processes.resize(count);
    break;
  }
  std::vector<GpuProcess> list;
  constexpr auto not_known = ~0ULL;
  for (const nvml::Process& process : processes) {
    list.push_back({process.pid, process.used_memory == not_known ? 0 : process.used_memory});
  }
  return list;
}

std::optional<std::vector<GpuProcess>> GpuLibrary::processes(const std::string& uuid) const {
  if (!implementation_->is_up || implementation_->functions.processes == nullptr)
    return std::nullopt;
  std::vector<std::string> ignored;
  for (const Implementation::Found& found : implementation_->all(ignored)) {
    if (found.whole.gpu.uuid == uuid) return implementation_->processes(found.whole.device);
    // Who is not root may ask for an instance, but not for all of a divided GPU; the host of
    // virtual GPUs the other way round.
    for (const Implementation::Part& part : found.instances) {
      if (part.gpu.uuid != uuid) continue;
      auto of_instance = implementation_->processes(part.device);
      return of_instance ? of_instance : implementation_->processes(found.whole.device);
    }
  }
  return std::nullopt;
}

std::vector<std::string> with_named_gpus(std::vector<std::string> environment,
                                         std::span<const std::string> uuids) {
  if (uuids.empty()) return environment;
  std::string named = "CUDA_VISIBLE_DEVICES=";
  for (const std::string& uuid : uuids) named += (named.back() == '=' ? "" : ",") + uuid;
  return merged_environment(environment, std::span(&named, 1));
}

}  // namespace tune::runtime
