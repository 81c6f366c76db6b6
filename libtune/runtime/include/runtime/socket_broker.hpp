#pragma once

#include <caf/io/broker.hpp>
#include <caf/stateful_actor.hpp>

#include "runtime/process_messages.hpp"

namespace tune::runtime {

/// The state of a broker that reads a socket for another actor.
class SocketReader {
 public:
  /// Takes the descriptor over; with a bounded number of chunks on their way.
  void open(caf::io::broker* self, int descriptor);
  /// Another chunk may come.
  void give_credit(caf::io::broker* self) const;

  caf::io::connection_handle handle;  // to read from
  caf::io::connection_handle writer;
};

using SocketBroker = caf::stateful_actor<SocketReader, caf::io::broker>;

/// The body of the broker of a socket: what comes in goes to `owner`, under the number of the
/// process at the other end, with SocketClosed at the end.
caf::behavior serve_socket(SocketBroker* self, int descriptor, HostActor owner,
                           std::uint64_t process);

}  // namespace tune::runtime
