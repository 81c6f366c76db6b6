#include "store/served_files.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::TemporaryFolder;

/// An experiment with a checkpoint, beside something that is nobody's business.
class ServedExample {
 public:
  ServedExample() : files(folder.path() / "experiment") {
    fs::create_directories(checkpoint() / "sub");
    std::ofstream(checkpoint() / "sub" / "weights") << "0123456789";
    std::ofstream(folder.path() / "experiment" / "experiment.db") << "journal";
    fs::create_directory(folder.path() / "private");
    std::ofstream(folder.path() / "private" / "key") << "secret";
  }
  [[nodiscard]] fs::path checkpoint() const {
    return folder.path() / "experiment" / "00000" / "checkpoint_000001";
  }

  TemporaryFolder folder;
  ServedFiles files;
  const std::string directory = "00000/checkpoint_000001";
};

std::string text_of(const Expected<std::vector<char>>& bytes) {
  REQUIRE(bytes);
  return {bytes->begin(), bytes->end()};
}

TEST_CASE("a piece of a file is read at its place", "[served_files]") {
  const ServedExample example;
  CHECK(text_of(example.files.read(example.directory, "sub/weights", 3, 4)) == "3456");
  CHECK(text_of(example.files.read(example.directory, "sub/weights", 10, 0)).empty());
  CHECK(example.files.list(example.directory).value().size() == 2);
}

TEST_CASE("a hash is that of the manifest", "[served_files]") {
  const ServedExample example;
  const auto whole = example.files.hash(example.directory, "sub/weights", 0, 10);
  REQUIRE(whole);
  CHECK(whole->size() == 32);
  CHECK(example.files.hash(example.directory, "sub/weights", 0, 9).value() != *whole);
  CHECK(example.files.hash(example.directory, "sub/weights", 0, 0).value() ==
        "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing
}

TEST_CASE("more than there is, is an error with the path", "[served_files]") {
  const ServedExample example;
  for (const std::string& message :
       {example.files.read(example.directory, "sub/weights", 8, 4).error().message,
        example.files.hash(example.directory, "sub/weights", 8, 4).error().message}) {
    CHECK_THAT(message, Contains("checkpoint_000001/sub/weights ends at byte 10"));
  }
  const auto absent = example.files.read(example.directory, "gone", 0, 1);
  REQUIRE_FALSE(absent);
  CHECK_THAT(absent.error().message, Contains("gone: No such file or directory"));
}

TEST_CASE("only directories of trials are served", "[served_files]") {
  const ServedExample example;
  const std::string directory = GENERATE(
      as<std::string>{}, "", ".", "..", "/", "00000", "../private", "00000/../../private", "/etc",
      "00000/..", "00000/.tmp-checkpoint_000001-9-1", ".hidden/x", "00000//checkpoint_000001",
      "00000/checkpoint_000001/..", "00000/checkpoint_000001/");
  CHECK_FALSE(is_served_directory(directory));
  for (const std::string& message : {example.files.list(directory).error().message,
                                     example.files.read(directory, "key", 0, 1).error().message,
                                     example.files.hash(directory, "key", 0, 1).error().message}) {
    CHECK_THAT(message, Contains("want a directory below that of a trial"));
  }
}

TEST_CASE("no path and no link leads out of a directory", "[served_files]") {
  const ServedExample example;
  fs::create_symlink(example.folder.path() / "private", example.checkpoint() / "linked");
  fs::create_symlink(example.folder.path() / "private" / "key", example.checkpoint() / "key");
  fs::create_symlink(example.folder.path() / "private",
                     example.folder.path() / "experiment" / "00000" / "checkpoint_000002");
  const std::string file = GENERATE(as<std::string>{}, "../../../private/key", "/etc/passwd",
                                    "linked/key", "key", "", ".", "sub/../key", "sub", "linked");
  INFO(file);
  CHECK_FALSE(example.files.read(example.directory, file, 0, 1));
  CHECK_FALSE(example.files.hash(example.directory, file, 0, 1));
  CHECK_FALSE(example.files.read("00000/checkpoint_000002", "key", 0, 1));
  CHECK_FALSE(example.files.list("00000/checkpoint_000002"));
}

TEST_CASE("what is no file is not read, and not waited for", "[served_files]") {
  const ServedExample example;
  REQUIRE(::mkfifo((example.checkpoint() / "pipe").c_str(), 0600) == 0);
  const auto read = example.files.read(example.directory, "pipe", 0, 1);
  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().message, Contains("this is no file") && Contains("pipe"));
}

TEST_CASE("how much is read at once has a bound", "[served_files]") {
  const ServedExample example;
  const auto much = example.files.read(example.directory, "sub/weights", 0, piece_bytes + 1);
  REQUIRE_FALSE(much);
  CHECK_THAT(much.error().message, Contains("at most 262144 at once"));
  CHECK_FALSE(example.files.read(example.directory, "sub/weights", UINT64_MAX, 1));
  CHECK_FALSE(example.files.hash(example.directory, "sub/weights", UINT64_MAX - 5, 10));
  CHECK_FALSE(example.files.hash(example.directory, "sub/weights", 0, hash_block_bytes + 1));
}

}  // namespace
}  // namespace tune::store
