#include "runtime/cluster_link.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "address_list.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/node_messages.hpp"

namespace tune::runtime {
namespace {

// Only what frees sockets whose peer is gone without a word: whether a node lives is decided by
// the heartbeats of gate and link. Below a second, a tick can end a connection that is just made.
constexpr caf::timespan caf_heartbeat = std::chrono::seconds(2);
constexpr caf::timespan caf_timeout = std::chrono::seconds(30);

constexpr std::chrono::milliseconds connect_time{2000};
constexpr std::chrono::seconds handshake_time{10};

// Under which CAF finds the gate: in place of a port, since there is one in a system.
constexpr std::uint16_t gate_key = 1;

bool is_loopback_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(four.sin_addr.s_addr) >> 24U == 127;
  }
  if (address.sa_family != AF_INET6) return false;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) ||
         (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) && six.sin6_addr.s6_addr[12] == 127);
}

/// Connected, or the errno with which it failed.
Descriptor try_connecting(const addrinfo& entry, int& error) {
  Descriptor socket(::socket(entry.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  error = errno;
  if (!socket) return {};
  if (::connect(socket.get(), entry.ai_addr, entry.ai_addrlen) == 0) return socket;
  error = errno;
  if (error != EINPROGRESS) return {};
  pollfd ready{socket.get(), POLLOUT, 0};
  error = ETIMEDOUT;
  if (::poll(&ready, 1, static_cast<int>(connect_time.count())) != 1) return {};
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? std::move(socket) : Descriptor();
}

/// The actor that speaks CAF's protocol. It takes sockets that are connected already: then nothing
/// of CAF's waits for a connection, and none is its own before the door word was said.
caf::actor protocol_of(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

void set_up_socket(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

std::string HostPort::text() const {
  const bool is_six = host.find(':') != std::string::npos;
  return (is_six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

HostPort parse_host_port(const std::string& text) {
  const auto refuse = [] {
    throw std::invalid_argument("want HOST:PORT, such as driver:7700 or [::1]:7700");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) refuse();
  HostPort address{text.substr(0, colon), 0};
  const bool has_brackets = address.host.front() == '[' && address.host.back() == ']';
  if (has_brackets) address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty()) refuse();
  if (!has_brackets && address.host.find(':') != std::string::npos) refuse();
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc{} || stop != end) refuse();
  return address;
}

bool is_loopback(const std::string& host) {
  const auto list = resolve({host, 0});
  if (!list) return false;
  for (const addrinfo* entry = list.value().get(); entry != nullptr; entry = entry->ai_next) {
    if (!is_loopback_address(*entry->ai_addr)) return false;
  }
  return true;
}

void configure_cluster(caf::actor_system_config& config) {
  config.add_message_type<NodeFrame>("tune::NodeFrame");
  config.set("middleman.heartbeat-interval", caf_heartbeat);
  config.set("middleman.connection-timeout", caf_timeout);
  config.set("middleman.app-identifiers",
             std::vector<std::string>{"tune/" + std::to_string(node_protocol)});
}

Expected<AddressList> resolve(const HostPort& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (error != 0) return Error{ErrorCode::not_found, ::gai_strerror(error)};
  return AddressList(list);
}

Expected<OpenPort> open_port(caf::actor_system& system, const NodeGateActor& gate,
                             const HostPort& address, Doorkeeper::OnStranger on_stranger) {
  const auto let_in = [&system, gate](Descriptor socket) {
    set_up_socket(socket);
    caf::io::scribe_ptr scribe = system.middleman().backend().new_scribe(socket.release());
    caf::anon_send(protocol_of(system), caf::publish_atom::value, std::move(scribe), gate_key,
                   caf::actor_cast<caf::strong_actor_ptr>(gate), std::set<std::string>());
  };
  return Doorkeeper::open(address, let_in, std::move(on_stranger), {});
}

void close_port(caf::actor_system& system, const NodeGateActor& gate, OpenPort& port) {
  port.reset();
  system.registry().erase(gate->id());
}

Expected<Descriptor> find_driver(const HostPort& address) {
  const auto list = resolve(address);
  if (!list) return list.error();
  int error = EHOSTUNREACH;
  for (const addrinfo* entry = list.value().get(); entry != nullptr; entry = entry->ai_next) {
    Descriptor socket = try_connecting(*entry, error);
    if (socket) return socket;
  }
  return Error{ErrorCode::io, std::generic_category().message(error)};
}

Expected<FrameActor> connect_to_driver(caf::actor_system& system, Descriptor socket) {
  set_up_socket(socket);
  const ssize_t sent = ::send(socket.get(), door_word.data(), door_word.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(door_word.size())) {
    return Error{ErrorCode::io, std::generic_category().message(errno)};
  }
  caf::io::scribe_ptr scribe = system.middleman().backend().new_scribe(socket.release());
  caf::scoped_actor self(system);
  Expected<FrameActor> result = Error{};
  self->request(protocol_of(system), handshake_time, caf::connect_atom::value, std::move(scribe),
                gate_key)
      .receive(
          [&](caf::node_id&, caf::strong_actor_ptr& gate, std::set<std::string>&) {
            if (gate) {
              result = caf::actor_cast<FrameActor>(gate);
            } else {
              result = Error{ErrorCode::io, "who listens there is no driver of tune's"};
            }
          },
          [&](const caf::error& error) {
            result = Error{ErrorCode::io, "who listens there does not answer as a driver: " +
                                              system.render(error)};
          });
  return result;
}

}  // namespace tune::runtime
