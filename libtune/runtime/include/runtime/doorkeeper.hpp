#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tune/error.hpp>

#include "runtime/descriptor.hpp"
#include "runtime/host_port.hpp"

namespace tune::runtime {

/// What a node says first, before anything that could cost the driver memory or time: one of the
/// two, as it means to go on in the clear or with TLS. The door answers with its own.
inline constexpr std::string_view door_word = "tune-node/1\n";
inline constexpr std::string_view secure_door_word = "tune-safe/1\n";
static_assert(secure_door_word.size() == door_word.size());

/// Listens at a port, and lets those in who know the door word.
///
/// Who says something else, nothing in time, or goes again, is dropped: a port scan or another
/// program. So is a node that says the other word, and it hears why. So many may stand at the door
/// at once; one more takes the place of the oldest.
class Doorkeeper {
 public:
  struct Options {
    std::chrono::milliseconds patience{5000};  ///< For the door word.
    std::size_t most_waiting = 32;
    bool is_secure = false;  ///< TLS is spoken behind the door.
    /// Called on the doorkeeper's own thread, once with each text, such as "10.0.0.3: it does not
    /// use TLS".
    std::function<void(std::string)> on_refused = {};
  };
  /// Both are called on the doorkeeper's own thread. `on_stranger` is told of the first alone.
  using OnGuest = std::function<void(Descriptor socket)>;
  using OnStranger = std::function<void(const std::string& what)>;

  /// Whether one could open() there. Who comes meanwhile is told nothing: he tries again.
  [[nodiscard]] static Expected<void> check(const HostPort& address);
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
  void answer(Visitor& visitor);
  void send_away(Visitor& visitor, const std::string& what);

  Descriptor listener_;
  std::uint16_t port_;
  OnGuest on_guest_;
  OnStranger on_stranger_;
  Options options_;
  std::vector<Visitor> visitors_;  // the oldest first
  bool was_stranger_told_ = false;
  std::set<std::string> refusals_;  // that were told; not without end
  Descriptor end_;
  std::thread thread_;
};

}  // namespace tune::runtime
