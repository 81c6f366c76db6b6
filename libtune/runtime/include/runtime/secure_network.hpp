#pragma once

#include <functional>
#include <memory>
#include <string>

#include <caf/actor_system.hpp>
#include <caf/io/scribe.hpp>

#include <tune/error.hpp>

#include "runtime/descriptor.hpp"
#include "runtime/tls_files.hpp"

namespace tune::runtime {

/// Makes connections to other machines safe before CAF gets them: TLS 1.3, on which both sides show
/// a certificate of the same CA. Who does not is dropped, and CAF has not read a byte from him.
///
/// libcaf-openssl is not used: it tells nobody why a peer was refused, lets a silent one keep its
/// thread busy, and leaves errors of one connection where they end another.
class SecureNetwork {
 public:
  /// Both are called on a thread of its own. `on_connected` gets what CAF's broker takes for a
  /// connection; without it nobody can be accepted. `on_refused` hears each text once:
  /// "10.0.0.3: its certificate is refused: certificate has expired".
  struct Callbacks {
    std::function<void(caf::io::scribe_ptr)> on_connected = {};
    std::function<void(std::string)> on_refused = {};
  };
  /// The module io::middleman must be loaded in `system`, which outlives the object. The error is
  /// one of check_tls_files(). @throws std::system_error if there is no thread for it.
  [[nodiscard]] static Expected<std::unique_ptr<SecureNetwork>> make(caf::actor_system& system,
                                                                     const TlsFiles& files,
                                                                     Callbacks callbacks);
  /// Drops those who are not through; connections that were made stay.
  virtual ~SecureNetwork() = default;

  /// Somebody has connected. He has ten seconds to show who he is; of too many at once the oldest
  /// makes way. Safe from any thread.
  virtual void accept(Descriptor socket) = 0;
  /// For a socket that was connected to another machine: what CAF's broker takes for a connection,
  /// or why there is none: the reason with which the other side was refused, or refuses us. Waits,
  /// ten seconds at most. The error's code is `refused` if another try would fail as well.
  [[nodiscard]] virtual Expected<caf::io::scribe_ptr> connect(Descriptor socket) = 0;
};

}  // namespace tune::runtime
