#include "runtime/cluster_link.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "core/number_text.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/node_messages.hpp"

namespace tune::runtime {
namespace {

// Only what frees sockets whose peer is gone without a word: whether a node lives is decided by
// the heartbeats of gate and link. Below a second, a tick can end a connection that is just made.
constexpr caf::timespan caf_heartbeat = std::chrono::seconds(2);
constexpr caf::timespan caf_timeout = std::chrono::seconds(30);

constexpr std::chrono::milliseconds probe_time{2000};
constexpr std::chrono::seconds handshake_time{10};

struct AddressListFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListFree>;

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

std::string numeric(const addrinfo& entry) {
  std::array<char, NI_MAXHOST> text{};
  const int error = ::getnameinfo(entry.ai_addr, entry.ai_addrlen, text.data(), text.size(),
                                  nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? std::string(text.data()) : std::string();
}

/// 0, or the errno with which a connection to that address failed.
int try_connecting(const addrinfo& entry) {
  const Descriptor socket(::socket(entry.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  if (::connect(socket.get(), entry.ai_addr, entry.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{socket.get(), POLLOUT, 0};
  const int count = ::poll(&ready, 1, static_cast<int>(probe_time.count()));
  if (count == 0) return ETIMEDOUT;
  if (count < 0) return errno;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
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

std::string explain_unusable_port(const HostPort& address) {
  const auto list = resolve(address);
  if (!list) return list.error().message;
  const addrinfo& entry = *list.value();
  const Descriptor socket(::socket(entry.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  // The wait of the system for late packets of an earlier run is no obstacle.
  if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      ::bind(socket.get(), entry.ai_addr, entry.ai_addrlen) == 0 &&
      ::listen(socket.get(), 1) == 0) {
    return {};
  }
  return std::generic_category().message(errno);
}

Expected<std::uint16_t> open_port(caf::actor_system& system, const NodeGateActor& gate,
                                  const HostPort& address) {
  const auto list = resolve(address);
  if (!list) {
    return Error{ErrorCode::not_found,
                 "cannot listen on " + address.text() + ": " + list.error().message};
  }
  const std::string host = numeric(*list.value());
  auto port = system.middleman().publish(gate, address.port, host.c_str(), /*reuse=*/true);
  if (port) return *port;
  return Error{ErrorCode::io,
               "cannot listen on " + address.text() + ": " + system.render(port.error())};
}

void close_port(caf::actor_system& system, const NodeGateActor& gate, std::uint16_t port) {
  (void)system.middleman().unpublish(gate, port);
}

Expected<HostPort> find_driver(const HostPort& address) {
  const auto list = resolve(address);
  if (!list) return list.error();
  int error = EHOSTUNREACH;
  for (const addrinfo* entry = list.value().get(); entry != nullptr; entry = entry->ai_next) {
    error = try_connecting(*entry);
    if (error == 0) return HostPort{numeric(*entry), address.port};
  }
  return Error{ErrorCode::io, std::generic_category().message(error)};
}

Expected<FrameActor> connect_to_driver(caf::actor_system& system, const HostPort& address) {
  caf::scoped_actor self(system);
  Expected<FrameActor> result = Error{};
  self->request(system.middleman().actor_handle(), handshake_time, caf::connect_atom::value,
                address.host, address.port)
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
