#include "report/display_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "support/pseudo_terminal.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace tune::report {
namespace {

using namespace std::chrono_literals;

/// A terminal of our own, with both its ends.
struct Terminal {
  Terminal() : reader(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    REQUIRE(reader >= 0);
    REQUIRE(::grantpt(reader) == 0);
    REQUIRE(::unlockpt(reader) == 0);
    writer = ::open(::ptsname(reader), O_RDWR | O_NOCTTY);
    REQUIRE(writer >= 0);
  }
  ~Terminal() {
    ::close(reader);
    ::close(writer);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  /// What has come, waiting for the first of it.
  [[nodiscard]] std::string read() const {
    std::string text;
    std::array<char, 4096> buffer{};
    pollfd waited{reader, POLLIN, 0};
    ::poll(&waited, 1, 10'000);
    for (ssize_t size = 0; (size = ::read(reader, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

  int reader;
  int writer = -1;
};

TEST_CASE("a terminal is written to and asked for its size", "[display_output]") {
  if (!test::has_pseudo_terminals()) return test::skip_test("there are no pseudo-terminals here");
  const Terminal terminal;
  DescriptorOutput output(terminal.writer);
  CHECK(output.is_terminal());
  CHECK(output.size().columns == 80);
  winsize window{};
  window.ws_col = 33;
  window.ws_row = 7;
  ::ioctl(terminal.writer, TIOCSWINSZ, &window);
  CHECK(output.size().columns == 33);
  CHECK(output.size().rows == 7);
  CHECK(output.is_ready());
  output.write("hello");
  CHECK(terminal.read() == "hello");
}

TEST_CASE("a terminal that is stopped blocks nobody", "[display_output]") {
  if (!test::has_pseudo_terminals()) return test::skip_test("there are no pseudo-terminals here");
  const Terminal terminal;
  DescriptorOutput output(terminal.writer);
  ::tcflow(terminal.writer, TCOOFF);
  for (int i = 0; i < 100; ++i) output.write(std::string(10'000, 'x'));
  CHECK_FALSE(output.is_ready());
  output.finish(1ms);
  ::tcflow(terminal.writer, TCOON);
  std::string text;
  while (!output.is_ready()) text += terminal.read();
  CHECK(text.find_first_not_of('x') == std::string::npos);
  CHECK(text.size() >= 10'000);
}

TEST_CASE("a terminal that is closed is left alone", "[display_output]") {
  if (!test::has_pseudo_terminals()) return test::skip_test("there are no pseudo-terminals here");
  Terminal terminal;
  DescriptorOutput output(terminal.writer);
  ::close(terminal.reader);
  output.write("hello");
  output.write("hello");
  CHECK_FALSE(output.is_ready());
  output.finish(1h);
  CHECK(output.size().columns == 80);
  terminal.reader = ::dup(terminal.writer);
}

TEST_CASE("pipes and sockets whose other end is full or gone", "[display_output]") {
  std::array<int, 2> ends{};
  const bool is_pipe = GENERATE(true, false);
  if (is_pipe) {
    REQUIRE(::pipe(ends.data()) == 0);
  } else {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  }
  DescriptorOutput output(ends[1]);
  CHECK_FALSE(output.is_terminal());
  for (int i = 0; i < 1000; ++i) output.write(std::string(10'000, 'x'));
  CHECK_FALSE(output.is_ready());
  CHECK((::fcntl(ends[1], F_GETFL) & O_NONBLOCK) == 0);  // others' writes are as before
  ::close(ends[0]);
  output.write("no SIGPIPE");
  CHECK_FALSE(output.is_ready());
  ::close(ends[1]);
}

TEST_CASE("files keep what others write to them", "[display_output]") {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "log").string();
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(file >= 0);
  REQUIRE(::write(file, "one ", 4) == 4);
  DescriptorOutput output(file);
  CHECK(output.is_ready());
  output.write("two ");
  REQUIRE(::write(file, "three", 5) == 5);
  std::array<char, 32> buffer{};
  const ssize_t size = ::pread(file, buffer.data(), buffer.size(), 0);
  CHECK(std::string(buffer.data(), static_cast<std::size_t>(size)) == "one two three");
  ::close(file);
}

TEST_CASE("a descriptor that is closed is no fault", "[display_output]") {
  DescriptorOutput output(-1);
  CHECK_FALSE(output.is_terminal());
  CHECK_FALSE(output.is_ready());
  output.write("hello");
  output.finish(1h);
  DescriptorOutput full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  full.write("hello");
  CHECK_FALSE(full.is_ready());
}

TEST_CASE("the environment says how a display looks", "[display_output]") {
  using Variables = std::map<std::string, std::string>;
  const auto choose = [](bool is_terminal, const Variables& variables) {
    return choose_display_style(is_terminal, [&](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found != variables.end() ? found->second.c_str() : nullptr;
    });
  };
  const Variables usual = {{"TERM", "xterm"}, {"LANG", "en_US.UTF-8"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    Variables variables = usual;
    variables[name] = value;
    return variables;
  };
  CHECK(choose(true, usual).redraws);
  CHECK(choose(true, usual).colors == Colors::on);
  CHECK(choose(true, usual).charset == Charset::unicode);
  CHECK_FALSE(choose(false, usual).redraws);
  CHECK(choose(false, usual).colors == Colors::off);
  CHECK(choose(true, with("NO_COLOR", "1")).redraws);
  CHECK(choose(true, with("NO_COLOR", "1")).colors == Colors::off);
  CHECK(choose(true, with("NO_COLOR", "")).colors == Colors::on);
  CHECK_FALSE(choose(true, with("TERM", "dumb")).redraws);
  CHECK_FALSE(choose(true, {}).redraws);
  CHECK_FALSE(choose(true, with("CI", "true")).redraws);
  CHECK(choose(true, with("CI", "false")).redraws);
  CHECK(choose(true, with("LC_ALL", "C")).charset == Charset::ascii);
  CHECK(choose(true, with("LANG", "C.utf8")).charset == Charset::unicode);
  CHECK(choose(true, {{"TERM", "xterm"}}).charset == Charset::ascii);
}

}  // namespace
}  // namespace tune::report
