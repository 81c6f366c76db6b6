#include "runtime/grant_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tune::runtime {
namespace {

struct ThreadVariable {
  std::string_view name;
  bool falls_back_to_openmp;  // reads OMP_NUM_THREADS if it is not set itself
};

constexpr std::string_view openmp_threads = "OMP_NUM_THREADS";
constexpr std::array<ThreadVariable, 7> thread_variables = {{{openmp_threads, false},
                                                             {"OPENBLAS_NUM_THREADS", true},
                                                             {"MKL_NUM_THREADS", true},
                                                             {"BLIS_NUM_THREADS", true},
                                                             {"NUMEXPR_NUM_THREADS", true},
                                                             {"VECLIB_MAXIMUM_THREADS", false},
                                                             {"RAYON_NUM_THREADS", false}}};
constexpr std::string_view cuda_devices = "CUDA_VISIBLE_DEVICES";

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::string assignment(std::string_view name, const std::string& value) {
  return std::string(name) + "=" + value;
}

std::string device_list(const ResourceGrant& grant, std::span<const std::string> program) {
  const std::optional<std::vector<std::string>> visible = visible_devices(program);
  std::string list;
  for (const int id : grant.gpu_ids) {
    const auto index = static_cast<std::size_t>(id);
    if (visible && (id < 0 || index >= visible->size())) {
      throw std::invalid_argument("gpu " + std::to_string(id) + " was granted, but " +
                                  std::string(cuda_devices) + " lists " +
                                  std::to_string(visible->size()) + " devices");
    }
    if (!list.empty()) list += ',';
    list += visible ? (*visible)[index] : std::to_string(id);
  }
  return list;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
}

}  // namespace

std::vector<std::string> program_environment() {
  std::vector<std::string> variables;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

std::optional<std::string> environment_value(std::span<const std::string> environment,
                                             std::string_view name) {
  std::optional<std::string> value;
  for (const std::string& variable : environment) {
    const bool is_it = variable.size() > name.size() && name_of(variable) == name;
    if (is_it) value = variable.substr(name.size() + 1);
  }
  return value;
}

std::optional<std::vector<std::string>> visible_devices(std::span<const std::string> program) {
  const std::optional<std::string> list = environment_value(program, cuda_devices);
  if (!list) return std::nullopt;
  std::vector<std::string> devices;
  for (std::size_t begin = 0; begin <= list->size();) {
    const std::size_t end = std::min(list->find(',', begin), list->size());
    std::string device = trimmed(std::string_view(*list).substr(begin, end - begin));
    if (device.empty() || device[0] == '-') break;
    devices.push_back(std::move(device));
    begin = end + 1;
  }
  return devices;
}

std::vector<std::string> grant_environment(const ResourceGrant& grant,
                                           std::span<const std::string> program) {
  const std::int64_t threads = std::max<std::int64_t>(1, grant.amounts.amount("cpu") / 1000);
  const bool is_openmp_set = environment_value(program, openmp_threads).has_value();
  std::vector<std::string> variables;
  for (const ThreadVariable& variable : thread_variables) {
    if (environment_value(program, variable.name)) continue;
    if (variable.falls_back_to_openmp && is_openmp_set) continue;
    variables.push_back(assignment(variable.name, std::to_string(threads)));
  }
  variables.push_back(assignment(cuda_devices, device_list(grant, program)));
  return variables;
}

std::vector<std::string> merged_environment(std::span<const std::string> program,
                                            std::span<const std::string> changes) {
  std::vector<std::string> merged;
  for (const std::string& variable : program) {
    if (!environment_value(changes, name_of(variable))) merged.push_back(variable);
  }
  merged.insert(merged.end(), changes.begin(), changes.end());
  return merged;
}

}  // namespace tune::runtime
