#include "runtime/scratch_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "store/directory_lock.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

void write_at_node(const fs::path& path, const std::string& content = "x") {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << content;
}

TEST_CASE("a node's own directory is made when it is needed, and gone with the node",
          "[scratch_directory]") {
  const test::TemporaryFolder folder;
  {
    ScratchDirectory scratch(folder.path());
    CHECK(fs::is_empty(folder.path()));
    const fs::path first = scratch.open("first").value();
    CHECK(fs::is_directory(first));
    CHECK(scratch.most_kept_bytes() > 0);
    write_at_node(first / "00000" / "stdout");
    const fs::path second = scratch.open("second").value();
    CHECK_FALSE(fs::exists(first));  // one experiment at a time
    write_at_node(second / "00000" / "stdout");
    CHECK(scratch.open("second").value() == second);
    CHECK(fs::exists(second / "00000" / "stdout"));
    scratch.clear();
    CHECK_FALSE(fs::exists(second));
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("what killed nodes left behind is removed, and nothing of one that lives",
          "[scratch_directory]") {
  const test::TemporaryFolder folder;
  ScratchDirectory living(folder.path());
  const fs::path own = living.open("run").value();
  write_at_node(folder.path() / "tune-node-killed" / store::lock_file, "");
  write_at_node(folder.path() / "tune-node-killed" / "run" / "00000" / "stdout");
  write_at_node(folder.path() / "tune-node-of-somebody" / "file");
  write_at_node(folder.path() / "else" / store::lock_file);
  const ScratchDirectory next(folder.path());
  CHECK_FALSE(fs::exists(folder.path() / "tune-node-killed"));
  CHECK(fs::exists(folder.path() / "tune-node-of-somebody" / "file"));
  CHECK(fs::exists(folder.path() / "else"));
  CHECK(fs::exists(own));
}

TEST_CASE("after a session that broke only checkpoints stay", "[scratch_directory]") {
  const test::TemporaryFolder folder;
  ScratchDirectory scratch(folder.path());
  const fs::path trial = scratch.open("run").value() / "00003_x=1";
  write_at_node(trial / "stdout");
  write_at_node(trial / "outgoing_1_2" / "stdout");
  write_at_node(trial / ".tmp-checkpoint_000002-77-0" / "state");
  write_at_node(trial / ".tmp-checkpoint_000004-arrival-0" / "state", "half");
  write_at_node(trial / "checkpoint_000001" / "deep" / "state", "whole");
  std::vector<std::string> names;
  for (const KeptDirectory& kept : scratch.tidy()) {
    names.push_back(kept.directory);
    CHECK(kept.size_bytes == (kept.directory.find(".tmp") == std::string::npos ? 5 : 4));
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"00003_x=1/.tmp-checkpoint_000004-arrival-0",
                                          "00003_x=1/checkpoint_000001"});
  CHECK_FALSE(fs::exists(trial / "stdout"));
  CHECK_FALSE(fs::exists(trial / "outgoing_1_2"));
  CHECK_FALSE(fs::exists(trial / ".tmp-checkpoint_000002-77-0"));
}

TEST_CASE("where no directory can be made the reason is told", "[scratch_directory]") {
  ScratchDirectory scratch("/nowhere/at/all");
  const auto opened = scratch.open("run");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message ==
        "cannot make a directory in /nowhere/at/all: No such file or directory");
}

}  // namespace
}  // namespace tune::runtime
