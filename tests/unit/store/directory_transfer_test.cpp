#include "store/directory_transfer.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "store/checkpoint_store.hpp"
#include "store/served_files.hpp"
#include "support/seed.hpp"
#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::TemporaryFolder;

constexpr const char* moved_trial = "00003_x=1";
constexpr const char* moved_checkpoint = "checkpoint_000006";
const std::string moved_directory = std::string(moved_trial) + "/" + moved_checkpoint;
// So that small files have many of both.
constexpr std::uint32_t small_pieces = 7;
constexpr std::uint32_t small_blocks = 16;

void write_content(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All that is in a directory, as text.
std::vector<std::string> picture(const fs::path& root) {
  std::vector<std::string> lines;
  const FileList list = list_tree(root).value();
  for (const FileEntry& entry : list) {
    std::string line = entry.path + (entry.is_executable ? " x" : "");
    if (entry.kind == EntryKind::file) line += ": " + content_of(root / entry.path);
    if (entry.kind == EntryKind::link) line += " -> " + entry.target;
    lines.push_back(line);
  }
  return lines;
}

/// Two machines, one with a checkpoint that the other wants.
class TwoMachines {
 public:
  TwoMachines() : files(source.path()) { fs::create_directories(source_directory()); }

  [[nodiscard]] fs::path source_directory() const { return source.path() / moved_directory; }
  [[nodiscard]] fs::path target_directory() const { return target.path() / moved_directory; }
  /// As the node that wrote the checkpoint has told.
  [[nodiscard]] core::SharedManifest manifest() const {
    const CheckpointStore store(source.path());
    auto pending = store.begin(moved_trial, moved_checkpoint).value();
    fs::remove(pending.path());
    fs::copy(source_directory(), pending.path(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    return std::make_shared<const core::CheckpointManifest>(pending.commit().value());
  }
  [[nodiscard]] DirectoryTransfer make(core::SharedManifest what,
                                       std::uint32_t incarnation = 1) const {
    return DirectoryTransfer({.experiment = target.path(),
                              .directory = moved_directory,
                              .incarnation = incarnation,
                              .manifest = std::move(what),
                              .piece_bytes = small_pieces,
                              .hash_block_bytes = small_blocks});
  }
  /// Answers one question as a sound machine does.
  Expected<void> answer(DirectoryTransfer& transfer, const TransferQuestion& question) const {
    if (const auto* list = std::get_if<AskEntries>(&question)) {
      constexpr std::size_t on_a_page = 3;
      const auto all = files.list(moved_directory);
      if (!all) return all.error();
      const auto begin = all->begin() + static_cast<std::ptrdiff_t>(list->from);
      const auto left = static_cast<std::size_t>(all->end() - begin);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(on_a_page, left));
      return transfer.on_entries({begin, end}, all->size());
    }
    if (const auto* ask = std::get_if<AskBytes>(&question)) {
      const auto& [file, offset, size_bytes] = ask->piece;
      auto bytes = files.read(moved_directory, transfer.file_path(file), offset, size_bytes);
      if (!bytes) return bytes.error();
      return transfer.on_bytes(ask->piece, std::move(*bytes));
    }
    const auto& [file, offset, size_bytes] = std::get<AskHash>(question).block;
    const auto hash = files.hash(moved_directory, transfer.file_path(file), offset, size_bytes);
    if (!hash) return hash.error();
    return transfer.on_hash(std::get<AskHash>(question).block, *hash);
  }
  /// Answers up to `most` questions, in their order.
  Expected<void> serve(DirectoryTransfer& transfer, std::size_t most = 100000) const {
    while (most-- > 0) {
      const auto question = transfer.next_question();
      if (!question) return {};
      if (const auto answered = answer(transfer, *question); !answered) return answered;
    }
    return {};
  }
  /// The error of a transfer that must fail.
  [[nodiscard]] Error failure(DirectoryTransfer& transfer) const {
    const auto served = serve(transfer);
    REQUIRE_FALSE(served);
    CHECK_FALSE(transfer.is_complete());
    return served.error();
  }
  [[nodiscard]] std::vector<std::string> names_in_trial() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(target.path() / moved_trial)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder source;
  TemporaryFolder target;
  ServedFiles files;
};

void write_example(const fs::path& root) {
  write_content(root / "weights.bin", std::string(50, 'w'));
  write_content(root / "optimizer" / "state", "momentum of a few bytes");
  write_content(root / "empty", "");
  write_content(root / "tool", "#!/bin/sh");
  fs::permissions(root / "tool", fs::perms::owner_exec, fs::perm_options::add);
  fs::create_directories(root / "nothing" / "at_all");
  fs::create_symlink("weights.bin", root / "latest");
  fs::create_symlink("../optimizer", root / "nothing" / "link_to_directory");
}

TEST_CASE("a directory arrives as it is, with empty files and directories and links",
          "[transfer]") {
  const TwoMachines machines;
  write_example(machines.source_directory());
  const bool knows_manifest = GENERATE(true, false);
  const auto manifest = machines.manifest();
  DirectoryTransfer transfer = machines.make(knows_manifest ? manifest : nullptr);
  CHECK_FALSE(transfer.is_in_place());
  REQUIRE(machines.serve(transfer));
  REQUIRE(transfer.is_complete());
  CHECK(transfer.manifest() == *manifest);
  CHECK(transfer.moved_bytes() == 50 + 23 + 9);
  CHECK(picture(machines.target_directory()) == picture(machines.source_directory()));
  CHECK(machines.names_in_trial() == std::vector<std::string>{moved_checkpoint});
  CHECK(CheckpointStore(machines.target.path()).verify(moved_trial, moved_checkpoint, *manifest));
}

TEST_CASE("a checkpoint without any file arrives", "[transfer]") {
  const TwoMachines machines;
  DirectoryTransfer transfer = machines.make(machines.manifest());
  REQUIRE(machines.serve(transfer));
  REQUIRE(transfer.is_complete());
  CHECK(fs::is_empty(machines.target_directory()));
}

TEST_CASE("what is in its place with the right content is known without the other side",
          "[transfer]") {
  const TwoMachines machines;
  write_example(machines.source_directory());
  const auto manifest = machines.manifest();
  DirectoryTransfer first = machines.make(manifest);
  REQUIRE(machines.serve(first));
  CHECK(machines.make(manifest).is_in_place());
  CHECK_FALSE(machines.make(nullptr).is_in_place());

  write_content(machines.target_directory() / "weights.bin", std::string(50, 'x'));
  CHECK_FALSE(machines.make(manifest).is_in_place());
  DirectoryTransfer again = machines.make(manifest);
  REQUIRE(machines.serve(again));
  CHECK(content_of(machines.target_directory() / "weights.bin") == std::string(50, 'w'));
  CHECK(machines.names_in_trial() == std::vector<std::string>{moved_checkpoint});
}

TEST_CASE("a transfer that breaks off after any answer goes on, and moves no byte twice",
          "[transfer]") {
  const TwoMachines machines;
  write_example(machines.source_directory());
  const auto manifest = machines.manifest();
  const std::uint64_t all_bytes = 50 + 23 + 9;
  bool was_whole = false;
  for (std::size_t cut = 0; !was_whole; ++cut) {
    INFO("cut after " << cut << " answers");
    REQUIRE(cut < 100);
    fs::remove_all(machines.target.path() / moved_trial);
    DirectoryTransfer first = machines.make(manifest);
    REQUIRE(machines.serve(first, cut));
    was_whole = first.is_complete();
    if (was_whole) break;
    CHECK_FALSE(fs::exists(machines.target_directory()));

    DirectoryTransfer second = machines.make(manifest);
    REQUIRE(machines.serve(second));
    REQUIRE(second.is_complete());
    CHECK(first.moved_bytes() + second.moved_bytes() == all_bytes);
    CHECK(picture(machines.target_directory()) == picture(machines.source_directory()));
    CHECK(machines.names_in_trial() == std::vector<std::string>{moved_checkpoint});
  }
}

TEST_CASE("what was left by a transfer is not believed", "[transfer]") {
  const TwoMachines machines;
  write_content(machines.source_directory() / "weights.bin", std::string(100, 'w'));
  write_content(machines.source_directory() / "whole", std::string(30, 'h'));
  const auto manifest = GENERATE(true, false) ? machines.manifest() : nullptr;
  DirectoryTransfer first = machines.make(manifest);
  REQUIRE(machines.serve(first, 10));
  const fs::path left = machines.target.path() / moved_trial / ".tmp-checkpoint_000006-arrival-1";
  REQUIRE(fs::is_directory(left));

  SECTION("other bytes at its end") {
    write_content(left / "weights.bin", std::string(40, 'w') + "!!");
  }
  SECTION("other bytes at its beginning") { write_content(left / "weights.bin", "!!!"); }
  SECTION("too long") { write_content(left / "weights.bin", std::string(300, 'w')); }
  SECTION("a whole file of other content") { write_content(left / "whole", std::string(30, '!')); }
  SECTION("a file that nobody listed") { write_content(left / "more" / "files", "x"); }
  SECTION("a link in the place of a file") {
    write_content(machines.target.path() / "secret", "secret");
    fs::remove(left / "weights.bin");
    fs::create_symlink(machines.target.path() / "secret", left / "weights.bin");
  }
  SECTION("a directory in the place of a file") {
    fs::remove(left / "weights.bin");
    fs::create_directories(left / "weights.bin" / "x");
  }
  DirectoryTransfer second = machines.make(manifest);
  REQUIRE(machines.serve(second));
  REQUIRE(second.is_complete());
  CHECK(picture(machines.target_directory()) == picture(machines.source_directory()));
  if (fs::exists(machines.target.path() / "secret")) {
    CHECK(content_of(machines.target.path() / "secret") == "secret");
  }
}

TEST_CASE("what arrived for an earlier incarnation is removed", "[transfer]") {
  const TwoMachines machines;
  write_example(machines.source_directory());
  DirectoryTransfer first = machines.make(machines.manifest(), 2);
  REQUIRE(machines.serve(first, 8));
  DirectoryTransfer second = machines.make(machines.manifest(), 10);
  REQUIRE(machines.serve(second, 8));
  CHECK(machines.names_in_trial() == std::vector<std::string>{".tmp-checkpoint_000006-arrival-10"});
  CHECK(CheckpointStore(machines.target.path()).clean(moved_trial, {}).value() ==
        std::vector<std::string>{".tmp-checkpoint_000006-arrival-10"});
}

TEST_CASE("a transfer that is given up leaves nothing", "[transfer]") {
  const TwoMachines machines;
  write_example(machines.source_directory());
  DirectoryTransfer transfer = machines.make(machines.manifest());
  REQUIRE(machines.serve(transfer, 8));
  transfer.abandon();
  CHECK(machines.names_in_trial().empty());
}

TEST_CASE("a source that disappears or changes on the way ends a transfer, by name", "[transfer]") {
  const TwoMachines machines;
  write_example(machines.source_directory());
  DirectoryTransfer transfer = machines.make(machines.manifest());
  REQUIRE(machines.serve(transfer, 6));
  SECTION("the directory goes") {
    fs::remove_all(machines.source_directory());
    CHECK_THAT(machines.failure(transfer).message,
               Contains(moved_directory) && Contains("No such file or directory"));
  }
  SECTION("a file goes") {
    fs::remove(machines.source_directory() / "weights.bin");
    CHECK_THAT(machines.failure(transfer).message,
               Contains("weights.bin: No such file or directory"));
  }
  SECTION("a file becomes shorter") {
    fs::resize_file(machines.source_directory() / "weights.bin", 20);
    CHECK_THAT(machines.failure(transfer).message, Contains("weights.bin ends at byte 20"));
  }
  SECTION("a file becomes a link") {
    fs::remove(machines.source_directory() / "weights.bin");
    fs::create_symlink("/etc/passwd", machines.source_directory() / "weights.bin");
    CHECK_THAT(machines.failure(transfer).message, Contains("weights.bin"));
  }
  SECTION("a file has other content") {
    write_content(machines.source_directory() / "weights.bin", std::string(50, 'x'));
    const Error error = machines.failure(transfer);
    CHECK(error.code == ErrorCode::damaged);
    CHECK_THAT(error.message, Contains("weights.bin: content with hash"));
  }
}

TEST_CASE("a source that is not what was recorded is refused before anything moves", "[transfer]") {
  const TwoMachines machines;
  write_example(machines.source_directory());
  const auto manifest = machines.manifest();
  fs::remove(machines.source_directory() / "weights.bin");
  DirectoryTransfer transfer = machines.make(manifest);
  CHECK(machines.failure(transfer).message == "weights.bin is missing");
  CHECK(transfer.moved_bytes() == 0);
}

TEST_CASE("a machine that lies in its answers is refused", "[transfer]") {
  const TwoMachines machines;
  DirectoryTransfer transfer = machines.make(nullptr);
  REQUIRE(transfer.next_question());
  const FileEntry small{.path = "a", .size_bytes = 10};
  SECTION("a path that leaves the directory") {
    const auto answered = transfer.on_entries({{.path = "../../evil", .size_bytes = 1}}, 1);
    REQUIRE_FALSE(answered);
    CHECK_THAT(answered.error().message, Contains("\"../../evil\" is no path within"));
  }
  SECTION("a link that does") {
    const auto answered =
        transfer.on_entries({{.path = "a", .kind = EntryKind::link, .target = "/etc"}}, 1);
    REQUIRE_FALSE(answered);
    CHECK_THAT(answered.error().message, Contains("link to \"/etc\""));
  }
  SECTION("more entries than it said") { CHECK_FALSE(transfer.on_entries({small, small}, 1)); }
  SECTION("no entries, for ever") { CHECK_FALSE(transfer.on_entries({}, 1)); }
  SECTION("too many") { CHECK_FALSE(transfer.on_entries({small}, most_entries + 1)); }
  SECTION("pieces of another size") {
    REQUIRE(transfer.on_entries({small}, 1));
    REQUIRE(transfer.next_question());
    const auto answered = transfer.on_bytes({0, 0, small_pieces}, {'x'});
    REQUIRE_FALSE(answered);
    CHECK(answered.error().message == "a: the other side sent 1 bytes at byte 0, want 7");
  }
  SECTION("hashes of nothing") {
    write_content(machines.source_directory() / "a", std::string(10, 'a'));
    REQUIRE(transfer.on_entries({small}, 1));
    while (const auto question = transfer.next_question()) {
      if (const auto* hash = std::get_if<AskHash>(&*question)) {
        const auto answered = transfer.on_hash(hash->block, "");
        REQUIRE_FALSE(answered);
        CHECK_THAT(answered.error().message, Contains("a: 10 bytes at byte 0 have hash"));
        return;
      }
      REQUIRE(machines.answer(transfer, *question));
    }
    FAIL("no hash was asked for");
  }
}

/// Fills a directory at random.
void write_random_tree(const fs::path& root, std::mt19937_64& random) {
  std::vector<fs::path> directories{root};
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  for (std::size_t left = draw(12); left > 0; --left) {
    const fs::path parent = directories[draw(directories.size())];
    const fs::path path = parent / (std::string(1, "a-.b"[draw(4)]) + std::to_string(left));
    switch (draw(5)) {
      case 0:
        fs::create_directory(path);
        directories.push_back(path);
        break;
      case 1:
        fs::create_symlink("anything" + std::to_string(draw(9)), path);
        break;
      default:
        std::string content(draw(4) == 0 ? 0 : draw(60), ' ');
        for (char& byte : content) byte = static_cast<char>(random());
        write_content(path, content);
    }
  }
}

TEST_CASE("random trees arrive whole, with answers in any order and cut anywhere", "[transfer]") {
  const std::uint64_t seed = test::test_seed(1);
  for (std::uint64_t round = 0; round < 60; ++round) {
    INFO("TUNE_TEST_SEED=" << seed << " round " << round);
    std::mt19937_64 random(seed + round);
    const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
    const TwoMachines machines;
    write_random_tree(machines.source_directory(), random);
    const auto manifest = draw(2) == 0 ? machines.manifest() : nullptr;
    std::uint64_t moved_bytes = 0;
    for (int tries = 0;; ++tries) {
      REQUIRE(tries < 500);
      DirectoryTransfer transfer = machines.make(manifest);
      std::vector<TransferQuestion> asked;
      std::size_t answers_left = 3 + draw(40);
      while (answers_left-- > 0) {
        while (asked.size() < 4) {
          const auto question = transfer.next_question();
          if (!question) break;
          asked.push_back(*question);
        }
        if (asked.empty()) break;
        std::swap(asked[draw(asked.size())], asked.back());
        const TransferQuestion question = asked.back();
        asked.pop_back();
        REQUIRE(machines.answer(transfer, question));
      }
      moved_bytes += transfer.moved_bytes();
      if (transfer.is_complete()) break;
      REQUIRE_FALSE(fs::exists(machines.target_directory()));
    }
    REQUIRE(picture(machines.target_directory()) == picture(machines.source_directory()));
  }
}

}  // namespace
}  // namespace tune::store
