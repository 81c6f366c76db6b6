#include "runtime/socket_broker.hpp"

#include <fcntl.h>

#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actor_faults.hpp"

namespace tune::runtime {
namespace {

constexpr std::size_t chunk_bytes = 64U << 10U;
constexpr std::size_t max_chunks = 16;  // on their way to the owner

}  // namespace

void SocketReader::open(caf::io::broker* self, int descriptor) {
  auto& backend = self->system().middleman().backend();
  // CAF closes what it cannot write to, and forgets what there is still to read: so one for each.
  auto scribe_to = backend.new_scribe(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  auto scribe = backend.new_scribe(descriptor);
  writer = scribe_to->hdl();
  handle = scribe->hdl();
  self->add_scribe(std::move(scribe_to));
  self->add_scribe(std::move(scribe));
  self->configure_read(handle, caf::io::receive_policy::at_most(chunk_bytes));
  self->trigger(handle, max_chunks);
}

// CAF takes a socket that ran out of credit from its loop at the end of a round, and credit that
// came within that round is lost: the socket is never read again. What is posted runs in a later
// one.
void SocketReader::give_credit(caf::io::broker* self) const {
  self->system().middleman().backend().post([self,
                                             alive = caf::actor_cast<caf::strong_actor_ptr>(self),
                                             socket = handle] { self->trigger(socket, 1); });
}

caf::behavior serve_socket(SocketBroker* self, int descriptor, HostActor owner,
                           std::uint64_t process) {
  watch_for_faults(self);
  self->state.open(self, descriptor);
  return {
      [=](const caf::io::new_data_msg& data) {
        self->send(owner, SocketBytes{process, std::string(data.buf.begin(), data.buf.end())});
      },
      [=](const caf::io::connection_closed_msg& closed) {
        if (closed.handle != self->state.handle) return;
        self->send(owner, SocketClosed{process});
        self->quit();
      },
      [](const caf::io::connection_passivated_msg&) {},
      [=](const SocketCredit&) { self->state.give_credit(self); },
      [=](const SocketSend& message) {
        self->write(self->state.writer, message.bytes.size(), message.bytes.data());
        self->flush(self->state.writer);
      },
      [=](const SocketEnd&) { self->quit(); },
  };
}

}  // namespace tune::runtime
