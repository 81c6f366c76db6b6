#include "runtime/doorkeeper.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "address_list.hpp"

namespace tune::runtime {
namespace {

Error cannot_listen(const HostPort& address, const std::string& reason) {
  return {ErrorCode::io, "cannot listen on " + address.text() + ": " + reason};
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  // The port stands at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Expected<Descriptor> listen_on(const HostPort& address) {
  const auto list = resolve(address);
  if (!list) return cannot_listen(address, list.error().message);
  const addrinfo& entry = *list.value();
  Descriptor socket(::socket(entry.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  // What the system still keeps of connections of an earlier run is no obstacle.
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), entry.ai_addr, entry.ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return cannot_listen(address, std::generic_category().message(errno));
  }
  return socket;
}

}  // namespace

Expected<void> Doorkeeper::check(const HostPort& address) {
  const auto socket = listen_on(address);
  if (!socket) return socket.error();
  return {};
}

Expected<std::unique_ptr<Doorkeeper>> Doorkeeper::open(const HostPort& address, OnGuest on_guest,
                                                       OnStranger on_stranger, Options options) {
  auto socket = listen_on(address);
  if (!socket) return socket.error();
  const std::uint16_t port = port_of(*socket);
  return std::unique_ptr<Doorkeeper>(new Doorkeeper(std::move(*socket), port, std::move(on_guest),
                                                    std::move(on_stranger), std::move(options)));
}

Doorkeeper::Doorkeeper(Descriptor listener, std::uint16_t port, OnGuest on_guest,
                       OnStranger on_stranger, Options options)
    : listener_(std::move(listener)),
      port_(port),
      on_guest_(std::move(on_guest)),
      on_stranger_(std::move(on_stranger)),
      options_(std::move(options)),
      end_(make_event()),
      thread_([this] { watch(); }) {}

Doorkeeper::~Doorkeeper() {
  signal_event(end_);
  thread_.join();
}

int Doorkeeper::next_wait() const {
  if (visitors_.empty()) return -1;
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(visitors_.front().until - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(wait.count(), 0));
}

void Doorkeeper::watch() {
  while (true) {
    std::vector<pollfd> entries = {{end_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const Visitor& visitor : visitors_) entries.push_back({visitor.socket.get(), POLLIN, 0});
    ::poll(entries.data(), entries.size(), next_wait());
    if (entries[0].revents != 0) return;
    for (std::size_t i = 0; i < visitors_.size(); ++i) {
      if (entries[i + 2].revents != 0) listen_to(visitors_[i]);
    }
    const Clock::time_point now = Clock::now();
    for (Visitor& visitor : visitors_) {
      if (!visitor.is_done && visitor.until <= now) send_away(visitor, "said nothing in time");
    }
    std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.is_done; });
    if (entries[1].revents != 0) accept_one();
  }
}

void Doorkeeper::accept_one() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    // Without a descriptor to spare the caller stays in the queue, and poll would return at once.
    if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(options_.patience / 50);
    return;
  }
  if (visitors_.size() >= options_.most_waiting) {
    send_away(visitors_.front(), "had to make room");
    visitors_.erase(visitors_.begin());
  }
  visitors_.push_back({std::move(socket), {}, Clock::now() + options_.patience});
}

void Doorkeeper::listen_to(Visitor& visitor) {
  char bytes[door_word.size()];
  // Not a byte more than the word: what follows is for whoever gets the socket.
  const ssize_t count =
      ::recv(visitor.socket.get(), bytes, door_word.size() - visitor.said.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    // A node looks whether somebody listens, and goes; so do scans.
    if (visitor.said.empty()) {
      visitor.is_done = true;
    } else {
      send_away(visitor, "went in the middle of a word");
    }
    return;
  }
  visitor.said.append(bytes, static_cast<std::size_t>(count));
  if (!door_word.starts_with(visitor.said) && !secure_door_word.starts_with(visitor.said)) {
    return send_away(visitor, "is none of tune's nodes");
  }
  if (visitor.said.size() == door_word.size()) answer(visitor);
}

void Doorkeeper::answer(Visitor& visitor) {
  const std::string_view own_word = options_.is_secure ? secure_door_word : door_word;
  visitor.is_done = true;
  // The first bytes on a connection always have room; who is gone will be missed later.
  (void)::send(visitor.socket.get(), own_word.data(), own_word.size(), MSG_NOSIGNAL);
  if (visitor.said == own_word) return on_guest_(std::move(visitor.socket));
  const std::string what = peer_address(visitor.socket.get()) +
                           (options_.is_secure ? ": it does not use TLS, and this driver does"
                                               : ": it uses TLS, and this driver does not");
  constexpr std::size_t most_refusals = 100;
  if (!options_.on_refused || refusals_.size() >= most_refusals) return;
  if (refusals_.insert(what).second) options_.on_refused(what);
}

void Doorkeeper::send_away(Visitor& visitor, const std::string& what) {
  visitor.is_done = true;
  visitor.socket.reset();
  if (!std::exchange(was_stranger_told_, true)) on_stranger_(what);
}

}  // namespace tune::runtime
