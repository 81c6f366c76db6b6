#include "runtime/doorkeeper.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace tune::runtime {
namespace {

using namespace std::chrono_literals;

/// A door, and who came through.
struct Door {
  explicit Door(Doorkeeper::Options options = {}) {
    auto opened = Doorkeeper::open(
        {"127.0.0.1", 0}, [this](Descriptor socket) { guest.set_value(std::move(socket)); },
        [this](const std::string& what) {
          ++strangers;
          stranger.set_value(what);
        },
        options);
    REQUIRE(opened);
    keeper = std::move(*opened);
  }

  [[nodiscard]] Descriptor knock() const {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(keeper->port());
    REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return socket;
  }
  static void say(const Descriptor& socket, std::string_view text) {
    REQUIRE(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  /// The door's answer.
  static std::string hear(const Descriptor& socket) {
    std::string word(door_word.size(), ' ');
    const ssize_t count = ::recv(socket.get(), word.data(), word.size(), MSG_WAITALL);
    return word.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  /// Waits until the other side has gone.
  static bool is_shut(const Descriptor& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, 0) <= 0;
  }
  template <class T>
  static T wait_for(std::promise<T>& promise) {
    auto future = promise.get_future();
    REQUIRE(future.wait_for(30s) == std::future_status::ready);
    return future.get();
  }

  std::promise<Descriptor> guest;
  std::promise<std::string> stranger;
  int strangers = 0;                   // read once the keeper has gone
  std::unique_ptr<Doorkeeper> keeper;  // the last: its thread uses the others
};

TEST_CASE("who knows the door word is let in, and all behind it is left to the host",
          "[doorkeeper]") {
  Door door;
  const Descriptor socket = door.knock();
  Door::say(socket, door_word.substr(0, 3));
  Door::say(socket, std::string(door_word.substr(3)) + "rest");
  const Descriptor guest = Door::wait_for(door.guest);
  CHECK(Door::hear(socket) == door_word);
  std::string rest;
  while (rest.size() < 4) {
    char byte = 0;
    if (::recv(guest.get(), &byte, 1, 0) == 1) rest += byte;
  }
  CHECK(rest == "rest");
}

TEST_CASE("a stranger is sent away, and told of once", "[doorkeeper]") {
  Door door;
  for (const char* text : {"GET / HTTP/1.1\r\n\r\n", "tune-node/2\n", "\x01\x02\xFF"}) {
    const Descriptor socket = door.knock();
    Door::say(socket, text);
    CHECK(Door::is_shut(socket));
  }
  CHECK(Door::wait_for(door.stranger) == "is none of tune's nodes");
  const Descriptor good = door.knock();
  Door::say(good, door_word);
  CHECK(Door::wait_for(door.guest));
  door.keeper.reset();
  CHECK(door.strangers == 1);
}

TEST_CASE("who means to go on with TLS where the door does not, or the other way round, is told",
          "[doorkeeper]") {
  const bool is_secure = GENERATE(false, true);
  std::promise<std::string> refused;
  int refusals = 0;
  Door door({.is_secure = is_secure, .on_refused = [&](const std::string& what) {
               if (refusals++ == 0) refused.set_value(what);
             }});
  for (int i = 0; i < 3; ++i) {
    const Descriptor socket = door.knock();
    Door::say(socket, is_secure ? door_word : secure_door_word);
    CHECK(Door::hear(socket) == (is_secure ? secure_door_word : door_word));
    CHECK(Door::is_shut(socket));
  }
  CHECK(Door::wait_for(refused) == (is_secure
                                        ? "127.0.0.1: it does not use TLS, and this driver does"
                                        : "127.0.0.1: it uses TLS, and this driver does not"));
  const Descriptor good = door.knock();
  Door::say(good, is_secure ? secure_door_word : door_word);
  CHECK(Door::wait_for(door.guest));
  door.keeper.reset();
  CHECK(refusals == 1);
  CHECK(door.strangers == 0);
}

TEST_CASE("who only looks whether somebody listens is no stranger", "[doorkeeper]") {
  Door door;
  for (int i = 0; i < 3; ++i) (void)door.knock();
  const Descriptor good = door.knock();
  Door::say(good, door_word);
  CHECK(Door::wait_for(door.guest));
  door.keeper.reset();
  CHECK(door.strangers == 0);
}

TEST_CASE("who stands at the door in silence is sent away after a while", "[doorkeeper]") {
  Door door({.patience = 50ms});
  const Descriptor silent = door.knock();
  CHECK(Door::is_shut(silent));
  CHECK(Door::wait_for(door.stranger) == "said nothing in time");
}

TEST_CASE("a crowd at the door does not keep a node out", "[doorkeeper]") {
  Door door({.patience = 10min, .most_waiting = 4});
  std::vector<Descriptor> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(door.knock());
  const Descriptor good = door.knock();
  Door::say(good, door_word);
  CHECK(Door::wait_for(door.guest));
  CHECK(Door::is_shut(crowd.front()));
}

TEST_CASE("a port that is only checked stays free", "[doorkeeper]") {
  HostPort address{"127.0.0.1", 0};
  {
    const Door door;
    address.port = door.keeper->port();
    CHECK_FALSE(Doorkeeper::check(address));
  }
  CHECK(Doorkeeper::check(address));
  CHECK(Doorkeeper::check(address));
}

TEST_CASE("a port that is taken is an error that names it", "[doorkeeper]") {
  Door door;
  const HostPort address{"127.0.0.1", door.keeper->port()};
  const auto second = Doorkeeper::open(
      address, [](Descriptor) {}, [](const std::string&) {}, {});
  REQUIRE_FALSE(second);
  CHECK(second.error().message ==
        "cannot listen on " + address.text() + ": Address already in use");
  const auto nowhere = Doorkeeper::open(
      {"no.such.host.invalid", 1}, [](Descriptor) {}, [](const std::string&) {}, {});
  REQUIRE_FALSE(nowhere);
  CHECK_THAT(nowhere.error().message, Catch::Contains("cannot listen on no.such.host.invalid:1: "));
}

}  // namespace
}  // namespace tune::runtime
