#include "runtime/secure_network.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <utility>

#include <openssl/err.h>
#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/stream_impl.hpp>

#include "tls_handshakes.hpp"

namespace tune::runtime {
namespace {

namespace network = caf::io::network;

constexpr std::chrono::seconds handshake_time{10};

/// How CAF reads from a connection and writes to it.
class TlsTraffic {
 public:
  explicit TlsTraffic(TlsSession session) : session_(std::move(session)) {}

  network::rw_state read_some(std::size_t& count, network::native_socket, void* bytes,
                              std::size_t size) {
    return some(count, size, [&](int most) { return SSL_read(session_.get(), bytes, most); });
  }
  network::rw_state write_some(std::size_t& count, network::native_socket, const void* bytes,
                               std::size_t size) {
    return some(count, size, [&](int most) { return SSL_write(session_.get(), bytes, most); });
  }
  /// What OpenSSL has read already the system will not tell of.
  bool must_read_more(network::native_socket, std::size_t) {
    return SSL_pending(session_.get()) > 0;
  }

 private:
  template <class Call>
  network::rw_state some(std::size_t& count, std::size_t size, const Call& call) {
    constexpr std::size_t most = std::size_t{1} << 30U;
    count = 0;
    if (size == 0) return network::rw_state::indeterminate;
    thread_local const bool is_blocked = (block_pipe_signal(), true);
    (void)is_blocked;
    ERR_clear_error();  // what is left of another connection is no error of this one
    const int result = call(static_cast<int>(std::min(size, most)));
    if (result > 0) {
      count = static_cast<std::size_t>(result);
      return network::rw_state::success;
    }
    const int error = SSL_get_error(session_.get(), result);
    const bool waits = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    return waits ? network::rw_state::success : network::rw_state::failure;
  }

  TlsSession session_;
};

/// A connection, for CAF's broker.
class TlsScribe final : public caf::io::scribe {
 public:
  TlsScribe(network::default_multiplexer& loop, TlsConnection connection)
      : scribe(network::conn_hdl_from_socket(connection.socket.get())),
        stream_(loop, connection.socket.release(), std::move(connection.session)) {}

  void configure_read(caf::io::receive_policy::config config) override {
    stream_.configure_read(config);
    if (std::exchange(is_launched_, true)) return;
    stream_.start(this);
    // What came along with the handshake is with OpenSSL already.
    caf::intrusive_ptr<TlsScribe> self(this);
    stream_.backend().post([self] { self->stream_.handle_event(network::operation::read); });
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  void flush() override { stream_.flush(this); }
  std::string addr() const override {
    const auto address = network::remote_addr_of_fd(stream_.fd());
    return address ? *address : std::string();
  }
  std::uint16_t port() const override {
    const auto port = network::remote_port_of_fd(stream_.fd());
    return port ? *port : std::uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

 private:
  network::stream_impl<TlsTraffic> stream_;
  bool is_launched_ = false;
};

class TlsNetwork final : public SecureNetwork {
 public:
  TlsNetwork(caf::actor_system& system, TlsContext context, Callbacks callbacks)
      : loop_(dynamic_cast<network::default_multiplexer&>(system.middleman().backend())),
        context_(std::move(context)),
        callbacks_(std::move(callbacks)) {
    if (!callbacks_.on_connected) return;
    TlsHandshakes::Options options;
    options.time = handshake_time;
    options.on_connected = [this](TlsConnection connection) {
      callbacks_.on_connected(make_scribe(std::move(connection)));
    };
    options.on_refused = [this](const std::string& text) { tell_refusal(text); };
    handshakes_ = std::make_unique<TlsHandshakes>(context_.get(), std::move(options));
  }

  void accept(Descriptor socket) override {
    TUNE_ASSERT(handshakes_ != nullptr);
    handshakes_->begin(std::move(socket));
  }

  Expected<caf::io::scribe_ptr> connect(Descriptor socket) override {
    auto connection = connect_tls(context_.get(), std::move(socket), handshake_time);
    if (!connection) return connection.error();
    return make_scribe(std::move(*connection));
  }

 private:
  caf::io::scribe_ptr make_scribe(TlsConnection connection) {
    return caf::make_counted<TlsScribe>(loop_, std::move(connection));
  }

  /// Each text once, and not without end: strangers must not fill the log. On the handshakes'
  /// thread.
  void tell_refusal(const std::string& text) {
    constexpr std::size_t most_texts = 100;
    if (!callbacks_.on_refused || told_.size() >= most_texts) return;
    if (told_.insert(text).second) callbacks_.on_refused(text);
  }

  network::default_multiplexer& loop_;
  TlsContext context_;
  Callbacks callbacks_;
  std::set<std::string> told_;
  std::unique_ptr<TlsHandshakes> handshakes_;  // null: nobody is accepted
};

}  // namespace

Expected<std::unique_ptr<SecureNetwork>> SecureNetwork::make(caf::actor_system& system,
                                                             const TlsFiles& files,
                                                             Callbacks callbacks) {
  auto context = make_tls_context(files);
  if (!context) return context.error();
  return std::unique_ptr<SecureNetwork>(
      std::make_unique<TlsNetwork>(system, std::move(*context), std::move(callbacks)));
}

}  // namespace tune::runtime
