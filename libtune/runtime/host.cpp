#include "runtime/host.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/number_text.hpp"
#include "runtime/gpu_probe.hpp"
#include "runtime/grant_environment.hpp"
#include "runtime/usable_machine.hpp"

namespace tune::runtime {
namespace {

std::string first_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "127.0.0.1";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size())) return text.data();
  }
  return "127.0.0.1";
}

// Where nothing is found, numbers that are given count: for what only CUDA knows.
void check_gpus(double gpus, const GpuFindings& findings,
                const std::vector<std::string>& environment) {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument("local.gpus is " + core::number_text(gpus) + ", but " + what);
  };
  const auto count = findings.gpus.size();
  if (count > 0 && gpus > static_cast<double>(count)) {
    refuse(std::to_string(count) + " were found:\n" + findings.describe());
  }
  const auto listed = visible_devices(environment);
  if (listed && gpus > static_cast<double>(listed->size())) {
    refuse("CUDA_VISIBLE_DEVICES lists " + std::to_string(listed->size()) + " devices");
  }
}

std::vector<std::string> uuids_of(const GpuFindings& findings) {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : findings.gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

// NVML takes its time to start, and a GPU may be lost meanwhile: so it is asked once.
std::vector<std::string> settle_gpus(LocalResources& local) {
  if (local.gpus == 0) return {};
  const std::vector<std::string> environment = program_environment();
  const GpuFindings findings = GpuLibrary().find(environment);
  if (local.gpus > 0) check_gpus(local.gpus, findings, environment);
  if (local.gpus < 0) local.gpus = static_cast<double>(findings.gpus.size());
  return uuids_of(findings);
}

std::string discovered_text(const std::string& name, std::int64_t amount) {
  ResourceAmounts amounts;
  amounts.set(name, amount);
  return amounts.describe();
}

}  // namespace

Host local_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  return {name[0] != '\0' ? name.data() : "localhost", first_address(), ::getpid()};
}

LocalMachine local_machine(LocalResources local) {
  std::vector<std::string> gpus = settle_gpus(local);
  if (local.cpus < 0 || local.memory == 0) {
    const UsableMachine machine = usable_machine();
    if (local.cpus < 0) local.cpus = static_cast<double>(machine.cpu) / 1000;
    if (local.memory == 0) local.memory = machine.memory;
  }
  return {ResourceAmounts(local), std::move(gpus)};
}

std::vector<std::string> found_gpus() { return uuids_of(GpuLibrary().find(program_environment())); }

std::string explain_capacity(const LocalResources& local, const ResourceAmounts& request) {
  const UsableMachine machine = usable_machine();
  std::string text;
  if (local.cpus < 0 && request.amount("cpu") > machine.cpu) {
    text = std::to_string(machine.cores.size()) + " cores in this process's affinity";
    if (!machine.cpu_quota.empty()) {
      text += ", " + discovered_text("cpu", machine.cpu) + " by " + machine.cpu_quota;
    }
  }
  const auto memory = static_cast<std::int64_t>(machine.memory);
  if (local.memory == 0 && request.amount("memory") > memory) {
    if (!text.empty()) text += "; ";
    text += machine.memory == 0 ? "no memory size" : discovered_text("memory", memory);
    if (!machine.memory_limit.empty()) text += " by " + machine.memory_limit;
  }
  if (local.gpus < 0 && request.amount("gpu") > 0) {
    const GpuFindings findings = GpuLibrary().find(program_environment());
    if (request.amount("gpu") > std::ssize(findings.gpus) * 1000) {
      text += (text.empty() ? "" : "; ") + std::to_string(findings.gpus.size()) + " GPUs";
      for (const std::string& note : findings.notes) text += ", " + note;
    }
  }
  return text;
}

}  // namespace tune::runtime
