#include "store/checkpoint_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void store_checkpoint(const CheckpointStore& store, const std::string& trial,
                      const std::string& name, const std::string& text) {
  auto pending = store.begin(trial, name);
  REQUIRE(pending);
  write_text(pending->path() / "state", text);
  REQUIRE(pending->commit());
}

TEST_CASE("a checkpoint has its name only once it is committed", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  auto pending = store.begin("00000", "checkpoint_000003");
  REQUIRE(pending);
  CHECK(fs::is_empty(pending->path()));
  write_text(pending->path() / "model" / "weights", "abc");
  CHECK(store.list("00000").value().empty());
  CHECK_FALSE(fs::exists(store.path("00000", "checkpoint_000003")));

  REQUIRE(pending->commit());
  CHECK(store.list("00000").value() == std::vector<std::string>{"checkpoint_000003"});
  CHECK(read_text(store.path("00000", "checkpoint_000003") / "model" / "weights") == "abc");
  CHECK(names_in(folder.path() / "00000") == std::vector<std::string>{"checkpoint_000003"});
}

TEST_CASE("a checkpoint that is not committed leaves nothing behind", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  {
    auto pending = store.begin("00000", "checkpoint_000003");
    REQUIRE(pending);
    write_text(pending->path() / "state", "half");
    const PendingCheckpoint moved = std::move(*pending);
    CHECK(fs::exists(moved.path() / "state"));
  }
  CHECK(names_in(folder.path() / "00000").empty());
}

TEST_CASE("a checkpoint takes the place of an older one of its name", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  store_checkpoint(store, "00000", "checkpoint_000003", "old");
  store_checkpoint(store, "00000", "checkpoint_000003", "new");
  CHECK(read_text(store.path("00000", "checkpoint_000003") / "state") == "new");
  CHECK(names_in(folder.path() / "00000") == std::vector<std::string>{"checkpoint_000003"});
}

TEST_CASE("two writers of one checkpoint do not meet", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  auto first = store.begin("00000", "checkpoint_000001");
  auto second = store.begin("00000", "checkpoint_000001");
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->path() != second->path());
}

TEST_CASE("an adopted checkpoint outlives the original", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  {
    auto pending = store.begin("00001", "checkpoint_000009");
    REQUIRE(pending);
    write_text(pending->path() / "state", "donor");
    write_text(pending->path() / "deep" / "er" / "file", "nested");
    fs::create_symlink("state", pending->path() / "link");
    REQUIRE(pending->commit());
  }
  REQUIRE(store.adopt("00001", "checkpoint_000009", nullptr, "00002", "checkpoint_000004"));
  const fs::path own = store.path("00002", "checkpoint_000004");
  CHECK(fs::hard_link_count(own / "state") == 2);
  REQUIRE(store.remove("00001", "checkpoint_000009"));
  CHECK(read_text(own / "state") == "donor");
  CHECK(read_text(own / "deep" / "er" / "file") == "nested");
  CHECK(fs::read_symlink(own / "link") == "state");
  CHECK(names_in(folder.path() / "00001").empty());
}

TEST_CASE("adopting what is not there names the path", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  const auto adopted =
      store.adopt("00001", "checkpoint_000009", nullptr, "00002", "checkpoint_000004");
  REQUIRE_FALSE(adopted);
  CHECK(adopted.error().code == ErrorCode::damaged);
  CHECK_THAT(adopted.error().message,
             Catch::Contains("00001/checkpoint_000009") &&
                 Catch::Contains("checkpoint_000009 of trial 00001 is damaged: there is no "));
  CHECK(store.list("00002").value().empty());
}

TEST_CASE("removing a checkpoint that is not there is no error", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  CHECK(store.remove("00000", "checkpoint_000001"));
  store_checkpoint(store, "00000", "checkpoint_000001", "x");
  CHECK(store.remove("00000", "checkpoint_000001"));
  CHECK(names_in(folder.path() / "00000").empty());
}

TEST_CASE("checkpoints are listed in the order of their iterations", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  for (const char* name : {"checkpoint_1000000", "checkpoint_000002", "checkpoint_999999"}) {
    store_checkpoint(store, "00000", name, name);
  }
  write_text(folder.path() / "00000" / "checkpoint_000005", "a file, no checkpoint");
  write_text(folder.path() / "00000" / ".tmp-checkpoint_000006-1-1" / "state", "half");
  write_text(folder.path() / "00000" / "artifacts" / "file", "something else");
  CHECK(store.list("00000").value() ==
        std::vector<std::string>{"checkpoint_000002", "checkpoint_999999", "checkpoint_1000000"});
}

TEST_CASE("FA-07: what was left behind is removed, what is recorded stays", "[FA-07]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  for (const char* name : {"checkpoint_000003", "checkpoint_000004", "checkpoint_000005"}) {
    store_checkpoint(store, "00000", name, name);
  }
  const fs::path trial = folder.path() / "00000";
  // Killed as it saved three files, one of which was done.
  write_text(trial / ".tmp-checkpoint_000005-77-0" / "first", "done");
  write_text(trial / ".tmp-checkpoint_000005-77-0" / "second", "");
  write_text(trial / "result.json", "{}");
  write_text(trial / "checkpoint_notes", "a file of the user's");
  write_text(trial / "artifacts" / "file", "something else");
  const auto removed = store.clean("00000", {"checkpoint_000004", "checkpoint_000099"});
  CHECK(removed.value() == std::vector<std::string>{".tmp-checkpoint_000005-77-0",
                                                    "checkpoint_000003", "checkpoint_000005"});
  CHECK(names_in(trial) == std::vector<std::string>{"artifacts", "checkpoint_000004",
                                                    "checkpoint_notes", "result.json"});
  CHECK(store.clean("00000", {"checkpoint_000004"}).value().empty());
  CHECK(store.clean("00001", {}).value().empty());
}

TEST_CASE("a checkpoint that cannot be begun names the path and the reason", "[store]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "00000", "a file where the trial's directory should be");
  const CheckpointStore store(folder.path());
  const auto pending = store.begin("00000", "checkpoint_000001");
  REQUIRE_FALSE(pending);
  CHECK_THAT(pending.error().message,
             Catch::Contains("00000") && Catch::Contains("Not a directory"));
  const auto listed = store.list("00000");
  REQUIRE_FALSE(listed);
  CHECK_THAT(listed.error().message, Catch::Contains("Not a directory"));
}

TEST_CASE("a commit whose directory has gone says so and makes no checkpoint", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  auto pending = store.begin("00000", "checkpoint_000001");
  REQUIRE(pending);
  fs::remove_all(pending->path());
  const auto committed = pending->commit();
  REQUIRE_FALSE(committed);
  CHECK_THAT(committed.error().message, Catch::Contains("No such file"));
  CHECK(store.list("00000").value().empty());
}

}  // namespace
}  // namespace tune::store
