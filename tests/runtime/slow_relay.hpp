#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/descriptor.hpp"

namespace tune::test {

/// A slow way to a port of this machine, as a long and lossy line looks to TCP: all that is said
/// arrives later, by another time each, and now and then all behind it waits for what was lost.
class SlowRelay {
 public:
  explicit SlowRelay(std::uint16_t port)
      : port_(port), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_.get(), plain, size) == 0);
    REQUIRE(::listen(listener_.get(), 8) == 0);
    REQUIRE(::getsockname(listener_.get(), plain, &size) == 0);
    own_port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~SlowRelay() {
    runtime::signal_event(end_);
    thread_.join();
  }
  SlowRelay(const SlowRelay&) = delete;
  SlowRelay& operator=(const SlowRelay&) = delete;

  [[nodiscard]] std::uint16_t port() const { return own_port_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Bytes {
    Clock::time_point arrival;
    std::string bytes;  // none: the end
  };
  /// One direction of a connection.
  struct Line {
    runtime::Descriptor from;
    runtime::Descriptor to;
    std::deque<Bytes> on_their_way;
    bool is_over = false;
  };

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void serve() {
    while (true) {
      std::vector<pollfd> entries{{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Line& line : lines_) {
        entries.push_back({line.is_over ? -1 : line.from.get(), POLLIN, 0});
      }
      ::poll(entries.data(), entries.size(), next_wait());
      if (entries[0].revents != 0) return;
      std::size_t i = 2;
      for (Line& line : lines_) {
        if (entries[i++].revents != 0) listen_to(line);
        pass_on(line);
      }
      lines_.remove_if([](const Line& line) { return line.is_over && line.on_their_way.empty(); });
      if (entries[1].revents != 0) connect();
    }
  }

  [[nodiscard]] int next_wait() const {
    int wait = -1;
    for (const Line& line : lines_) {
      if (line.on_their_way.empty()) continue;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          line.on_their_way.front().arrival - Clock::now());
      const int own = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
      wait = wait < 0 ? own : std::min(wait, own);
    }
    return wait;
  }

  void connect() {
    runtime::Descriptor near(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    runtime::Descriptor far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port_);
    if (::connect(far.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return;
    }
    runtime::Descriptor near_end(::dup(near.get()));
    runtime::Descriptor far_end(::dup(far.get()));
    lines_.push_back({std::move(near), std::move(far_end), {}, false});
    lines_.push_back({std::move(far), std::move(near_end), {}, false});
  }

  void listen_to(Line& line) {
    char bytes[2048];
    const ssize_t count = ::recv(line.from.get(), bytes, sizeof bytes, 0);
    line.is_over = count <= 0;
    std::uniform_int_distribution<int> milliseconds(60, 140);
    std::chrono::milliseconds delay(milliseconds(random_));
    if (random_() % 20 == 0) delay = std::chrono::milliseconds(1000);
    Clock::time_point arrival = Clock::now() + delay;
    if (!line.on_their_way.empty()) {
      arrival = std::max(arrival, line.on_their_way.back().arrival);
    }
    line.on_their_way.push_back(
        {arrival, std::string(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)))});
  }

  static void pass_on(Line& line) {
    while (!line.on_their_way.empty() && line.on_their_way.front().arrival <= Clock::now()) {
      const std::string bytes = std::move(line.on_their_way.front().bytes);
      line.on_their_way.pop_front();
      if (bytes.empty()) {
        ::shutdown(line.to.get(), SHUT_WR);
      } else {
        (void)::send(line.to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
    }
  }

  const std::uint16_t port_;
  std::uint16_t own_port_ = 0;
  runtime::Descriptor listener_;
  runtime::Descriptor end_ = runtime::make_event();
  std::mt19937 random_{1};
  std::list<Line> lines_;  // the thread's
  std::thread thread_;
};

}  // namespace tune::test
