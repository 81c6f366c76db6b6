#include "tls_handshakes.hpp"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <openssl/err.h>

#include "address_list.hpp"

namespace tune::runtime {
namespace {

/// What poll() waits for after a call that returned `result`; empty: the call failed.
std::optional<short> wanted_events(const SSL* session, int result) {
  switch (SSL_get_error(session, result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      return std::nullopt;
  }
}

/// Why a handshake failed; call it at once. It says whether another try would fail as well.
Error handshake_fault(const SSL* session) {
  const auto final = [](std::string text) { return Error{ErrorCode::refused, std::move(text)}; };
  const long verdict = SSL_get_verify_result(session);
  const unsigned long code = ERR_peek_last_error();
  const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
  const std::string text = take_tls_error();
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return final(std::string("its certificate is refused: ") +
                   X509_verify_cert_error_string(verdict));
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return final("it has shown no certificate");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_BAD_RECORD_TYPE:
      return final("it does not speak TLS as tune does (" + text + ")");
    default:
      break;
  }
  // An alert is the other side's word.
  constexpr int first_alert = SSL_AD_REASON_OFFSET;
  if (reason >= first_alert) return final("it refuses the certificate of this machine: " + text);
  return {ErrorCode::io, text.empty() ? "it has closed the connection during the handshake" : text};
}

TlsSession make_session(SSL_CTX* context, int socket) {
  TlsSession session(SSL_new(context));
  if (session && SSL_set_fd(session.get(), socket) != 1) session.reset();
  return session;
}

using Deadline = std::chrono::steady_clock::time_point;

int milliseconds_until(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

/// Repeats a call until it has succeeded. The fault if it does not.
template <class Call>
std::optional<Error> repeat_until(Deadline deadline, const TlsConnection& connection,
                                  const Call& call) {
  while (true) {
    ERR_clear_error();
    const int result = call(connection.session.get());
    if (result > 0) return std::nullopt;
    const auto events = wanted_events(connection.session.get(), result);
    if (!events) return handshake_fault(connection.session.get());
    pollfd wait{connection.socket.get(), *events, 0};
    if (::poll(&wait, 1, milliseconds_until(deadline)) == 0) {
      return Error{ErrorCode::io, "it does not answer"};
    }
  }
}

}  // namespace

void block_pipe_signal() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

Expected<TlsConnection> connect_tls(SSL_CTX* context, Descriptor socket,
                                    std::chrono::milliseconds time) {
  block_pipe_signal();
  set_blocking(socket.get(), false);
  const Deadline deadline = std::chrono::steady_clock::now() + time;
  TlsConnection connection{std::move(socket), nullptr};
  connection.session = make_session(context, connection.socket.get());
  if (!connection.session) return Error{ErrorCode::io, "OpenSSL: " + take_tls_error()};
  auto fault = repeat_until(deadline, connection, [](SSL* s) { return SSL_connect(s); });
  if (!fault) {
    fault = repeat_until(deadline, connection, [](SSL* s) {
      char first = 0;
      return SSL_peek(s, &first, 1);
    });
  }
  if (fault) return *std::move(fault);
  return connection;
}

TlsHandshakes::TlsHandshakes(SSL_CTX* context, Options options)
    : context_(context),
      options_(std::move(options)),
      wake_(make_event()),
      thread_([this] { serve(); }) {}

TlsHandshakes::~TlsHandshakes() {
  {
    const std::lock_guard guard(mutex_);
    is_ending_ = true;
  }
  signal_event(wake_);
  thread_.join();
}

void TlsHandshakes::begin(Descriptor socket) {
  {
    const std::lock_guard guard(mutex_);
    new_.push_back(std::move(socket));
  }
  signal_event(wake_);
}

void TlsHandshakes::serve() {
  block_pipe_signal();
  while (wait()) {
  }
}

/// Waits for something to happen, and follows it. False: the end.
bool TlsHandshakes::wait() {
  std::vector<pollfd> waits{{wake_.get(), POLLIN, 0}};
  for (const Pending& pending : pending_) {
    waits.push_back({pending.connection.socket.get(), pending.events, 0});
  }
  // All have the same time, so the oldest one's ends first.
  const int timeout = pending_.empty() ? -1 : milliseconds_until(pending_.front().deadline);
  if (::poll(waits.data(), waits.size(), timeout) < 0 && errno != EINTR) return false;
  auto pending = pending_.begin();
  for (std::size_t i = 1; i < waits.size(); ++i) {
    const auto next = std::next(pending);
    if (waits[i].revents != 0) {
      go_on(pending);
    } else if (pending->deadline <= Clock::now()) {
      drop(pending, "it does not answer");
    }
    pending = next;
  }
  if (waits[0].revents != 0) take_new();
  const std::lock_guard guard(mutex_);
  return !is_ending_;
}

void TlsHandshakes::take_new() {
  clear_event(wake_);
  std::vector<Descriptor> sockets;
  {
    const std::lock_guard guard(mutex_);
    sockets.swap(new_);
  }
  for (Descriptor& socket : sockets) {
    set_blocking(socket.get(), false);
    std::string address = peer_address(socket.get());
    TlsSession session = make_session(context_, socket.get());
    if (!session) continue;
    SSL_set_accept_state(session.get());
    if (pending_.size() >= options_.at_once) {
      drop(pending_.begin(), "too many others connect at once");
    }
    pending_.push_back({{std::move(socket), std::move(session)},
                        std::move(address),
                        Clock::now() + options_.time});
    go_on(std::prev(pending_.end()));
  }
}

void TlsHandshakes::go_on(std::list<Pending>::iterator pending) {
  SSL* const session = pending->connection.session.get();
  ERR_clear_error();
  const int result = SSL_accept(session);
  if (result == 1) {
    options_.on_connected(std::move(pending->connection));
    pending_.erase(pending);
  } else if (const auto events = wanted_events(session, result)) {
    pending->events = *events;
  } else {
    drop(pending, handshake_fault(session).message);
  }
}

void TlsHandshakes::drop(std::list<Pending>::iterator pending, const std::string& reason) {
  options_.on_refused(pending->address + ": " + reason);
  pending_.erase(pending);
}

}  // namespace tune::runtime
