// A library in the place of NVIDIA's: what it tells stands in the file that FAKE_NVML names, a line
// each, read again at each call:
//
//   init 9                        nvmlInit fails with this error
//   gpu GPU-1 1000 Fake 1000      UUID, MiB, name
//   broken 15                     the GPU before: nothing can be asked of it
//   nameless 3                    the GPU before: it has no UUID
//   mig                           the GPU before: it is divided
//   instance MIG-1 200 Fake 1g    into this one: UUID, MiB, name
//   process 1234 50               on the GPU or instance before: pid, MiB
//
// Nobody is told who computes on all of a GPU that is divided. The file that FAKE_NVML_STARTED
// names grows by a byte with each nvmlInit, that of FAKE_NVML_ASKED whenever processes are asked
// for.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
struct Device {
  std::string uuid, name;
  std::uint64_t memory = 0;
  int broken = 0;
  int nameless = 0;
  bool is_divided = false;
  std::vector<Device> instances;
  std::vector<Process> processes;
};

int init_error = 0;
std::vector<Device> devices;

Device read_device(std::istream& words) {
  Device device;
  words >> device.uuid >> device.memory >> std::ws;
  device.memory <<= 20;
  std::getline(words, device.name);
  return device;
}

void read() {
  init_error = 0;
  devices.clear();
  const char* const path = std::getenv("FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "init") words >> init_error;
    if (what == "gpu") devices.push_back(read_device(words));
    if (what == "broken") words >> devices.back().broken;
    if (what == "nameless") words >> devices.back().nameless;
    if (what == "mig") devices.back().is_divided = true;
    if (what == "instance") devices.back().instances.push_back(read_device(words));
    if (what == "process") {
      Process process{};
      words >> process.pid >> process.memory;
      process.memory <<= 20;
      Device& device = devices.back();
      (device.instances.empty() ? device : device.instances.back()).processes.push_back(process);
    }
  }
}

void count_in(const char* variable) {
  if (const char* const file = std::getenv(variable)) std::ofstream(file, std::ios::app) << '.';
}

int copy(const std::string& text, char* to, unsigned size) {
  if (text.size() >= size) return 7;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  count_in("FAKE_NVML_STARTED");
  read();
  return init_error;
}
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int error) {
  return error == 15 ? "GPU is lost" : error == 9 ? "Driver Not Loaded" : "Not Supported";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  read();  // handles of before are of no use any more
  *count = static_cast<unsigned>(devices.size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  if (index >= devices.size()) return 6;
  *device = &devices[index];
  return devices[index].broken;
}
int nvmlDeviceGetUUID(Device* device, char* text, unsigned size) {
  return device->nameless != 0 ? device->nameless : copy(device->uuid, text, size);
}
int nvmlDeviceGetName(Device* device, char* text, unsigned size) {
  return copy(device->name, text, size);
}
int nvmlDeviceGetMemoryInfo(Device* device, unsigned long long* memory) {
  memory[0] = device->memory;
  memory[1] = device->memory;
  memory[2] = 0;
  return 0;
}
int nvmlDeviceGetMigMode(Device* device, unsigned* now, unsigned* later) {
  *now = *later = device->is_divided ? 1 : 0;
  return 0;
}
int nvmlDeviceGetMaxMigDeviceCount(Device*, unsigned* count) {
  *count = 7;
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device* device, unsigned index, Device** instance) {
  if (index >= device->instances.size()) return 6;
  *instance = &device->instances[index];
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device* device, unsigned* count, Process* processes) {
  count_in("FAKE_NVML_ASKED");
  if (device->is_divided) return 4;
  const unsigned room = *count;
  *count = static_cast<unsigned>(device->processes.size());
  if (room < *count) return 7;
  for (unsigned i = 0; i < *count; ++i) processes[i] = device->processes[i];
  return 0;
}
}
