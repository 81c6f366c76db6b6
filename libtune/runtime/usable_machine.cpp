#include "runtime/usable_machine.hpp"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>

#include "runtime/cgroups.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

using UsableCores = std::optional<std::vector<int>>;

/// Ids from a list such as "0-3,8"; empty if it is not one, or lists none.
UsableCores parse_core_list(std::string_view text) {
  constexpr std::int64_t most = 1 << 20;
  std::vector<int> cores;
  const std::vector<std::string> words = words_of(text);
  if (words.size() != 1) return std::nullopt;
  std::string_view rest = words[0];
  while (!rest.empty()) {
    const std::string_view range = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(range.size() + 1, rest.size()));
    const std::size_t dash = range.find('-');
    const auto first = whole_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= most) return std::nullopt;
    for (std::int64_t core = *first; core <= *last; ++core) cores.push_back(static_cast<int>(core));
  }
  std::sort(cores.begin(), cores.end());
  return cores;
}

void apply_cpuset(UsableMachine& machine, const fs::path& file) {
  const UsableCores allowed = parse_core_list(read_control_file(file).value_or(""));
  if (!allowed) return;
  std::vector<int> both;
  std::set_intersection(machine.cores.begin(), machine.cores.end(), allowed->begin(),
                        allowed->end(), std::back_inserter(both));
  if (!both.empty()) machine.cores = std::move(both);
}

void apply_quota(UsableMachine& machine, std::optional<std::int64_t> quota,
                 std::optional<std::int64_t> period, const fs::path& file) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1000;
  if (!quota || !period || *quota <= 0 || *quota > most || *period <= 0) return;
  const std::int64_t cpu = std::max<std::int64_t>(1, *quota * 1000 / *period);
  if (cpu >= machine.cpu) return;
  machine.cpu = cpu;
  machine.cpu_quota = file.string();
}

void apply_memory_limit(UsableMachine& machine, std::optional<std::int64_t> limit,
                        const fs::path& file) {
  if (!limit || *limit <= 0) return;
  const auto bytes = static_cast<std::uint64_t>(*limit);
  if (machine.memory != 0 && bytes >= machine.memory) return;
  // Where the machine's memory is unknown, v1's way to say "none" is no amount either.
  if (machine.memory == 0 && bytes > std::uint64_t{1} << 60U) return;
  machine.memory = bytes;
  machine.memory_limit = file.string();
}

/// Empty for "max" too.
std::optional<std::int64_t> number_in(const fs::path& file) {
  return whole_number(read_control_file(file).value_or(""));
}

std::vector<fs::path> groups_of(const std::optional<Cgroup>& cgroup) {
  return cgroup ? cgroup->lineage() : std::vector<fs::path>();
}

void apply_cpusets(UsableMachine& machine, const fs::path& root) {
  for (const fs::path& group : groups_of(find_cgroup_v1("cpuset", root))) {
    apply_cpuset(machine, group / "cpuset.cpus");
  }
  for (const fs::path& group : groups_of(find_cgroup_v2(root))) {
    apply_cpuset(machine, group / "cpuset.cpus.effective");
  }
}

void apply_quotas(UsableMachine& machine, const fs::path& root) {
  for (const fs::path& group : groups_of(find_cgroup_v1("cpu", root))) {
    const fs::path file = group / "cpu.cfs_quota_us";
    apply_quota(machine, number_in(file), number_in(group / "cpu.cfs_period_us"), file);
  }
  for (const fs::path& group : groups_of(find_cgroup_v2(root))) {
    const fs::path file = group / "cpu.max";
    const std::vector<std::string> words = words_of(read_control_file(file).value_or(""));
    if (words.size() != 2) continue;  // else "max 100000" or "150000 100000"
    apply_quota(machine, whole_number(words[0]), whole_number(words[1]), file);
  }
}

/// A v1 group's limit with that of all parents, those outside of a container too.
std::optional<std::int64_t> hierarchical_limit(const fs::path& file) {
  const std::vector<std::string> words = words_of(read_control_file(file).value_or(""));
  const auto name = std::find(words.begin(), words.end(), "hierarchical_memory_limit");
  if (name == words.end() || name + 1 == words.end()) return std::nullopt;
  return whole_number(*(name + 1));
}

void apply_memory_limits(UsableMachine& machine, const fs::path& root) {
  for (const fs::path& group : groups_of(find_cgroup_v1("memory", root))) {
    apply_memory_limit(machine, number_in(group / "memory.limit_in_bytes"),
                       group / "memory.limit_in_bytes");
    apply_memory_limit(machine, hierarchical_limit(group / "memory.stat"), group / "memory.stat");
  }
  for (const fs::path& group : groups_of(find_cgroup_v2(root))) {
    apply_memory_limit(machine, number_in(group / "memory.max"), group / "memory.max");
  }
}

/// From a line "MemTotal:  24684064 kB".
std::uint64_t physical_memory(const fs::path& root) {
  const std::vector<std::string> words =
      words_of(read_control_file(root / "proc/meminfo").value_or(""));
  const auto name = std::find(words.begin(), words.end(), "MemTotal:");
  if (name != words.end() && name + 1 != words.end()) {
    const auto kibibytes = whole_number(*(name + 1));
    if (kibibytes && *kibibytes > 0) return static_cast<std::uint64_t>(*kibibytes) * 1024;
  }
  return 0;
}

}  // namespace

std::vector<int> affinity_cores() {
  // A machine may have more cores than a cpu_set_t has bits.
  for (int bits = 1024; bits <= 1 << 20; bits *= 4) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(bits), [](cpu_set_t* cores) { CPU_FREE(cores); });
    const std::size_t size_bytes = CPU_ALLOC_SIZE(bits);
    if (!set || ::sched_getaffinity(0, size_bytes, set.get()) != 0) continue;
    std::vector<int> cores;
    for (int core = 0; core < bits; ++core) {
      if (CPU_ISSET_S(static_cast<std::size_t>(core), size_bytes, set.get())) cores.push_back(core);
    }
    if (!cores.empty()) return cores;
  }
  std::vector<int> cores(std::max(1U, std::thread::hardware_concurrency()));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

UsableMachine usable_machine(const std::vector<int>& affinity, const fs::path& root) {
  UsableMachine machine;
  machine.cores = affinity;
  apply_cpusets(machine, root);
  machine.cpu = static_cast<std::int64_t>(machine.cores.size()) * 1000;
  apply_quotas(machine, root);
  machine.memory = physical_memory(root);
  apply_memory_limits(machine, root);
  return machine;
}

}  // namespace tune::runtime
