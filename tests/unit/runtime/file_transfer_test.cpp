#include "runtime/file_transfer.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "store/checkpoint_store.hpp"
#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::TemporaryFolder;

constexpr std::chrono::seconds patience{120};
constexpr const char* trial = "00003_x=1";
constexpr const char* checkpoint = "checkpoint_000006";
const std::string directory = std::string(trial) + "/" + checkpoint;

struct TransferConfig final : caf::actor_system_config {
  TransferConfig() {
    load<caf::io::middleman>();
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
    add_transfer_messages(*this);
  }
};

/// A machine: an actor system of its own, and a place for the experiment.
class Machine {
 public:
  Machine() : system_(config_) { system_.await_actors_before_shutdown(false); }
  /// Ends what was started here.
  ~Machine() {
    for (const caf::strong_actor_ptr& actor : started_) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
      caf::scoped_actor(system_)->wait_for(caf::actor_cast<caf::actor>(actor));
    }
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] fs::path path() const { return folder_.path(); }
  [[nodiscard]] caf::actor_system& system() { return system_; }
  [[nodiscard]] FileServerActor start_server(const fs::path& root) {
    return start(system_.spawn(serve_files, root));
  }
  [[nodiscard]] FetcherActor start_fetcher(FetcherOptions options = {}) {
    options.experiment = path();
    return start(system_.spawn<caf::detached>(fetch_files, options));
  }
  template <class Handle>
  Handle start(Handle actor) {
    started_.push_back(caf::actor_cast<caf::strong_actor_ptr>(actor));
    return actor;
  }
  /// Makes `actor` one that others connect to; its port.
  template <class Handle>
  [[nodiscard]] std::uint16_t publish(const Handle& actor) {
    const auto port = system_.middleman().publish(actor, 0, "127.0.0.1");
    REQUIRE(port);
    return *port;
  }
  [[nodiscard]] FileServerActor connect(std::uint16_t port) {
    const auto server = system_.middleman().remote_actor<FileServerActor>("127.0.0.1", port);
    REQUIRE(server);
    return *server;
  }

 private:
  TemporaryFolder folder_;
  TransferConfig config_;
  caf::actor_system system_;
  std::vector<caf::strong_actor_ptr> started_;
};

DirectoryFetched fetch(Machine& machine, const FetcherActor& fetcher, const FetchDirectory& order) {
  const caf::scoped_actor self(machine.system());
  std::optional<DirectoryFetched> fetched;
  self->request(fetcher, patience, order)
      .receive([&](DirectoryFetched& answer) { fetched = std::move(answer); },
               [&](const caf::error& error) { FAIL(machine.system().render(error)); });
  return std::move(*fetched);
}

std::string text_of(const DirectoryFetched& fetched) {
  return fetched.error ? fetched.error->message : std::string();
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A checkpoint with these contents, by name. Its manifest.
core::SharedManifest write_checkpoint(
    const fs::path& experiment, const std::vector<std::pair<std::string, std::string>>& files) {
  auto pending = store::CheckpointStore(experiment).begin(trial, checkpoint).value();
  for (const auto& [name, content] : files) {
    fs::create_directories((pending.path() / name).parent_path());
    std::ofstream(pending.path() / name, std::ios::binary) << content;
  }
  return std::make_shared<const core::CheckpointManifest>(pending.commit().value());
}

std::string long_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * i % 23);
  return text;
}

// ---- Servers that are not as they should be ----

/// As serve_files(), but after so many answers it is gone.
FileServerActor::behavior_type serve_so_many(FileServerActor::pointer self,
                                             const FileServerActor& files, int answers) {
  const auto left = std::make_shared<int>(answers);
  const auto pass_on = [=](auto question) {
    if ((*left)-- <= 0) self->quit(caf::exit_reason::user_shutdown);
    return self->delegate(files, std::move(question));
  };
  return {
      [=](ListDirectory& question) { return pass_on(std::move(question)); },
      [=](ReadPiece& question) { return pass_on(std::move(question)); },
      [=](HashPiece& question) { return pass_on(std::move(question)); },
  };
}

struct Counted {
  std::future<void> start;  // of the first answer
  std::uint32_t waiting = 0;
  std::uint32_t most_waiting = 0;
  std::vector<std::string> directories = {};  // of pieces, in their order
};

/// Answers only once the fetcher asks no more, and counts how much it asks for at once.
class SlowServer {
 public:
  SlowServer(FileServerActor::pointer self, FileServerActor files, Counted* counted)
      : self_(self), files_(std::move(files)), counted_(counted) {}

  template <class Answer, class Question>
  caf::typed_response_promise<Answer> hold(Question question) {
    counted_->start.wait();
    ++counted_->waiting;
    counted_->most_waiting = std::max(counted_->most_waiting, counted_->waiting);
    auto promise = self_->make_response_promise<Answer>();
    // Behind all that the fetcher has sent before it waited.
    self_->request(files_, caf::infinite, std::move(question))
        .then(
            [this, promise](Answer& answer) mutable {
              --counted_->waiting;
              promise.deliver(std::move(answer));
            },
            [this, promise](caf::error& error) mutable {
              --counted_->waiting;
              promise.deliver(std::move(error));
            });
    return promise;
  }
  void note(const std::string& name) { counted_->directories.push_back(name); }

 private:
  FileServerActor::pointer self_;
  FileServerActor files_;
  Counted* counted_;  // the test's
};

FileServerActor::behavior_type serve_slowly(FileServerActor::pointer self,
                                            const FileServerActor& files, Counted* counted) {
  const auto server = std::make_shared<SlowServer>(self, files, counted);  // this behaviour's
  return {
      [=](ListDirectory& question) { return server->hold<DirectoryPage>(std::move(question)); },
      [=](ReadPiece& question) {
        server->note(question.directory);
        return server->hold<PieceRead>(std::move(question));
      },
      [=](HashPiece& question) { return server->hold<PieceHash>(std::move(question)); },
  };
}

FileServerActor::behavior_type never_answer(FileServerActor::pointer self) {
  const auto held = std::make_shared<std::vector<caf::response_promise>>();
  return {
      [=](const ListDirectory&) {
        auto promise = self->make_response_promise<DirectoryPage>();
        held->push_back(promise);
        return promise;
      },
      [=](const ReadPiece&) { return self->make_response_promise<PieceRead>(); },
      [=](const HashPiece&) { return self->make_response_promise<PieceHash>(); },
  };
}

FileServerActor::behavior_type lie(FileServerActor::pointer, const DirectoryPage& page,
                                   const std::string& bytes) {
  return {
      [=](const ListDirectory&) { return page; },
      [=](const ReadPiece&) {
        return PieceRead{{bytes.begin(), bytes.end()}};
      },
      [=](const HashPiece&) { return PieceHash{"0"}; },
  };
}

// ---- Tests ----

TEST_CASE("every message of a transfer crosses the wire", "[file_transfer]") {
  Machine node;
  Machine driver;
  // Small pieces and an earlier attempt, so that there are pages, pieces, hashes and an error.
  std::vector<std::pair<std::string, std::string>> files{{"weights.bin", long_text(100'000)}};
  const std::string long_name(200, 'n');
  for (int i = 0; i < 800; ++i) files.emplace_back("many/" + long_name + std::to_string(i), "x");
  const auto manifest = write_checkpoint(node.path(), files);
  const auto port = node.publish(node.start_server(node.path()));
  const FetcherActor fetcher = driver.start_fetcher({.piece_bytes = 1000});
  const FileServerActor server = driver.connect(port);

  const DirectoryFetched known = fetch(driver, fetcher, {server, directory, 1, manifest});
  REQUIRE(text_of(known).empty());
  REQUIRE(known.manifest);
  CHECK(*known.manifest == *manifest);
  CHECK(known.directory == directory);
  CHECK(known.incarnation == 1);
  CHECK(known.moved_bytes == 100'800);
  CHECK(store::CheckpointStore(driver.path()).verify(trial, checkpoint, *manifest));

  const DirectoryFetched again = fetch(driver, fetcher, {server, directory, 1, manifest});
  CHECK(again.manifest);
  CHECK(again.moved_bytes == 0);  // it is there

  fs::remove_all(driver.path() / trial);
  const DirectoryFetched unknown = fetch(driver, fetcher, {server, directory, 1, nullptr});
  REQUIRE(unknown.manifest);
  CHECK(*unknown.manifest == *manifest);

  const DirectoryFetched absent =
      fetch(driver, fetcher, {server, "00007_y/checkpoint_000001", 1, manifest});
  CHECK_FALSE(absent.manifest);
  CHECK_FALSE(absent.can_go_on);
  CHECK_THAT(text_of(absent), Contains("cannot fetch checkpoint_000001 of trial 00007: ") &&
                                  Contains("No such file or directory"));
}

TEST_CASE("a transfer cut off after any answer goes on where it was", "[file_transfer]") {
  Machine node;
  Machine driver;
  const auto manifest = write_checkpoint(
      node.path(), {{"a/empty", ""}, {"a/state", long_text(55)}, {"weights.bin", long_text(95)}});
  const FileServerActor files = driver.start_server(node.path());
  const FetcherActor fetcher = driver.start_fetcher({.piece_bytes = 10, .hash_block_bytes = 20});
  bool was_whole = false;
  for (int cut = 0; !was_whole; ++cut) {
    INFO("cut after " << cut << " answers");
    REQUIRE(cut < 100);
    fs::remove_all(driver.path() / trial);
    const auto failing = driver.start(driver.system().spawn(serve_so_many, files, cut));
    const DirectoryFetched first = fetch(driver, fetcher, {failing, directory, 1, manifest});
    was_whole = first.manifest != nullptr;
    if (was_whole) break;
    CHECK(first.can_go_on);
    CHECK_THAT(text_of(first), Contains("connection to the other side was lost"));

    const DirectoryFetched second = fetch(driver, fetcher, {files, directory, 1, manifest});
    REQUIRE(second.manifest);
    CHECK(first.moved_bytes + second.moved_bytes == 150);
    CHECK(content_of(driver.path() / directory / "weights.bin") == long_text(95));
  }
}

TEST_CASE("a broken connection is told, and the next one goes on", "[file_transfer]") {
  Machine driver;
  const TemporaryFolder disk;  // of a node that comes back
  const auto manifest = write_checkpoint(disk.path(), {{"weights.bin", long_text(300'000)}});
  const FetcherActor fetcher = driver.start_fetcher({.piece_bytes = 1000});
  std::uint64_t moved_bytes = 0;
  {
    Machine node;
    const auto failing =
        node.start(node.system().spawn(serve_so_many, node.start_server(disk.path()), 150));
    const auto server = driver.connect(node.publish(failing));
    const DirectoryFetched cut = fetch(driver, fetcher, {server, directory, 1, manifest});
    CHECK_FALSE(cut.manifest);
    CHECK(cut.can_go_on);
    moved_bytes = cut.moved_bytes;
    CHECK(moved_bytes > 0);
  }
  Machine node;
  const auto server = driver.connect(node.publish(node.start_server(disk.path())));
  const DirectoryFetched whole = fetch(driver, fetcher, {server, directory, 1, manifest});
  REQUIRE(whole.manifest);
  CHECK(moved_bytes + whole.moved_bytes == 300'000);
}

TEST_CASE("a few questions are on their way at once, whatever there is to fetch",
          "[file_transfer]") {
  Machine driver;
  const TemporaryFolder source;
  const store::CheckpointStore store(source.path());
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back("checkpoint_00000" + std::to_string(i));
    auto pending = store.begin(trial, names.back()).value();
    std::ofstream(pending.path() / "weights.bin") << long_text(400);
    REQUIRE(pending.commit());
  }
  std::promise<void> may_answer;
  Counted counted{.start = may_answer.get_future()};
  const auto slow = driver.start(driver.system().spawn<caf::detached>(
      serve_slowly, driver.start_server(source.path()), &counted));
  {
    const auto slow = driver.start(
        driver.system().spawn(serve_slowly, driver.start_server(source.path()), &counted));
    const FetcherActor fetcher =
        driver.start_fetcher({.piece_bytes = 10, .questions_at_once = 3, .transfers_at_once = 2});
    const caf::scoped_actor self(driver.system());
    for (const std::string& name : names) {
      self->send(fetcher, FetchDirectory{slow, std::string(trial) + "/" + name, 1, nullptr});
    }
    may_answer.set_value();
    int whole = 0;
    while (whole < 5) {
      self->receive([&](const DirectoryFetched& fetched) { whole += fetched.manifest ? 1 : 0; },
                    caf::after(patience) >> [] { FAIL("a transfer does not end"); });
    }
  }
  CHECK(counted.most_waiting == 3);
  // The first two take turns, from their first pieces on.
  REQUIRE(counted.directories.size() == 200);
  const auto first_end = counted.directories.begin() + 40;
  CHECK(std::count(counted.directories.begin(), first_end, counted.directories[0]) < 40);
  CHECK(std::count(counted.directories.begin(), first_end,
                   std::string(trial) + "/checkpoint_000004") == 0);
}

TEST_CASE("who does not answer is given up in time", "[file_transfer]") {
  Machine driver;
  const auto silent = driver.start(driver.system().spawn(never_answer));
  const FetcherActor fetcher = driver.start_fetcher({.answer_timeout = std::chrono::seconds(1)});
  const DirectoryFetched fetched = fetch(driver, fetcher, {silent, directory, 1, nullptr});
  CHECK(fetched.can_go_on);
  CHECK(text_of(fetched) ==
        "cannot fetch checkpoint_000006 of trial 00003: the other side does not answer");
}

TEST_CASE("a transfer that is given up leaves nothing behind", "[file_transfer]") {
  Machine driver;
  const auto silent = driver.start(driver.system().spawn(never_answer));
  const FetcherActor fetcher = driver.start_fetcher();
  const caf::scoped_actor self(driver.system());
  self->send(fetcher, FetchDirectory{silent, directory, 1, nullptr});
  const bool is_cancelled = GENERATE(true, false);
  if (is_cancelled) {
    self->send(fetcher, CancelFetch{directory});
  } else {
    self->send(fetcher, FetchDirectory{silent, directory, 2, nullptr});
  }
  self->receive(
      [&](const DirectoryFetched& fetched) {
        CHECK(fetched.incarnation == 1);
        CHECK_FALSE(fetched.can_go_on);
        CHECK_THAT(text_of(fetched),
                   Contains(is_cancelled ? "it was given up" : "it is fetched anew"));
      },
      caf::after(patience) >> [] { FAIL("no answer"); });
  CHECK_FALSE(fs::exists(driver.path() / trial));
}

TEST_CASE("a machine that lies gets nothing onto the disk", "[file_transfer]") {
  Machine node;
  Machine driver;
  DirectoryPage page;
  std::string reason;
  using store::EntryKind;
  SECTION("a path that leaves the directory") {
    page = {{{.path = "../../../evil", .size_bytes = 4}}, 1};
    reason = "\"../../../evil\" is no path within the directory";
  }
  SECTION("an absolute path") {
    page = {{{.path = "/tmp/evil", .size_bytes = 4}}, 1};
    reason = "\"/tmp/evil\" is no path within the directory";
  }
  SECTION("a link out, and a file through it") {
    page = {{{.path = "a", .kind = EntryKind::link, .target = "/tmp"},
             {.path = "a/evil", .size_bytes = 4}},
            2};
    reason = "link to \"/tmp\"";
  }
  SECTION("a file of endless length, in pieces that are not as asked for") {
    page = {{{.path = "a", .size_bytes = std::uint64_t{1} << 60U}}, 1};
    reason = "a: the other side sent 4 bytes at byte 0, want 262144";
  }
  SECTION("two files whose sizes overflow") {
    page = {{{.path = "a", .size_bytes = UINT64_MAX}, {.path = "b", .size_bytes = 2}}, 2};
    reason = "\"a\" has 18446744073709551615 bytes";
  }
  SECTION("no end of entries") {
    page = {{{.path = "a", .size_bytes = 4}}, UINT64_MAX};
    reason = "at most 1000000 are allowed";
  }
  SECTION("other content than its hash") {
    page = {{{.path = "a", .size_bytes = 4}}, 1};
    reason = "have hash";
  }
  const auto liar = node.start(node.system().spawn(lie, page, "evil"));
  const FetcherActor fetcher = driver.start_fetcher();
  const auto server = driver.connect(node.publish(liar));
  const DirectoryFetched fetched = fetch(driver, fetcher, {server, directory, 1, nullptr});
  CHECK_FALSE(fetched.manifest);
  CHECK_FALSE(fetched.can_go_on);
  CHECK_THAT(text_of(fetched), Contains("checkpoint_000006 of trial 00003") && Contains(reason));
  CHECK_FALSE(fs::exists(driver.path() / directory));
  if (fs::exists(driver.path() / trial)) CHECK(fs::is_empty(driver.path() / trial));
}

TEST_CASE("a name that leaves the experiment is not fetched", "[file_transfer]") {
  Machine driver;
  const FetcherActor fetcher = driver.start_fetcher();
  const std::string name = GENERATE(as<std::string>{}, "../x", "x", "", "/etc/x", "a/../../x");
  const auto server = driver.start_server(driver.path());
  const DirectoryFetched fetched = fetch(driver, fetcher, {server, name, 1, nullptr});
  CHECK_FALSE(fetched.manifest);
  CHECK_THAT(text_of(fetched), Contains("want a directory below that of a trial"));
}

/// The most memory that this process had since the last reset; empty where the system does not
/// tell.
std::optional<std::uint64_t> peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return std::nullopt;
}

TEST_CASE("memory does not grow with the size of a file", "[file_transfer]") {
  constexpr std::uint64_t size_bytes = std::uint64_t{1} << 30U;
  constexpr std::uint64_t most_memory = std::uint64_t{128} << 20U;
  Machine node;
  Machine driver;
  fs::create_directories(node.path() / directory);
  std::ofstream(node.path() / directory / "weights.bin") << "sparse";
  fs::resize_file(node.path() / directory / "weights.bin", size_bytes);
  const auto port = node.publish(node.start_server(node.path()));
  const FetcherActor fetcher = driver.start_fetcher();
  const auto server = driver.connect(port);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const auto before = peak_memory();

  const DirectoryFetched fetched = fetch(driver, fetcher, {server, directory, 1, nullptr});
  REQUIRE(text_of(fetched).empty());
  CHECK(fetched.moved_bytes == size_bytes);
  CHECK(fs::file_size(driver.path() / directory / "weights.bin") == size_bytes);
  if (before) CHECK(*peak_memory() < *before + most_memory);
}

}  // namespace
}  // namespace tune::runtime
