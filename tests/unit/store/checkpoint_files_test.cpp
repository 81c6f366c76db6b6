#include "store/checkpoint_store.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using core::CheckpointManifest;
using test::TemporaryFolder;

void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// A checkpoint of several files, one in a directory, a link, and an empty directory.
class StoredExample {
 public:
  StoredExample() : store(folder.path()) {
    auto pending = store.begin(trial, name);
    REQUIRE(pending);
    write_file(pending->path() / "weights.bin", std::string(64, 'w'));
    write_file(pending->path() / "optimizer" / "state", "momentum");
    write_file(pending->path() / "empty", "");
    fs::create_symlink("weights.bin", pending->path() / "latest");
    fs::create_symlink("optimizer", pending->path() / "link_to_directory");
    fs::create_directory(pending->path() / "nothing");
    manifest = pending->commit().value();
  }

  [[nodiscard]] fs::path path() const { return store.path(trial, name); }
  /// What verify() says; empty if all is well.
  [[nodiscard]] std::string damage() const {
    const auto verified = store.verify(trial, name, manifest);
    if (verified) return {};
    CHECK(verified.error().code == ErrorCode::damaged);
    return verified.error().message;
  }
  /// The same of a clone.
  [[nodiscard]] std::string damage_of_clone() const {
    const auto adopted = store.adopt(trial, name, &manifest, "00001", "checkpoint_000002");
    if (adopted) return {};
    CHECK(adopted.error().code == ErrorCode::damaged);
    const fs::path target = folder.path() / "00001";
    CHECK((!fs::exists(target) || fs::is_empty(target)));
    return adopted.error().message;
  }

  TemporaryFolder folder;
  CheckpointStore store;
  std::string trial = "00003_x=1";
  std::string name = "checkpoint_000006";
  CheckpointManifest manifest;
};

TEST_CASE("a manifest lists all files by path with sizes and hashes", "[store]") {
  const StoredExample example;
  const CheckpointManifest& manifest = example.manifest;
  REQUIRE(manifest.size() == 5);
  CHECK(manifest[0].path == "empty");
  CHECK(manifest[0].size_bytes == 0);
  CHECK(manifest[0].hash == "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing
  CHECK(manifest[1].path == "latest");
  CHECK(manifest[1].size_bytes == 11);  // the name of its target
  CHECK(manifest[2].path == "link_to_directory");
  CHECK(manifest[3].path == "optimizer/state");
  CHECK(manifest[3].size_bytes == 8);
  CHECK(manifest[4].path == "weights.bin");
  CHECK(manifest[4].size_bytes == 64);
  CHECK(manifest[4].hash.size() == 32);
  CHECK(core::total_size_bytes(manifest) == 92);
  CHECK(example.damage().empty());
}

TEST_CASE("FA-08: a file that is cut off, changed or gone is damage that names it", "[FA-08]") {
  const StoredExample example;
  const std::string begin = "checkpoint_000006 of trial 00003 is damaged: ";
  std::string expected;
  SECTION("cut off") {
    fs::resize_file(example.path() / "weights.bin", 40);
    expected = begin + "weights.bin: 40 bytes, want 64";
  }
  SECTION("longer") {
    write_file(example.path() / "empty", "x");
    expected = begin + "empty: 1 bytes, want 0";
  }
  SECTION("one byte is another") {
    write_file(example.path() / "optimizer" / "state", "momemtum");
    expected = begin + "optimizer/state: content with hash ";
  }
  SECTION("gone") {
    fs::remove(example.path() / "optimizer" / "state");
    expected = begin + "optimizer/state is missing";
  }
  SECTION("gone with its directory") {
    fs::remove_all(example.path() / "optimizer");
    expected = begin + "optimizer/state is missing";
  }
  SECTION("a link to another target") {
    fs::remove(example.path() / "latest");
    fs::create_symlink("weights.bak", example.path() / "latest");
    expected = begin + "latest: content with hash ";
  }
  SECTION("no link any more") {
    fs::remove(example.path() / "latest");
    write_file(example.path() / "latest", "weights.bin");
    expected = begin + "latest: content with hash ";
  }
  SECTION("all of it gone") {
    fs::remove_all(example.path());
    expected = begin + "there is no directory " + example.path().string();
  }
  SECTION("a file instead") {
    fs::remove_all(example.path());
    write_file(example.path(), "x");
    expected = begin + example.path().string() + " is no directory";
  }
  CHECK_THAT(example.damage(), Contains(expected));
  CHECK_THAT(example.damage_of_clone(), Contains(expected));
}

TEST_CASE("a directory in the place of a file is damage", "[store]") {
  const StoredExample example;
  fs::remove(example.path() / "weights.bin");
  fs::create_directory(example.path() / "weights.bin");
  CHECK_THAT(example.damage(), Contains("weights.bin is no file"));
  CHECK_THAT(example.damage_of_clone(), Contains("weights.bin is missing"));
}

TEST_CASE("further files and lost empty directories are no damage", "[store]") {
  const StoredExample example;
  write_file(example.path() / "notes", "of the user's");
  fs::remove(example.path() / "nothing");
  CHECK(example.damage().empty());
  const auto adopted =
      example.store.adopt(example.trial, example.name, &example.manifest, "00001", "checkpoint_1");
  CHECK(adopted.value().size() == 6);
}

TEST_CASE("a clone has the manifest of its original, known or not", "[store]") {
  const StoredExample example;
  const auto& [trial, name] = std::pair(example.trial, example.name);
  CHECK(example.store.adopt(trial, name, &example.manifest, "00001", "checkpoint_000002").value() ==
        example.manifest);
  CHECK(example.store.adopt(trial, name, nullptr, "00002", "checkpoint_000002").value() ==
        example.manifest);
  CHECK(example.store.verify("00002", "checkpoint_000002", example.manifest));
}

TEST_CASE("what may not be read is no damage", "[store]") {
  if (::geteuid() == 0) return;  // may read everything
  const StoredExample example;
  fs::permissions(example.path() / "weights.bin", fs::perms::none);
  const auto verified = example.store.verify(example.trial, example.name, example.manifest);
  REQUIRE_FALSE(verified);
  CHECK(verified.error().code == ErrorCode::io);
  CHECK_THAT(verified.error().message, Contains("weights.bin") && Contains("Permission denied"));
}

TEST_CASE("many files in many directories are listed in order", "[store]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  auto pending = store.begin("00000", "checkpoint_000001");
  REQUIRE(pending);
  for (int i = 0; i < 500; ++i) {
    write_file(pending->path() / std::to_string(i % 7) / (std::to_string(i) + ".bin"),
               std::to_string(i));
  }
  const CheckpointManifest manifest = pending->commit().value();
  REQUIRE(manifest.size() == 500);
  for (std::size_t i = 1; i < manifest.size(); ++i) {
    CHECK(manifest[i - 1].path < manifest[i].path);
  }
  CHECK(store.verify("00000", "checkpoint_000001", manifest));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

/// The most memory that this process has used so far.
std::int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

TEST_CASE("a big checkpoint is read in constant memory", "[store]") {
  if (is_sanitized) return;
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  auto pending = store.begin("00000", "checkpoint_000001");
  REQUIRE(pending);
  write_file(pending->path() / "big", "head");
  const std::uint64_t size_bytes = 300'000'000;
  fs::resize_file(pending->path() / "big", size_bytes);  // a hole
  const std::int64_t before = peak_bytes();
  const CheckpointManifest manifest = pending->commit().value();
  REQUIRE(manifest.size() == 1);
  CHECK(manifest[0].size_bytes == size_bytes);
  CHECK(store.verify("00000", "checkpoint_000001", manifest));
  CHECK(peak_bytes() - before < 8'000'000);
}

}  // namespace
}  // namespace tune::store
