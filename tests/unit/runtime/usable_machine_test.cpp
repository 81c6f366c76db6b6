#include "runtime/usable_machine.hpp"

#include <catch2/catch.hpp>

#include "made_up_tree.hpp"

namespace tune::runtime {
namespace {

using Cores = std::vector<int>;

constexpr std::uint64_t gibibyte = 1ULL << 30U;
const Cores eight = {0, 1, 2, 3, 4, 5, 6, 7};

TEST_CASE("without control groups a process may use its affinity and the machine's memory",
          "[usable_machine]") {
  const MadeUpTree tree;
  const UsableMachine machine = usable_machine({1, 3}, tree.root());
  CHECK(machine.cores == Cores{1, 3});
  CHECK(machine.cpu == 2000);
  CHECK(machine.memory == 16 * gibibyte);
  CHECK(machine.cpu_quota.empty());
  CHECK(machine.memory_limit.empty());
}

TEST_CASE("an empty root bounds nothing", "[usable_machine]") {
  const test::TemporaryFolder nothing;
  const UsableMachine machine = usable_machine(eight, nothing.path());
  CHECK(machine.cpu == 8000);
  CHECK(machine.memory == 0);
}

TEST_CASE("v2 limits are read, a quota of one and a half cores exactly", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v2().groups("0::/user/app\n");
  tree.write("cg/unified/user/app/cpu.max", "150000 100000\n")
      .write("cg/unified/user/app/cpuset.cpus.effective", "0-2,6\n")
      .write("cg/unified/user/app/memory.max", "4294967296\n");
  const UsableMachine machine = usable_machine(eight, tree.root());
  CHECK(machine.cores == Cores{0, 1, 2, 6});
  CHECK(machine.cpu == 1500);
  CHECK(machine.memory == 4 * gibibyte);
  CHECK(machine.cpu_quota == (tree.root() / "cg/unified/user/app/cpu.max").string());
  CHECK(machine.memory_limit == (tree.root() / "cg/unified/user/app/memory.max").string());
}

TEST_CASE("v1 limits are read, each from its own hierarchy", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v1("cpu,cpuacct").mount_v1("cpuset").mount_v1("memory");
  tree.groups("5:memory:/job\n4:cpuset:/set\n3:cpu,cpuacct:/job/step\n1:name=systemd:/\n");
  tree.write("cg/cpu,cpuacct/job/step/cpu.cfs_quota_us", "250000\n")
      .write("cg/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000\n")
      .write("cg/cpuset/set/cpuset.cpus", "2-5\n")
      .write("cg/memory/job/memory.limit_in_bytes", "2147483648\n");
  const UsableMachine machine = usable_machine(eight, tree.root());
  CHECK(machine.cores == Cores{2, 3, 4, 5});
  CHECK(machine.cpu == 2500);
  CHECK(machine.memory == 2 * gibibyte);
}

TEST_CASE("the smallest limit of all parents counts", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v2().mount_v1("memory").groups("0::/a/b/c\n4:memory:/m/n\n");
  tree.write("cg/unified/a/b/c/cpu.max", "max 100000\n")
      .write("cg/unified/a/b/cpu.max", "300000 100000\n")
      .write("cg/unified/a/cpu.max", "400000 100000\n")
      .write("cg/unified/a/cpuset.cpus.effective", "0-5\n")
      .write("cg/unified/a/b/c/memory.max", "max\n")
      .write("cg/memory/m/n/memory.limit_in_bytes", "9223372036854771712\n")
      .write("cg/memory/m/memory.limit_in_bytes", "1073741824\n");
  const UsableMachine machine = usable_machine(eight, tree.root());
  CHECK(machine.cores == Cores{0, 1, 2, 3, 4, 5});
  CHECK(machine.cpu == 3000);
  CHECK(machine.memory == gibibyte);
  CHECK(machine.memory_limit == (tree.root() / "cg/memory/m/memory.limit_in_bytes").string());
}

TEST_CASE("limits that say none bound nothing", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v1("cpu").mount_v1("memory").mount_v2();
  tree.groups("4:memory:/\n1:cpu:/\n0::/\n");
  tree.write("cg/cpu/cpu.cfs_quota_us", "-1\n")
      .write("cg/cpu/cpu.cfs_period_us", "100000\n")
      .write("cg/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .write("cg/unified/cpu.max", "max 100000\n");
  const UsableMachine machine = usable_machine(eight, tree.root());
  CHECK(machine.cpu == 8000);
  CHECK(machine.memory == 16 * gibibyte);
  CHECK(machine.cpu_quota.empty());
  CHECK(machine.memory_limit.empty());
}

TEST_CASE("a quota above the cores does not raise them", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v2().groups("0::/\n").write("cg/unified/cpu.max", "1600000 100000\n");
  CHECK(usable_machine({0, 1}, tree.root()).cpu == 2000);
}

TEST_CASE("the smallest quota is a thousandth of a core", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v2().groups("0::/\n").write("cg/unified/cpu.max", "1 1000000\n");
  CHECK(usable_machine(eight, tree.root()).cpu == 1);
}

TEST_CASE("what makes no sense bounds nothing", "[usable_machine]") {
  const std::string quota = GENERATE("", "lots", "100000", "0 100000", "-5 100000", "1000 0",
                                     "9223372036854775807 100000", "1e5 100000", "1 2 3");
  const std::string cores = GENERATE("", "\n", "3-1", "0,,1", "a-b", "0-99999999", "8-11", "-1");
  const std::string memory = GENERATE("", "much", "0", "-1", "99999999999999999999999");
  MadeUpTree tree;
  tree.mount_v2().groups("0::/\n");
  tree.write("cg/unified/cpu.max", quota)
      .write("cg/unified/cpuset.cpus.effective", cores)
      .write("cg/unified/memory.max", memory);
  const UsableMachine machine = usable_machine(eight, tree.root());
  INFO("cpu.max '" << quota << "', cpuset '" << cores << "', memory.max '" << memory << "'");
  CHECK(machine.cores == eight);
  CHECK(machine.cpu == 8000);
  CHECK(machine.memory == 16 * gibibyte);
}

TEST_CASE("files that cannot be read bound nothing", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v2().groups("0::/a\n").write("cg/unified/a/x", "");
  // A folder can be opened but not read, by root too.
  std::filesystem::create_directory(tree.root() / "cg/unified/a/cpu.max");
  std::filesystem::create_directory(tree.root() / "cg/unified/a/memory.max");
  CHECK(usable_machine(eight, tree.root()).cpu == 8000);
  CHECK(usable_machine(eight, tree.root()).memory == 16 * gibibyte);

  MadeUpTree unreadable;
  std::filesystem::create_directories(unreadable.root() / "proc/self/cgroup");
  std::filesystem::create_directories(unreadable.root() / "proc/self/mountinfo");
  CHECK(usable_machine(eight, unreadable.root()).cpu == 8000);
}

TEST_CASE("damaged lines of cgroup and mountinfo are passed over", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount("nonsense", "x").mount("1 2 3 - cgroup2", "x").mount(" - ", "x").mount_v2();
  tree.groups("\n::\n7\n8:cpu\n0::/a:b c\n").write("cg/unified/a:b c/cpu.max", "50000 100000\n");
  CHECK(usable_machine(eight, tree.root()).cpu == 500);
}

TEST_CASE("a container sees its own group as the top", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v1("memory", "/docker/1f").mount_v1("cpu", "/docker/1f").mount_v2("/docker/1f");
  // Below the top, the top itself, and a group whose name only begins like it.
  tree.groups("5:memory:/docker/1f/inner\n4:cpu:/docker/1f\n0::/docker/1f2\n");
  tree.write("cg/memory/inner/memory.limit_in_bytes", "3221225472\n")
      .write("cg/cpu/cpu.cfs_quota_us", "50000\n")
      .write("cg/cpu/cpu.cfs_period_us", "100000\n")
      .write("cg/unified/cpuset.cpus.effective", "4\n")
      .write("cg/unified2/cpuset.cpus.effective", "5\n");
  const UsableMachine machine = usable_machine(eight, tree.root());
  CHECK(machine.memory == 3 * gibibyte);
  CHECK(machine.cpu == 500);
  CHECK(machine.cores == Cores{4});
}

TEST_CASE("a group that cannot be seen gives way to the top of what can", "[usable_machine]") {
  const std::string path = GENERATE("/../../elsewhere", "/not/mounted/here", "/gone (deleted)");
  MadeUpTree tree;
  tree.mount_v2().groups("0::" + path + "\n");
  tree.write("cg/unified/memory.max", "1073741824\n");
  CHECK(usable_machine(eight, tree.root()).memory == gibibyte);
}

TEST_CASE("v1 tells of limits above the container in memory.stat", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount_v1("memory", "/docker/1f").groups("5:memory:/docker/1f\n");
  tree.write("cg/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .write("cg/memory/memory.stat", "cache 0\nhierarchical_memory_limit 2147483648\nrss 5\n");
  CHECK(usable_machine(eight, tree.root()).memory == 2 * gibibyte);
}

TEST_CASE("spaces in mount points are understood", "[usable_machine]") {
  MadeUpTree tree;
  tree.mount("41 30 0:36 / /odd\\040place rw - cgroup2 cgroup2 rw", "odd place").groups("0::/\n");
  tree.write("odd place/cpu.max", "100000 100000\n");
  CHECK(usable_machine(eight, tree.root()).cpu == 1000);
}

TEST_CASE("this machine has cores and memory", "[usable_machine]") {
  const UsableMachine machine = usable_machine();
  CHECK_FALSE(machine.cores.empty());
  CHECK(machine.cpu > 0);
  CHECK(machine.cpu <= static_cast<std::int64_t>(machine.cores.size()) * 1000);
  CHECK(machine.memory > 0);
}

}  // namespace
}  // namespace tune::runtime
