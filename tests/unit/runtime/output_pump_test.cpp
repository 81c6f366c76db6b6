#include "runtime/output_pump.hpp"

#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"

namespace tune::runtime {
namespace {

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A worker's ends of its pipes, and what the pump tells of it.
class PumpedWorker {
 public:
  explicit PumpedWorker(OutputPump& pump) : pump_(pump) {
    DescriptorPair out = make_pipe();
    DescriptorPair err = make_pipe();
    out_ = std::move(out.second);
    err_ = std::move(err.second);
    pump_.add(1, std::move(out.first), std::move(err.first));
  }

  void print(std::string_view text) { write_all(out_.get(), text); }
  void complain(std::string_view text) { write_all(err_.get(), text); }
  void begin(const std::filesystem::path& directory) {
    pump_.begin(1, directory, "00007", [this] { tell("ready"); });
    CHECK(wait() == "ready");
  }
  /// The end of its stderr.
  std::string finish() {
    pump_.finish(1, [this](std::string end) { tell(std::move(end)); });
    return wait();
  }

 private:
  static void write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(descriptor, text.data(), text.size());
      REQUIRE(count > 0);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void tell(std::string text) {
    const std::lock_guard lock(mutex_);
    told_ = std::move(text);
    changed_.notify_one();
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_.has_value(); });
    return *std::exchange(told_, std::nullopt);
  }

  OutputPump& pump_;
  Descriptor out_;
  Descriptor err_;
  std::mutex mutex_;  // guards told_
  std::condition_variable changed_;
  std::optional<std::string> told_;
};

TEST_CASE("output goes to the trial that ran when it came", "[output_pump]") {
  const test::TemporaryFolder folder;
  OutputPump pump;
  PumpedWorker worker(pump);
  worker.print("before any trial\n");
  worker.begin(folder.path() / "a");
  worker.print("out of a\nwithout an end");
  worker.complain("err of a\n");
  CHECK(worker.finish() == "err of a");
  worker.print("between the trials\n");
  worker.begin(folder.path() / "b");
  worker.print("out of b\n");
  CHECK(worker.finish().empty());
  CHECK(file_text(folder.path() / "a" / "stdout") == "out of a\nwithout an end");
  CHECK(file_text(folder.path() / "a" / "stderr") == "err of a\n");
  CHECK(file_text(folder.path() / "b" / "stdout") == "out of b\n");
}

TEST_CASE("what another start of a trial printed stays", "[output_pump]") {
  const test::TemporaryFolder folder;
  OutputPump pump;
  PumpedWorker worker(pump);
  for (const char* text : {"first\n", "second\n"}) {
    worker.begin(folder.path());
    worker.print(text);
    worker.finish();
  }
  CHECK(file_text(folder.path() / "stdout") == "first\nsecond\n");
}

TEST_CASE("LO-07: of too much output head and tail are kept", "[LO-07]") {
  const test::TemporaryFolder folder;
  OutputPump pump({.max_head_bytes = 100, .max_tail_bytes = 50});
  PumpedWorker worker(pump);
  worker.begin(folder.path());
  std::string all;
  for (int i = 1000; i < 2000; ++i) all += std::to_string(i) + "\n";
  SECTION("at once") { worker.print(all); }
  SECTION("byte by byte") {
    for (const char c : all) worker.print({&c, 1});
  }
  worker.finish();
  const std::string left_out = std::to_string(all.size() - 150);
  CHECK(file_text(folder.path() / "stdout") == all.substr(0, 100) + "\n[tune: " + left_out +
                                                   " bytes are left out here]\n" +
                                                   all.substr(all.size() - 50));
}

TEST_CASE("the last lines of stderr are told", "[output_pump]") {
  const test::TemporaryFolder folder;
  OutputPump pump;
  PumpedWorker worker(pump);
  worker.begin(folder.path());
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    worker.complain("line " + std::to_string(i) + "\n");
    if (i >= 80) expected += (expected.empty() ? "line " : "\nline ") + std::to_string(i);
  }
  CHECK(worker.finish() == expected);
}

TEST_CASE("lines are shown with their trial, whole", "[output_pump]") {
  const test::TemporaryFolder folder;
  std::string shown;
  OutputPump::Options options;
  options.show = [&](std::string_view line) { shown += line; };
  OutputPump pump(options);
  PumpedWorker worker(pump);
  worker.begin(folder.path());
  worker.print("one\ntw");
  worker.finish();
  worker.begin(folder.path());
  worker.complain("three\n");
  worker.finish();
  CHECK(shown == "(00007) one\n(00007) tw\n(00007 stderr) three\n");
}

TEST_CASE("a file that cannot be written costs the output alone", "[output_pump]") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  OutputPump pump;
  PumpedWorker worker(pump);
  worker.begin(folder.path() / "file" / "trial");
  worker.complain("lost, and yet told\n");
  CHECK(worker.finish() == "lost, and yet told");
}

}  // namespace
}  // namespace tune::runtime
