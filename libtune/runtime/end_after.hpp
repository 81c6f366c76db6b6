#pragma once

#include <caf/actor_addr.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/system_messages.hpp>

namespace tune::runtime {

/// Has an actor that is told to end first end `child`, to which it is linked. So whoever waits for
/// the end of `self` has waited for both, and no message between them holds on to either.
template <class Actor>
void end_after(Actor* self, const caf::actor_addr& child) {
  self->set_exit_handler([self, child](caf::exit_msg& message) {
    if (message.source == child) return self->quit(message.reason);
    caf::anon_send_exit(child, caf::exit_reason::user_shutdown);
  });
}

}  // namespace tune::runtime
