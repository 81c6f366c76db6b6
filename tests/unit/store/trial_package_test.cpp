#include "store/trial_package.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All files and links below, sorted.
std::vector<std::string> files_below(const fs::path& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_directory() || entry.is_symlink()) {
      files.push_back(entry.path().lexically_relative(directory).string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A trial's directory at a node, and that at the driver.
struct TwoPlaces {
  test::TemporaryFolder node;
  test::TemporaryFolder driver;

  /// Packs, and brings the package to the other side.
  PackedTrial send(const std::string& package, OutputRead before, bool takes_files) {
    const PackedTrial packed = pack_trial(node.path(), package, before, takes_files).value();
    if (packed.is_empty) return packed;
    fs::copy(node.path() / package, driver.path() / package, fs::copy_options::recursive);
    fs::remove_all(node.path() / package);
    return packed;
  }
};

TEST_CASE("what a trial prints travels in parts, each once", "[trial_package]") {
  TwoPlaces places;
  write_file(places.driver.path() / "stdout", "of an earlier start\n");
  write_file(places.node.path() / "stdout", "one\n");
  PackedTrial packed = places.send("outgoing_1_1", {}, false);
  CHECK(packed.read == OutputRead{4, 0});
  REQUIRE(unpack_trial(places.driver.path(), "outgoing_1_1"));
  CHECK(places.send("outgoing_1_2", packed.read, false).is_empty);
  std::ofstream(places.node.path() / "stdout", std::ios::app) << "two\n";
  write_file(places.node.path() / "stderr", std::string(200'000, 'x'));
  packed = places.send("outgoing_1_2", packed.read, false);
  CHECK(packed.read == OutputRead{8, 200'000});
  REQUIRE(unpack_trial(places.driver.path(), "outgoing_1_2"));
  CHECK(read_file(places.driver.path() / "stdout") == "of an earlier start\none\ntwo\n");
  CHECK(read_file(places.driver.path() / "stderr") == std::string(200'000, 'x'));
  CHECK(files_below(places.driver.path()) == std::vector<std::string>{"stderr", "stdout"});
}

TEST_CASE("at its end what the training code wrote goes along, and nothing else",
          "[trial_package]") {
  TwoPlaces places;
  const fs::path node = places.node.path();
  write_file(node / "stdout", "printed");
  write_file(node / "notes.txt", "new");
  write_file(node / "plots" / "a" / "1.svg", "plot");
  write_file(node / "events.out.tfevents.1.own", "own events");
  fs::create_symlink("/etc/passwd", node / "link");
  fs::create_symlink("../../x", node / "plots" / "link");
  for (const char* other : {"checkpoint_000001/state", ".tmp-checkpoint_000002-1-0/state",
                            "artifacts/model_000001/model", "result.json", "params.json"}) {
    write_file(node / other, "from the node");
  }
  const fs::path driver = places.driver.path();
  write_file(driver / "result.json", "the driver's");
  write_file(driver / "notes.txt", "old");
  write_file(driver / "plots" / "a" / "0.svg", "of an earlier start");
  (void)places.send("outgoing_2_1", {}, true);
  REQUIRE(unpack_trial(driver, "outgoing_2_1"));
  CHECK(files_below(driver) == std::vector<std::string>{"events.out.tfevents.1.own", "notes.txt",
                                                        "notes.txt.older_1", "plots/a/0.svg",
                                                        "plots/a/1.svg", "result.json", "stdout"});
  CHECK(read_file(driver / "notes.txt") == "new");
  CHECK(read_file(driver / "result.json") == "the driver's");
  CHECK_FALSE(fs::exists(node / "stdout"));
  CHECK_FALSE(fs::exists(node / "notes.txt"));
  CHECK(fs::exists(node / "checkpoint_000001" / "state"));
}

TEST_CASE("what a parallel worker printed travels once its process has ended", "[trial_package]") {
  TwoPlaces places;
  const fs::path node = places.node.path();
  write_file(places.driver.path() / "workers" / "1" / "stdout", "of an earlier start\n");
  write_file(node / "workers" / "0" / "stdout", "still printing\n");
  write_file(node / "workers" / "1" / "stdout", "printed\n");
  write_file(node / "workers" / "1" / "stderr", "warned\n");
  CHECK(places.send("outgoing_1_1", {}, /*takes_files=*/true).is_empty);
  REQUIRE_FALSE(pack_worker(node, "outgoing_1_worker_1", 1).value().is_empty);
  fs::copy(node / "outgoing_1_worker_1", places.driver.path() / "outgoing_1_worker_1",
           fs::copy_options::recursive);
  REQUIRE(unpack_trial(places.driver.path(), "outgoing_1_worker_1"));
  CHECK(read_file(places.driver.path() / "workers" / "1" / "stdout") ==
        "of an earlier start\nprinted\n");
  CHECK(read_file(places.driver.path() / "workers" / "1" / "stderr") == "warned\n");
  CHECK_FALSE(fs::exists(places.driver.path() / "outgoing_1_worker_1"));
  CHECK(read_file(node / "workers" / "0" / "stdout") == "still printing\n");
  CHECK(pack_worker(node, "outgoing_1_worker_1", 1).value().is_empty);
  CHECK(pack_worker(node, "outgoing_1_worker_2", 2).value().is_empty);
}

TEST_CASE("a package that is not as a node makes it harms nothing", "[trial_package]") {
  const test::TemporaryFolder driver;
  const fs::path package = driver.path() / "outgoing_1_1";
  write_file(driver.path() / "checkpoint_000001" / "state", "whole");
  write_file(driver.path() / "events.out.tfevents.1", "the driver's");
  for (const char* name : {"checkpoint_000001/state", "result.json", ".tmp-x/y", "outgoing_9/z",
                           "artifacts/model_000001/model", "events.out.tfevents.1"}) {
    write_file(package / "files" / name, "forged");
  }
  fs::create_symlink("stdout", package / "files" / "link");
  REQUIRE(unpack_trial(driver.path(), "outgoing_1_1"));
  CHECK(files_below(driver.path()) ==
        std::vector<std::string>{"checkpoint_000001/state", "events.out.tfevents.1"});
  CHECK(read_file(driver.path() / "checkpoint_000001" / "state") == "whole");
  CHECK(read_file(driver.path() / "events.out.tfevents.1") == "the driver's");
}

TEST_CASE("what a later start wrote does not take the place of what an earlier one did",
          "[trial_package]") {
  const test::TemporaryFolder driver;
  for (const char* text : {"first", "second", "third"}) {
    write_file(driver.path() / "outgoing_1_1" / "files" / "plots" / "train.log", text);
    REQUIRE(unpack_trial(driver.path(), "outgoing_1_1"));
  }
  CHECK(read_file(driver.path() / "plots" / "train.log") == "third");
  CHECK(read_file(driver.path() / "plots" / "train.log.older_1") == "first");
  CHECK(read_file(driver.path() / "plots" / "train.log.older_2") == "second");
}

TEST_CASE("a link in the trial's directory leads no file elsewhere", "[trial_package]") {
  const test::TemporaryFolder driver;
  const test::TemporaryFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), driver.path() / "data");
  write_file(driver.path() / "outgoing_1_1" / "files" / "data" / "x", "text");
  const auto unpacked = unpack_trial(driver.path(), "outgoing_1_1");
  REQUIRE_FALSE(unpacked);
  CHECK_THAT(unpacked.error().message,
             Catch::Contains((driver.path() / "data").string() + " is a link"));
  CHECK(fs::is_empty(elsewhere.path()));
}

TEST_CASE("output that finds no place is not there in part", "[trial_package]") {
  const test::TemporaryFolder driver;
  write_file(driver.path() / "stdout", "before");
  fs::create_directory(driver.path() / "stderr");  // a file cannot be written there
  write_file(driver.path() / "outgoing_1_1" / "stdout", " and after");
  write_file(driver.path() / "outgoing_1_1" / "stderr", "noise");
  const auto unpacked = unpack_trial(driver.path(), "outgoing_1_1");
  REQUIRE_FALSE(unpacked);
  CHECK_THAT(unpacked.error().message, Catch::Contains((driver.path() / "stderr").string()));
  CHECK(read_file(driver.path() / "stdout") == "before");
  CHECK_FALSE(fs::exists(driver.path() / "outgoing_1_1"));
}

TEST_CASE("a trial that left nothing makes no package", "[trial_package]") {
  const test::TemporaryFolder node;
  CHECK(pack_trial(node.path(), "outgoing_1_1", {}, true).value().is_empty);
  CHECK(pack_trial(node.path() / "absent", "outgoing_1_1", {}, true).value().is_empty);
  CHECK(fs::is_empty(node.path()));
}

}  // namespace
}  // namespace tune::store
