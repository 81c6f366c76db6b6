#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tune::runtime {

/// Owns a file descriptor; -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(value_, -1); }
  void reset(int value = -1);

 private:
  int value_ = -1;
};

// None of the descriptors made here passes to a program that is started.

struct DescriptorPair {
  Descriptor first;
  Descriptor second;
};
/// Both ends of a stream socket. @throws std::system_error
[[nodiscard]] DescriptorPair make_socket_pair();
/// The end to read from, then the end to write to. @throws std::system_error
[[nodiscard]] DescriptorPair make_pipe();
/// Counts wake-ups, for poll(). @throws std::system_error
[[nodiscard]] Descriptor make_event();
/// Wakes who polls for `event`, or takes all wake-ups off.
void signal_event(const Descriptor& event);
void clear_event(const Descriptor& event);
void set_blocking(int descriptor, bool is_blocking);

/// Writes all of `bytes` to a socket, waiting as long as it takes; with the first of them go
/// `descriptors`. False if the other side is gone.
[[nodiscard]] bool send_all(int socket, std::string_view bytes,
                            std::span<const int> descriptors = {});

/// What one receive() brought.
struct Received {
  std::string_view bytes;  ///< In the buffer that was given. Empty: the other side is gone.
  std::vector<Descriptor> descriptors;
};
/// Waits for bytes from a socket; it is as if the other side were gone if the socket is broken.
[[nodiscard]] Received receive(int socket, std::span<char> buffer);

}  // namespace tune::runtime
