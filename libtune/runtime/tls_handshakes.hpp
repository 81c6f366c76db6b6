#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <tune/error.hpp>

#include "runtime/descriptor.hpp"
#include "tls_objects.hpp"

namespace tune::runtime {

/// An encrypted connection whose other side has shown a certificate of our CA. Its socket does not
/// block.
struct TlsConnection {
  Descriptor socket;
  TlsSession session;
};

/// Has handshakes done by those who connect, all of them on one thread of its own: who is slow or
/// says nothing holds up nobody, and is dropped in time.
class TlsHandshakes {
 public:
  struct Options {
    std::chrono::milliseconds time{10'000};  ///< That a handshake may take.
    std::size_t at_once = 64;                ///< Beyond that the oldest is dropped.
    // Called on the thread.
    std::function<void(TlsConnection)> on_connected;
    std::function<void(std::string)> on_refused;  ///< "10.0.0.3: certificate has expired"
  };

  /// `context` outlives it. @throws std::system_error if there is no thread for it.
  TlsHandshakes(SSL_CTX* context, Options options);
  /// Drops those that are not through.
  ~TlsHandshakes();
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;

  /// Somebody has connected. Safe from any thread.
  void begin(Descriptor socket);

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    TlsConnection connection;
    std::string address;  // of the other side; it is not known any more once he is gone
    Clock::time_point deadline;
    short events = 0;  // that it waits for
  };

  void serve();
  void take_new();
  [[nodiscard]] bool wait();
  void go_on(std::list<Pending>::iterator pending);
  void drop(std::list<Pending>::iterator pending, const std::string& reason);

  SSL_CTX* context_;
  Options options_;
  Descriptor wake_;  // counts what is new, and the end
  std::mutex mutex_;
  std::vector<Descriptor> new_;  // guarded, as is
  bool is_ending_ = false;
  std::list<Pending> pending_;  // the thread's alone; the oldest first
  std::thread thread_;
};

/// Does the handshake with who accepted a connection, and waits until he has said something: only
/// then is it known that he has accepted our certificate. The error says why he has not; its code
/// is `refused` if another try would fail as well.
[[nodiscard]] Expected<TlsConnection> connect_tls(SSL_CTX* context, Descriptor socket,
                                                  std::chrono::milliseconds time);

/// Keeps a signal from a socket that is closed off this thread.
void block_pipe_signal();

}  // namespace tune::runtime
