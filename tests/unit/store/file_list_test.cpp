#include "store/file_list.hpp"

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

/// What check_file_list() says; empty if all is well.
std::string fault_of(const FileList& list) {
  const auto checked = check_file_list(list);
  if (checked) return {};
  CHECK(checked.error().code == ErrorCode::damaged);
  return checked.error().message;
}

FileEntry file_at(std::string path) { return {.path = std::move(path), .size_bytes = 1}; }
FileEntry directory_at(std::string path) {
  return {.path = std::move(path), .kind = EntryKind::directory};
}
FileEntry link_at(std::string path, std::string target) {
  return {.path = std::move(path), .kind = EntryKind::link, .target = std::move(target)};
}

TEST_CASE("a tree is listed with its directories, empty ones too", "[file_list]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a" / "empty");
  std::ofstream(folder.path() / "a-b") << "12345";
  std::ofstream(folder.path() / "a" / "tool") << "#!";
  fs::permissions(folder.path() / "a" / "tool", fs::perms::owner_all);
  fs::create_symlink("../a-b", folder.path() / "a" / "latest");
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);

  const auto list = list_tree(folder.path());
  REQUIRE(list);
  REQUIRE(list->size() == 5);  // a pipe cannot travel
  CHECK(list->at(0) == directory_at("a"));
  CHECK(list->at(1).path == "a-b");
  CHECK(list->at(1).size_bytes == 5);
  CHECK_FALSE(list->at(1).is_executable);
  CHECK(list->at(2) == directory_at("a/empty"));
  CHECK(list->at(3) == link_at("a/latest", "../a-b"));
  CHECK(list->at(4).path == "a/tool");
  CHECK(list->at(4).is_executable);
  CHECK(fault_of(*list).empty());
}

TEST_CASE("a tree with a link that leaves it is not listed", "[file_list]") {
  const TemporaryFolder folder;
  const std::string target =
      GENERATE(as<std::string>{}, "../secret", "/etc/passwd", "sub/../../secret");
  fs::create_directory(folder.path() / "sub");
  fs::create_symlink(target, folder.path() / "leak");
  const auto list = list_tree(folder.path());
  REQUIRE_FALSE(list);
  CHECK_THAT(list.error().message, Contains(folder.path().string()) && Contains("\"leak\"") &&
                                       Contains(target) && Contains("leave the directory"));
}

TEST_CASE("a directory that is not there cannot be listed", "[file_list]") {
  const TemporaryFolder folder;
  const auto list = list_tree(folder.path() / "missing");
  REQUIRE_FALSE(list);
  CHECK_THAT(list.error().message, Contains("missing: No such file or directory"));
}

TEST_CASE("no path of a list leaves its directory", "[file_list]") {
  const std::string path = GENERATE(as<std::string>{}, "", "/etc/passwd", "..", "../x", "a/../../x",
                                    "a/..", ".", "./x", "a//b", "a/", "/", std::string("a\0b", 3));
  const FileList list{directory_at("a"), file_at(path)};
  CHECK_THAT(fault_of(list), Contains("no path within the directory"));
}

TEST_CASE("names that only look odd are allowed", "[file_list]") {
  CHECK(fault_of({directory_at("..a"), file_at("..a/...")}).empty());
  CHECK(fault_of({file_at(" ")}).empty());
  CHECK(fault_of({file_at("new\nline")}).empty());
}

TEST_CASE("a list is in order, and nothing stands twice", "[file_list]") {
  CHECK_THAT(fault_of({file_at("b"), file_at("a")}), Contains("\"a\" stands behind \"b\""));
  CHECK_THAT(fault_of({file_at("a"), file_at("a")}), Contains("\"a\" stands behind \"a\""));
  CHECK_THAT(fault_of({file_at("a"), directory_at("a")}), Contains("stands behind"));
}

TEST_CASE("what stands in a list stands in a directory of it", "[file_list]") {
  CHECK(fault_of({directory_at("a"), file_at("a/b")}).empty());
  CHECK_THAT(fault_of({file_at("a"), file_at("a/b")}),
             Contains("\"a/b\" does not stand in a directory"));
  CHECK_THAT(fault_of({link_at("a", "b"), file_at("a/b")}), Contains("\"a/b\" does not stand"));
  CHECK_THAT(fault_of({file_at("a/b")}), Contains("\"a/b\" does not stand"));
}

TEST_CASE("a link of a list stays within it, wherever others lead", "[file_list]") {
  const std::string inside = GENERATE(as<std::string>{}, "x", "../x", "./x", "b/c", "../a/b", ".");
  CHECK(fault_of({directory_at("a"), link_at("a/l", inside)}).empty());
  // ".." behind a name: that name may be a link to the top itself.
  const std::string outside = GENERATE(as<std::string>{}, "", "/x", "../../x", "b/../x",
                                       "./../../x", "b/../../x", std::string("x\0y", 3));
  CHECK_THAT(fault_of({directory_at("a"), link_at("a/l", outside)}), Contains("may leave"));
}

TEST_CASE("a kind of entry that is not known is refused", "[file_list]") {
  FileEntry odd = file_at("a");
  odd.kind = static_cast<EntryKind>(7);
  CHECK_THAT(fault_of({odd}), Contains("no kind that is known"));
}

TEST_CASE("sizes that no file system has are refused", "[file_list]") {
  FileEntry huge = file_at("a");
  huge.size_bytes = most_bytes;
  CHECK(fault_of({huge}).empty());
  CHECK_THAT(fault_of({huge, file_at("b")}), Contains("\"b\" has 1 bytes"));
  huge.size_bytes = UINT64_MAX;
  CHECK_THAT(fault_of({huge}), Contains("\"a\" has 18446744073709551615 bytes"));
}

TEST_CASE("of a list that is needed which has the files of the manifest", "[file_list]") {
  const FileList list{directory_at("a"), file_at("a/extra"), file_at("a/x"), link_at("b", "a/x")};
  const core::CheckpointManifest manifest{{"a/x", 1, "-"}, {"b", 3, "-"}};
  const auto chosen = choose_listed(list, manifest);
  REQUIRE(chosen);
  CHECK(*chosen == FileList{directory_at("a"), file_at("a/x"), link_at("b", "a/x")});
}

TEST_CASE("a list without a file of the manifest names it", "[file_list]") {
  const auto fault = [](const FileList& list, const core::CheckpointManifest& manifest) {
    const auto chosen = choose_listed(list, manifest);
    REQUIRE_FALSE(chosen);
    CHECK(chosen.error().code == ErrorCode::damaged);
    return chosen.error().message;
  };
  CHECK(fault({file_at("b")}, {{"a", 1, "-"}, {"b", 1, "-"}}) == "a is missing");
  CHECK(fault({file_at("a")}, {{"a", 1, "-"}, {"b", 1, "-"}}) == "b is missing");
  CHECK(fault({}, {{"b", 1, "-"}}) == "b is missing");
  CHECK(fault({file_at("a")}, {{"a", 2, "-"}}) == "a: 1 bytes, want 2");
  CHECK(fault({directory_at("a")}, {{"a", 2, "-"}}) == "a is a directory");
}

}  // namespace
}  // namespace tune::store
