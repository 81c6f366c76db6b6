#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tune/error.hpp>

#include "runtime/descriptor.hpp"
#include "runtime/host_port.hpp"

namespace tune::runtime {

/// What a node says first, before anything that could cost the driver memory or time.
inline constexpr std::string_view door_word = "tune-node/1\n";

/// Listens at a port, and lets those in who know the door word.
///
/// Who says something else, nothing in time, or goes again, is dropped: a port scan or another
/// program. So many may stand at the door at once; one more takes the place of the oldest.
class Doorkeeper {
 public:
  struct Options {
    std::chrono::milliseconds patience{5000};  ///< For the door word.
    std::size_t most_waiting = 32;
  };
  /// Both are called on the doorkeeper's own thread. `on_stranger` is told of the first alone.
  using OnGuest = std::function<void(Descriptor socket)>;
  using OnStranger = std::function<void(const std::string& what)>;

  /// An error names the address and the reason.
  [[nodiscard]] static Expected<std::unique_ptr<Doorkeeper>> open(const HostPort& address,
                                                                  OnGuest on_guest,
                                                                  OnStranger on_stranger,
                                                                  Options options);
  /// Nothing is called any more.
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Visitor {
    Descriptor socket;
    std::string said;
    Clock::time_point until;
    bool is_done = false;
  };

  Doorkeeper(Descriptor listener, std::uint16_t port, OnGuest on_guest, OnStranger on_stranger,
             Options options);
  void watch();
  [[nodiscard]] int next_wait() const;
  void accept_one();
  void listen_to(Visitor& visitor);
  void send_away(Visitor& visitor, const std::string& what);

  Descriptor listener_;
  std::uint16_t port_;
  OnGuest on_guest_;
  OnStranger on_stranger_;
  Options options_;
  std::vector<Visitor> visitors_;  // the oldest first
  bool was_stranger_told_ = false;
  Descriptor end_;
  std::thread thread_;
};

}  // namespace tune::runtime
