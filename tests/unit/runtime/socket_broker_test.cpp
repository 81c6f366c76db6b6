#include "runtime/socket_broker.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "runtime/descriptor.hpp"

namespace tune::runtime {
namespace {

constexpr std::size_t most_on_their_way = 16;  // chunks without credit
constexpr std::chrono::seconds patience{20};

void write_byte(const Descriptor& descriptor) { REQUIRE(::write(descriptor.get(), "x", 1) == 1); }

/// Keeps CAF's loop busy from when it reads the socket until `release` is made good.
caf::behavior hold_up_loop(caf::io::broker* self, int socket, std::promise<void>* is_held,
                           std::shared_future<void> release) {
  auto scribe = self->system().middleman().backend().new_scribe(socket);
  const caf::io::connection_handle handle = scribe->hdl();
  self->add_scribe(std::move(scribe));
  self->configure_read(handle, caf::io::receive_policy::at_most(1));
  return {
      [=](const caf::io::new_data_msg&) {
        is_held->set_value();
        release.wait();
        self->quit();
      },
      [](const caf::io::connection_closed_msg&) {},
  };
}

/// Passes what it is told of the socket to `test`.
HostActor::behavior_type pass_bytes_on(HostActor::pointer, const caf::actor& test) {
  return {
      [](const StartInWorker&) {},
      [](const MayStart&) {},
      [](const TrialOrders&) {},
      [](const TeamMail&) {},
      [](const AbortWorker&) {},
      [test](const SocketBytes& message) { caf::anon_send(test, message); },
      [](const SocketClosed&) {},
      [](const WorkerSpawned&) {},
      [](const SpawnFailed&) {},
      [](const WorkerExited&) {},
      [](const GuardianLost&) {},
      [](const OutputReady&) {},
      [](const OutputEnd&) {},
      [](const HostTimer&) {},
      [](const EndNode&) {},
  };
}

TEST_CASE("credit that comes as the socket is left alone is not lost", "[socket_broker]") {
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  caf::actor_system system(config);
  const caf::scoped_actor test(system);
  const auto owner = system.spawn(pass_bytes_on, caf::actor_cast<caf::actor>(test));
  DescriptorPair socket = make_socket_pair();
  const caf::actor broker = system.middleman().spawn_broker(serve_socket, socket.first.release(),
                                                            owner, std::uint64_t{1});
  const auto has_read = [&] {
    bool has = false;
    test->receive([&](const SocketBytes& message) { has = message.bytes == "x"; },
                  caf::after(patience) >> [] {});
    return has;
  };
  for (std::size_t i = 1; i < most_on_their_way; ++i) {
    write_byte(socket.second);
    REQUIRE(has_read());
  }

  // In one round of CAF's loop the last chunk is read, and then the credit for the first one comes.
  std::promise<void> is_held;
  std::promise<void> release;
  DescriptorPair other = make_socket_pair();
  system.middleman().spawn_broker(hold_up_loop, other.first.release(), &is_held,
                                  release.get_future().share());
  write_byte(other.second);
  is_held.get_future().wait();
  write_byte(socket.second);
  caf::anon_send(broker, SocketCredit{});
  release.set_value();

  CHECK(has_read());
  write_byte(socket.second);
  CHECK(has_read());
  caf::anon_send(broker, SocketEnd{});
  caf::anon_send_exit(owner, caf::exit_reason::user_shutdown);
}

}  // namespace
}  // namespace tune::runtime
