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

Error no_driver(const std::string& reason) {
  return {ErrorCode::io, "who listens there does not answer as a driver: " + reason};
}

/// The door's word, or why there is none.
Expected<std::string> hear_door(const Descriptor& socket) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + handshake_time;
  std::string word;
  while (word.size() < door_word.size()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready{socket.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      return no_driver("it says nothing");
    }
    char bytes[door_word.size()];
    const ssize_t count = ::recv(socket.get(), bytes, door_word.size() - word.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) return no_driver(std::generic_category().message(errno));
    if (count == 0) return no_driver("it has closed the connection");
    word.append(bytes, static_cast<std::size_t>(count));
  }
  return word;
}

/// Says the door word, and sees that the other side means to go on in the same way.
Expected<void> enter(const Descriptor& socket, bool is_secure) {
  const std::string_view own_word = is_secure ? secure_door_word : door_word;
  const ssize_t sent = ::send(socket.get(), own_word.data(), own_word.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(own_word.size())) {
    return no_driver(std::generic_category().message(errno));
  }
  const auto word = hear_door(socket);
  if (!word) return word.error();
  if (*word == own_word) return {};
  if (*word == secure_door_word) {
    return Error{ErrorCode::refused,
                 "it uses TLS: give this node --tune-ca, --tune-cert and --tune-key, too"};
  }
  if (*word == door_word) {
    return Error{ErrorCode::refused,
                 "it does not use TLS: give it --tune-ca, --tune-cert and --tune-key, too"};
  }
  return no_driver("it says something else");
}

/// What CAF takes for a connection.
Expected<caf::io::scribe_ptr> make_scribe(caf::actor_system& system, Descriptor socket,
                                          const std::optional<TlsFiles>& tls) {
  if (!tls) return system.middleman().backend().new_scribe(socket.release());
  const auto network = SecureNetwork::make(system, *tls, {});
  if (!network) return network.error();
  return (*network)->connect(std::move(socket));
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
  config.add_message_type<FilesAt>("tune::FilesAt");
  add_transfer_messages(config);
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

std::string peer_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  char text[NI_MAXHOST];
  if (::getpeername(socket, plain, &size) != 0 ||
      ::getnameinfo(plain, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "somebody";
  }
  return text;
}

Expected<OpenPort> open_port(caf::actor_system& system, const NodeGateActor& gate,
                             PortOptions options) {
  const auto let_in = [protocol = protocol_of(system), gate](caf::io::scribe_ptr scribe) {
    caf::anon_send(protocol, caf::publish_atom::value, std::move(scribe), gate_key,
                   caf::actor_cast<caf::strong_actor_ptr>(gate), std::set<std::string>());
  };
  OpenPort port;
  Doorkeeper::OnGuest on_guest;
  if (options.tls) {
    auto network = SecureNetwork::make(system, *options.tls, {let_in, options.on_refused});
    if (!network) return network.error();
    port.network = std::move(*network);
    on_guest = [network = port.network.get()](Descriptor socket) {
      set_up_socket(socket);
      network->accept(std::move(socket));
    };
  } else {
    on_guest = [&system, let_in](Descriptor socket) {
      set_up_socket(socket);
      let_in(system.middleman().backend().new_scribe(socket.release()));
    };
  }
  Doorkeeper::Options door_options;
  door_options.is_secure = options.tls.has_value();
  door_options.on_refused = std::move(options.on_refused);
  auto door = Doorkeeper::open(options.address, std::move(on_guest), std::move(options.on_stranger),
                               std::move(door_options));
  if (!door) return door.error();
  port.door = std::move(*door);
  return port;
}

void close_port(caf::actor_system& system, const NodeGateActor& gate, OpenPort& port) {
  port.door.reset();  // it hands over to the other
  port.network.reset();
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

void DriverConnection::end() const { ::shutdown(line.get(), SHUT_RDWR); }

Expected<DriverConnection> connect_to_driver(caf::actor_system& system, Descriptor socket,
                                             const std::optional<TlsFiles>& tls) {
  set_up_socket(socket);
  if (const auto entered = enter(socket, tls.has_value()); !entered) return entered.error();
  DriverConnection connection;
  connection.line = Descriptor(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  auto scribe = make_scribe(system, std::move(socket), tls);
  if (!scribe) return scribe.error();
  caf::scoped_actor self(system);
  std::optional<Error> fault;
  self->request(protocol_of(system), handshake_time, caf::connect_atom::value, std::move(*scribe),
                gate_key)
      .receive(
          [&](caf::node_id&, caf::strong_actor_ptr& gate, std::set<std::string>&) {
            if (gate) {
              connection.gate = caf::actor_cast<FrameActor>(gate);
            } else {
              fault = Error{ErrorCode::io, "who listens there is no driver of tune's"};
            }
          },
          [&](const caf::error& error) { fault = no_driver(system.render(error)); });
  if (!fault) return connection;
  connection.end();
  return *fault;
}

}  // namespace tune::runtime
