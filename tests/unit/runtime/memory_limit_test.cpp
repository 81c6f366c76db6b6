#include "runtime/memory_limit.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "made_up_tree.hpp"
#include "runtime/cgroups.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

constexpr std::uint64_t limit_bytes = 64ULL << 20U;

/// How a process ended.
struct End {
  int exit_code = -1;
  int signal = 0;
};

End wait_for(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

/// Starts dd, which takes a buffer of `mebibytes` and fills it, under the limit as a worker is.
End run_dd(const MemoryLimit& limit, int mebibytes) {
  const std::string size = "bs=" + std::to_string(mebibytes) + "M";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (limit.apply() != 0) ::_exit(99);
    ::execlp("dd", "dd", "if=/dev/zero", "of=/dev/null", "count=1", "status=none", size.c_str(),
             nullptr);
    ::_exit(98);
  }
  return wait_for(child);
}

MemoryLimit limit_of(const MemoryLimiter& limiter, std::uint64_t bytes = limit_bytes) {
  return limiter.limit(bytes).value();
}

/// The limiter that works here by `way`, if one does; else says so.
std::optional<MemoryLimiter> limiter_by(MemoryLimiter::Way way) {
  MemoryLimiter limiter;
  if (limiter.way() == way) return limiter;
  WARN("skipped, this machine has: " << limiter.describe());
  return std::nullopt;
}

void check_kills(const MemoryLimiter& limiter) {
  const MemoryLimit small = limit_of(limiter);
  CHECK(run_dd(small, 8).exit_code == 0);
  CHECK_FALSE(small.has_killed());
  const MemoryLimit large = limit_of(limiter);
  CHECK(run_dd(large, 256).signal == SIGKILL);
  CHECK(large.has_killed());
  CHECK_FALSE(small.has_killed());
}

TEST_CASE("a child that takes too much is killed by its group of v1", "[memory_limit]") {
  if (const auto limiter = limiter_by(MemoryLimiter::Way::cgroup_v1)) check_kills(*limiter);
}

TEST_CASE("a child that takes too much is killed by its group of v2", "[memory_limit]") {
  if (const auto limiter = limiter_by(MemoryLimiter::Way::cgroup_v2)) check_kills(*limiter);
}

TEST_CASE("by RLIMIT_DATA a child that takes too much is given none", "[memory_limit]") {
  const test::TemporaryFolder no_groups;
  const MemoryLimiter limiter({}, no_groups.path());
  REQUIRE(limiter.way() == MemoryLimiter::Way::data_size);
  CHECK_THAT(limiter.describe(), Contains("RLIMIT_DATA") && Contains("there is no v2 hierarchy"));
  const MemoryLimit limit = limit_of(limiter);
  CHECK(run_dd(limit, 8).exit_code == 0);
  CHECK(run_dd(limit, 256).exit_code == 1);  // "memory exhausted"
  CHECK_FALSE(limit.has_killed());
}

TEST_CASE("a limit is for the worker's children too, and leaves the others alone",
          "[memory_limit]") {
  const MemoryLimiter limiter;
  if (limiter.way() == MemoryLimiter::Way::data_size) {
    WARN("skipped, there can be no group: " << limiter.describe());
    return;
  }
  const MemoryLimit limit = limit_of(limiter);
  const pid_t worker = ::fork();
  REQUIRE(worker >= 0);
  if (worker == 0) {
    if (limit.apply() != 0) ::_exit(99);
    ::execlp("sh", "sh", "-c", "dd if=/dev/zero of=/dev/null count=1 status=none bs=256M; exit 3",
             nullptr);
    ::_exit(98);
  }
  const End end = wait_for(worker);
  // v2 kills the group as one, v1 the largest in it.
  const bool is_v2 = limiter.way() == MemoryLimiter::Way::cgroup_v2;
  CHECK((is_v2 ? end.signal == SIGKILL : end.exit_code == 3));
  CHECK(limit.has_killed());
}

TEST_CASE("members that are alive are killed with the limit, and the group goes",
          "[memory_limit]") {
  const MemoryLimiter limiter;
  if (limiter.way() == MemoryLimiter::Way::data_size) {
    WARN("skipped, there can be no group: " << limiter.describe());
    return;
  }
  pid_t child = 0;
  {
    const MemoryLimit limit = limit_of(limiter);
    int entered[2];
    REQUIRE(::pipe(entered) == 0);
    child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const char reason = static_cast<char>(limit.apply());
      if (::write(entered[1], &reason, 1) != 1) ::_exit(97);
      while (true) ::pause();
    }
    char reason = 1;
    CHECK(::read(entered[0], &reason, 1) == 1);
    CHECK(reason == 0);
    ::close(entered[0]);
    ::close(entered[1]);
  }
  CHECK(wait_for(child).signal == SIGKILL);
}

// ---- groups in a made-up tree, whose files the kernel does not fill ----

TEST_CASE("a group of v2 is set up before anybody enters it", "[memory_limit]") {
  MadeUpTree tree;
  tree.mount_v2().groups("0::/app\n");
  tree.write("cg/unified/app/cgroup.controllers", "cpu memory pids\n")
      .write("cg/unified/app/cgroup.subtree_control", "memory\n");
  const auto groups = MemoryGroups::open_v2({}, tree.root());
  REQUIRE(groups);
  CHECK(groups->directory() == tree.root() / "cg/unified/app");
  const auto group = groups->make(123456);
  REQUIRE(group);
  CHECK(group->directory().parent_path() == groups->directory());
  CHECK(read_control_file(group->directory() / "memory.max") == "123456");
  CHECK(read_control_file(group->directory() / "memory.swap.max") == "0");
  CHECK(read_control_file(group->directory() / "memory.oom.group") == "1");
  CHECK(group->enter() == 0);
  CHECK(read_control_file(group->directory() / "cgroup.procs") == "0");

  CHECK_FALSE(group->has_killed());
  std::ofstream(group->directory() / "memory.events") << "low 0\noom 2\noom_kill 0\n";
  CHECK_FALSE(group->has_killed());
  std::ofstream(group->directory() / "memory.events") << "low 0\noom 2\noom_kill 1\n";
  CHECK(group->has_killed());
}

TEST_CASE("a group of v1 is set up before anybody enters it", "[memory_limit]") {
  MadeUpTree tree;
  tree.mount_v1("memory").groups("3:memory:/job\n").write("cg/memory/job/cgroup.procs", "1\n");
  const auto groups = MemoryGroups::open_v1(tree.root());
  REQUIRE(groups);
  const auto group = groups->make(123456);
  REQUIRE(group);
  CHECK(read_control_file(group->directory() / "memory.limit_in_bytes") == "123456");
  CHECK(read_control_file(group->directory() / "memory.memsw.limit_in_bytes") == "123456");
  CHECK(read_control_file(group->directory() / "memory.oom_control") == "0");

  std::ofstream(group->directory() / "memory.oom_control") << "oom_kill_disable 0\noom_kill 2\n";
  CHECK(group->has_killed());
  std::ofstream(group->directory() / "memory.oom_control") << "oom_kill_disable 0\n";
  CHECK_FALSE(group->has_killed());
  std::ofstream(group->directory() / "memory.failcnt") << "7\n";
  CHECK(group->has_killed());
}

TEST_CASE("the memory controller of v2 is passed on, and taken back at the end", "[memory_limit]") {
  MadeUpTree tree;
  tree.mount_v2().groups("0::/app\n");
  tree.write("cg/unified/app/cgroup.controllers", "cpu memory\n");
  const fs::path control = tree.root() / "cg/unified/app/cgroup.subtree_control";
  {
    const auto groups = MemoryGroups::open_v2({}, tree.root());
    REQUIRE(groups);
    CHECK(read_control_file(control) == "+memory");
  }
  CHECK(read_control_file(control) == "-memory");
}

TEST_CASE("a group without the memory controller is no way, and the text says so",
          "[memory_limit]") {
  MadeUpTree tree;
  tree.mount_v2().groups("0::/app\n").write("cg/unified/app/cgroup.controllers", "cpu pids\n");
  const MemoryLimiter limiter({}, tree.root());
  CHECK(limiter.way() == MemoryLimiter::Way::data_size);
  CHECK_THAT(limiter.describe(), Contains("cg/unified/app has no memory controller") &&
                                     Contains("cgroup v1: there is no v1 hierarchy"));
}

TEST_CASE("a limiter takes v2 before v1", "[memory_limit]") {
  MadeUpTree tree;
  tree.mount_v1("memory").mount_v2().groups("3:memory:/\n0::/\n");
  CHECK(MemoryLimiter({}, tree.root()).way() == MemoryLimiter::Way::cgroup_v1);
  tree.write("cg/unified/cgroup.controllers", "memory\n");
  const MemoryLimiter limiter({}, tree.root());
  CHECK(limiter.way() == MemoryLimiter::Way::cgroup_v2);
  CHECK(limiter.describe() ==
        "memory limit by cgroup v2, in " + (tree.root() / "cg/unified").string());
}

TEST_CASE("groups of dead runs are removed, those of others are not", "[memory_limit]") {
  MadeUpTree tree;
  tree.mount_v1("memory").groups("3:memory:/\n");
  const fs::path top = tree.root() / "cg/memory";
  const std::string own = std::to_string(::getpid());
  for (const std::string name : {"tune_99999999_5_0", "tune_99999999_5_main", "tune_99999999",
                                 "tune_x_5_0", "other_99999999_5_0"}) {
    fs::create_directory(top / name);
  }
  fs::create_directory(top / ("tune_" + own + "_1_0"));  // an older process of our id
  const auto groups = MemoryGroups::open_v1(tree.root());
  REQUIRE(groups);
  CHECK_FALSE(fs::exists(top / "tune_99999999_5_0"));
  CHECK_FALSE(fs::exists(top / "tune_99999999_5_main"));
  CHECK_FALSE(fs::exists(top / ("tune_" + own + "_1_0")));
  CHECK(fs::exists(top / "tune_99999999"));
  CHECK(fs::exists(top / "tune_x_5_0"));
  CHECK(fs::exists(top / "other_99999999_5_0"));

  const auto group = groups->make(1);
  REQUIRE(group);
  CHECK(MemoryGroups::open_v1(tree.root()));
  CHECK(fs::exists(group->directory()));
}

TEST_CASE("no group of ours stays behind", "[memory_limit]") {
  fs::path directory;
  {
    Expected<MemoryGroups> groups = MemoryGroups::open_v2();
    if (!groups) groups = MemoryGroups::open_v1();
    if (!groups) {
      WARN("skipped: " << groups.error().message);
      return;
    }
    auto group = groups->make(limit_bytes);
    if (!group) {
      WARN("skipped: " << group.error().message);
      return;
    }
    directory = group->directory();
    CHECK(fs::exists(directory));
    MemoryGroup moved = std::move(*group);
    CHECK(moved.directory() == directory);
    CHECK_FALSE(group->exists());
  }
  CHECK_FALSE(fs::exists(directory));
}

}  // namespace
}  // namespace tune::runtime
