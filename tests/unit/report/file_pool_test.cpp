#include "report/file_pool.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <catch2/catch.hpp>

#include "support/skip.hpp"
#include "support/temporary_folder.hpp"
#include "trial_files.hpp"

namespace tune::report {
namespace {

using test::file_text;

TEST_CASE("what is appended is in the file after a flush", "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool;
  const auto file = pool.create(folder.path() / "a");
  file->append("one\n");
  CHECK_FALSE(std::filesystem::exists(file->path()));
  CHECK(file->content() == "one\n");
  CHECK(pool.buffered_bytes() == 4);
  pool.flush();
  CHECK(file_text(file->path()) == "one\n");
  CHECK(pool.buffered_bytes() == 0);
  file->append("two\n");
  CHECK(file->size_bytes() == 8);
  CHECK(file->content() == "one\ntwo\n");
  file->flush();
  CHECK(file_text(file->path()) == "one\ntwo\n");
}

TEST_CASE("a file that is there already is begun anew", "[file_pool]") {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "a", "of another run\n");
  FilePool pool;
  const auto file = pool.create(folder.path() / "a");
  file->append("new\n");
  file->flush();
  CHECK(file_text(file->path()) == "new\n");
}

TEST_CASE("any number of files share a few descriptors", "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool(4);
  std::vector<std::unique_ptr<AppendFile>> files;
  for (int i = 0; i < 20; ++i) files.push_back(pool.create(folder.path() / std::to_string(i)));
  for (int round = 0; round < 3; ++round) {
    for (const auto& file : files) {
      file->append(std::to_string(round));
      file->flush();
      CHECK(pool.open_files() <= 4);
    }
  }
  for (const auto& file : files) CHECK(file_text(file->path()) == "012");
  files.clear();
  CHECK(pool.open_files() == 0);
}

TEST_CASE("a full buffer is written without a flush", "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool;
  const std::string record(1000, 'x');
  const auto file = pool.create(folder.path() / "a");
  for (int i = 0; i < 100; ++i) file->append(record);
  CHECK(std::filesystem::file_size(file->path()) >= 64'000);

  // Many files that are each far from full.
  std::vector<std::unique_ptr<AppendFile>> files;
  for (int i = 0; i < 400; ++i) {
    files.push_back(pool.create(folder.path() / std::to_string(i)));
    for (int j = 0; j < 50; ++j) files.back()->append(record);
  }
  CHECK(pool.buffered_bytes() < 17'000'000);
}

TEST_CASE("the end of a file is cut and replaced, written or not", "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool;
  const auto file = pool.create(folder.path() / "a");
  file->append("one\n");
  file->append("two\n");
  const int written = GENERATE(0, 1, 2);
  if (written == 2) file->flush();
  if (written == 1) {
    file->truncate(4);
    file->flush();
    file->append("two\n");
  }
  file->replace_tail(4, "zwei!\n");
  CHECK(file->content() == "one\nzwei!\n");
  file->append("three\n");
  file->truncate(4);
  file->append("four\n");
  file->flush();
  CHECK(file_text(file->path()) == "one\nfour\n");
  file->truncate(0);
  file->append("five\n");
  file->flush();
  CHECK(file_text(file->path()) == "five\n");
}

/// Puts "wide " before each line.
std::string widened(std::string_view content) {
  std::string wide;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = content.find('\n', begin) + 1;
    wide += "wide ";
    wide += content.substr(begin, end - begin);
    begin = end;
  }
  return wide;
}

TEST_CASE("a file gets another form when it is next written, and grows on", "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool;
  const auto file = pool.create(folder.path() / "a");
  file->append("one\n");
  const bool is_written = GENERATE(false, true);
  if (is_written) file->flush();
  file->rewrite_when_written(&widened);
  file->append("two\n");
  CHECK(file->content() == "one\ntwo\n");
  if (is_written) CHECK(file_text(file->path()) == "one\n");
  pool.flush();
  CHECK(file_text(file->path()) == "wide one\nwide two\n");
  CHECK(file->size_bytes() == 18);
  CHECK(pool.buffered_bytes() == 0);
  file->append("three\n");
  file->flush();
  CHECK(file_text(file->path()) == "wide one\nwide two\nthree\n");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  CHECK(files == 1);  // no temporary one is left
}

TEST_CASE("a file that is there already is gone on with", "[file_pool]") {
  const test::TemporaryFolder folder;
  write_file(folder.path() / "a", "old\n");
  FilePool pool(1);
  const auto file = pool.continue_file(folder.path() / "a");
  const auto other = pool.continue_file(folder.path() / "b");  // takes the descriptor away
  CHECK(file->size_bytes() == 4);
  for (int i = 0; i < 2; ++i) {
    file->append("new\n");
    other->append("x");
    pool.flush();
  }
  CHECK(file_text(folder.path() / "a") == "old\nnew\nnew\n");
  CHECK(file->content() == "old\nnew\nnew\n");
  CHECK(file_text(folder.path() / "b") == "xx");
  file->truncate(8);
  CHECK(file_text(folder.path() / "a") == "old\nnew\n");
}

TEST_CASE("a file that was deleted does not come back without its beginning", "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool(1);
  const auto file = pool.create(folder.path() / "a");
  const auto other = pool.create(folder.path() / "b");
  file->append("one\n");
  file->flush();
  const bool is_closed = GENERATE(false, true);
  if (is_closed) {
    other->append("x");
    other->flush();
  }
  const bool is_rewritten = GENERATE(false, true);
  if (is_rewritten) file->rewrite_when_written(&widened);
  std::filesystem::remove(file->path());
  file->append("two\n");
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH(pool.flush(), Catch::Contains(file->path().string()) &&
                                        Catch::Contains("No such file or directory"));
    CHECK_FALSE(std::filesystem::exists(file->path()));
  }
}

TEST_CASE("what cannot be rewritten is kept, and the old file too", "[file_pool]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path directory = folder.path() / "d";
  std::filesystem::create_directory(directory);
  FilePool pool;
  const auto file = pool.create(directory / "a");
  file->append("one\n");
  file->flush();
  file->rewrite_when_written(&widened);
  file->append("two\n");
  std::filesystem::rename(directory, folder.path() / "e");
  CHECK_THROWS_WITH(pool.flush(), Catch::Contains((directory / "a").string()));
  CHECK(file_text(folder.path() / "e" / "a") == "one\n");
  std::filesystem::rename(folder.path() / "e", directory);
  file->append("three\n");
  pool.flush();
  CHECK(file_text(file->path()) == "wide one\nwide two\nwide three\n");
}

TEST_CASE("rewriting again and again writes little more than twice the file, and keeps a bound",
          "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool;
  const auto file = pool.create(folder.path() / "a");
  const std::string record(100'000, 'x');
  const auto same = [](std::string_view content) { return std::string(content); };
  for (int i = 0; i < 300; ++i) {
    file->rewrite_when_written(same);
    file->append(record);
    CHECK(pool.buffered_bytes() < 17'000'000);
  }
  file->flush();
  CHECK(std::filesystem::file_size(file->path()) == 30'000'000);
  CHECK(pool.written_bytes() < 90'000'000);
}

TEST_CASE("an error names the path, and what could not be written is kept", "[file_pool]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path directory = folder.path() / "not there";
  FilePool pool;
  const auto bad = pool.create(directory / "a");
  const auto good = pool.create(folder.path() / "b");
  bad->append("one\n");
  good->append("two\n");
  CHECK_THROWS_WITH(pool.flush(), Catch::Contains((directory / "a").string()) &&
                                      Catch::Contains("No such file or directory"));
  CHECK(file_text(good->path()) == "two\n");  // the others are written
  CHECK(bad->content() == "one\n");
  CHECK_THROWS_AS(bad->flush(), std::system_error);

  std::filesystem::create_directory(directory);
  pool.flush();
  CHECK(file_text(bad->path()) == "one\n");
  CHECK_THROWS_WITH(read_file(directory / "none"), Catch::Contains((directory / "none").string()));
  CHECK_THROWS_WITH(write_file(folder.path() / "no" / "x", ""), Catch::Contains("no/x"));
}

TEST_CASE("a full disk leaves whole records behind", "[file_pool]") {
  const std::filesystem::path full = "/dev/full";
  if (!std::filesystem::exists(full)) return test::skip_test(full.string() + " is absent");
  FilePool pool;
  const auto file = pool.create(full);
  file->append("one\n");
  CHECK_THROWS_WITH(file->flush(),
                    Catch::Contains("/dev/full") && Catch::Contains("No space left on device"));
  CHECK(file->content() == "one\n");
}

TEST_CASE("a file that was removed does not come back without its beginning", "[file_pool]") {
  const test::TemporaryFolder folder;
  FilePool pool(1);
  const auto file = pool.create(folder.path() / "a");
  const auto other = pool.create(folder.path() / "b");
  file->append("one\n");
  file->flush();
  other->append("x");
  other->flush();  // takes the only descriptor
  std::filesystem::remove(file->path());
  file->append("two\n");
  CHECK_THROWS_AS(file->flush(), std::system_error);
}

}  // namespace
}  // namespace tune::report
