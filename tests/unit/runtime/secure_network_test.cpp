#include "runtime/secure_network.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "runtime/descriptor.hpp"
#include "support/test_certificates.hpp"

namespace tune::runtime {
namespace {

using Catch::Contains;
using test::TestCertificates;

constexpr std::chrono::seconds patience{60};
constexpr const char* here = "127.0.0.1";
constexpr long an_hour = 3600;

struct NetworkConfig final : caf::actor_system_config {
  NetworkConfig() {
    load<caf::io::middleman>();
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
  }
};

/// Texts from any thread.
class Log {
 public:
  void add(std::string text) {
    const std::lock_guard guard(mutex_);
    texts_.push_back(std::move(text));
    changed_.notify_all();
  }
  /// Waits until one of them has `part`.
  [[nodiscard]] bool comes(const std::string& part) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, patience, [&] {
      return std::any_of(texts_.begin(), texts_.end(), [&](const std::string& text) {
        return text.find(part) != std::string::npos;
      });
    });
  }
  [[nodiscard]] std::size_t size() {
    const std::lock_guard guard(mutex_);
    return texts_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
};

caf::behavior repeat(caf::event_based_actor*) {
  return {[](const std::string& text) { return text + text; }};
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor connected_socket(std::uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  return socket;
}

/// Hands on whoever connects, on a thread of its own.
class Listener {
 public:
  explicit Listener(std::function<void(Descriptor)> on_socket)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), end_(make_event()) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket_.get(), plain, size) == 0);
    REQUIRE(::listen(socket_.get(), 100) == 0);
    REQUIRE(::getsockname(socket_.get(), plain, &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, on_socket = std::move(on_socket)] {
      while (true) {
        pollfd waits[] = {{socket_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
        ::poll(waits, 2, -1);
        if (waits[1].revents != 0) return;
        on_socket(Descriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
      }
    });
  }
  ~Listener() {
    signal_event(end_);
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  Descriptor socket_;
  Descriptor end_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// One end.
class End {
 public:
  explicit End(const TlsFiles& files) : system_(config_) {
    system_.await_actors_before_shutdown(false);
    echo_ = system_.spawn(repeat);
    auto made = SecureNetwork::make(
        system_, files,
        {[this](caf::io::scribe_ptr scribe) {
           caf::anon_send(protocol(), caf::publish_atom::value, std::move(scribe), key,
                          caf::actor_cast<caf::strong_actor_ptr>(echo_), std::set<std::string>());
         },
         [this](std::string text) { log_.add(std::move(text)); }});
    REQUIRE(made);
    network_ = std::move(*made);
  }
  ~End() {
    listener_.reset();
    network_.reset();
    system_.registry().erase(echo_.id());
    caf::anon_send_exit(echo_, caf::exit_reason::user_shutdown);
    caf::scoped_actor(system_)->wait_for(echo_);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  [[nodiscard]] Log& log() { return log_; }
  [[nodiscard]] caf::actor_system& system() { return system_; }
  /// Others find an actor that repeats what it is told there.
  [[nodiscard]] std::uint16_t listen() {
    listener_ = std::make_unique<Listener>(
        [this](Descriptor socket) { network_->accept(std::move(socket)); });
    return listener_->port();
  }
  [[nodiscard]] std::uint16_t listen_plainly() {
    return system_.middleman().publish(echo_, 0, here).value();
  }
  [[nodiscard]] Expected<caf::strong_actor_ptr> connect(std::uint16_t port) {
    auto scribe = network_->connect(connected_socket(port));
    if (!scribe) return scribe.error();
    Expected<caf::strong_actor_ptr> result = Error{};
    caf::scoped_actor(system_)
        ->request(protocol(), patience, caf::connect_atom::value, std::move(*scribe), key)
        .receive([&](caf::node_id&, caf::strong_actor_ptr& found,
                     std::set<std::string>&) { result = found; },
                 [&](const caf::error& error) {
                   result = Error{ErrorCode::io, system_.render(error)};
                 });
    return result;
  }
  /// Why a connection that must fail does.
  [[nodiscard]] std::string refusal(std::uint16_t port) {
    const auto found = connect(port);
    REQUIRE_FALSE(found);
    return found.error().message;
  }
  [[nodiscard]] std::string ask(const caf::strong_actor_ptr& actor, const std::string& text) {
    std::string answer;
    caf::scoped_actor(system_)
        ->request(caf::actor_cast<caf::actor>(actor), patience, text)
        .receive([&](std::string& got) { answer = std::move(got); },
                 [&](const caf::error& error) { answer = system_.render(error); });
    return answer;
  }

 private:
  static constexpr std::uint16_t key = 1;
  caf::actor protocol() {
    return system_.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
  }

  Log log_;
  NetworkConfig config_;
  caf::actor_system system_;
  std::unique_ptr<SecureNetwork> network_;
  caf::actor echo_;
  std::unique_ptr<Listener> listener_;
};

/// Somebody who connects without CAF.
Descriptor stranger(std::uint16_t port, const std::string& bytes = {}) {
  Descriptor socket = connected_socket(port);
  if (!bytes.empty()) (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return socket;
}

/// Waits until the other side closes.
bool is_closed(const Descriptor& socket) {
  const timeval time{60, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  char bytes[256];
  while (true) {
    const ssize_t count = ::recv(socket.get(), bytes, sizeof bytes, 0);
    if (count == 0 || (count < 0 && errno == ECONNRESET)) return true;
    if (count < 0) return false;
  }
}

/// Connects as a program would that has these files.
void run_openssl_client(std::uint16_t port, const std::string& options) {
  const std::string command = "openssl s_client -connect 127.0.0.1:" + std::to_string(port) + " " +
                              options + " </dev/null >/dev/null 2>&1";
  (void)std::system(command.c_str());
}

TEST_CASE("actors of one CA find each other, and messages of any size cross", "[secure_network]") {
  const TestCertificates made;
  End driver(made.files("node"));
  End node(made.files("other"));
  const auto found = node.connect(driver.listen());
  REQUIRE(found);
  CHECK(node.ask(*found, "ab") == "abab");
  for (const std::size_t size : {1U, 16'384U, 16'385U, 1'000'000U}) {
    const std::string text(size, 'x');
    CHECK(node.ask(*found, text) == text + text);
  }
  CHECK(driver.log().size() == 0);
}

TEST_CASE("many nodes connect to one port", "[secure_network]") {
  const TestCertificates made;
  End driver(made.files("node"));
  const std::uint16_t port = driver.listen();
  std::vector<std::unique_ptr<End>> nodes;
  for (int i = 0; i < 8; ++i) nodes.push_back(std::make_unique<End>(made.files("other")));
  for (const auto& node : nodes) {
    const auto found = node->connect(port);
    REQUIRE(found);
    CHECK(node->ask(*found, "a") == "aa");
  }
}

TEST_CASE("a node of another CA is refused, with the reason on both sides", "[secure_network]") {
  const TestCertificates made;
  const TestCertificates others;
  End driver(made.files());
  End node(others.files());
  // The node sees the driver's certificate first.
  CHECK_THAT(node.refusal(driver.listen()), Contains("its certificate is refused: "));
  CHECK(driver.log().comes("127.0.0.1: it refuses the certificate of this machine: tlsv1 alert"));
}

TEST_CASE("a node whose certificate the driver does not trust hears it", "[secure_network]") {
  const TestCertificates made;
  const TestCertificates others;
  End driver(made.files());
  const std::uint16_t port = driver.listen();
  // It would trust the driver.
  TlsFiles files = others.files();
  const std::string both = (others.path() / "both.pem").string();
  REQUIRE(std::system(("cat " + made.files().ca.string() + " " + files.ca.string() + " > " + both)
                          .c_str()) == 0);
  files.ca = both;
  End node(files);
  CHECK_THAT(node.refusal(port),
             Contains("it refuses the certificate of this machine: ") && Contains("unknown ca"));
  CHECK(driver.log().comes("127.0.0.1: its certificate is refused: "));
}

TEST_CASE("who has no certificate, or an expired one, is refused", "[secure_network]") {
  const TestCertificates made;
  End driver(made.files());
  const std::uint16_t port = driver.listen();
  run_openssl_client(port, "");
  CHECK(driver.log().comes("127.0.0.1: it has shown no certificate"));
  made.date("other", -2 * an_hour, -an_hour);
  const TlsFiles expired = made.files("other");
  run_openssl_client(port,
                     "-cert " + expired.certificate.string() + " -key " + expired.key.string());
  CHECK(driver.log().comes("127.0.0.1: its certificate is refused: certificate has expired"));
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  caf::actor_system system(config);
  const auto network = SecureNetwork::make(system, expired, {});
  REQUIRE_FALSE(network);
  CHECK_THAT(network.error().message, Contains("other.pem: the certificate expired on"));
}

TEST_CASE("an older TLS is refused", "[secure_network]") {
  const TestCertificates made;
  End driver(made.files());
  const TlsFiles files = made.files("other");
  run_openssl_client(driver.listen(),
                     "-tls1_2 -cert " + files.certificate.string() + " -key " + files.key.string());
  CHECK(driver.log().comes("unsupported protocol"));
}

TEST_CASE("plain and encrypted ends tell each other apart", "[secure_network]") {
  const TestCertificates made;
  End driver(made.files());
  End node(made.files("other"));
  SECTION("an encrypted node at a plain port") {
    CHECK_THAT(node.refusal(driver.listen_plainly()),
               Contains("it does not speak TLS as tune does"));
  }
  SECTION("a plain node at an encrypted port") {
    const auto found = node.system().middleman().remote_actor(here, driver.listen());
    CHECK_FALSE(found);
    CHECK(driver.log().comes("127.0.0.1: it "));
  }
}

TEST_CASE("what strangers send changes nothing for the others", "[secure_network]") {
  const TestCertificates made;
  End driver(made.files());
  End node(made.files("other"));
  const std::uint16_t port = driver.listen();
  const auto found = node.connect(port);
  REQUIRE(found);
  std::mt19937 random(1);
  std::vector<Descriptor> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(stranger(port));
    std::string bytes(1 + random() % 3000, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (i % 2 == 0) bytes = "GET / HTTP/1.1\r\n\r\n" + bytes;
    if (i % 3 == 0) bytes.insert(0, std::string("\x16\x03\x01\xff\xff", 5));
    const Descriptor talking = stranger(port, bytes);
    ::shutdown(talking.get(), SHUT_WR);
    CHECK(is_closed(talking));
    REQUIRE(node.ask(*found, "still here ") == "still here still here ");
  }
  CHECK(driver.log().comes("127.0.0.1: it does not speak TLS as tune does"));
  CHECK(driver.log().size() < 40);  // the same is not told again
}

TEST_CASE("those who connect and say nothing make way for others", "[secure_network]") {
  const TestCertificates made;
  End driver(made.files());
  End node(made.files("other"));
  const std::uint16_t port = driver.listen();
  std::vector<Descriptor> silent;
  for (int i = 0; i < 70; ++i) silent.push_back(stranger(port));
  const auto found = node.connect(port);
  REQUIRE(found);
  CHECK(node.ask(*found, "a") == "aa");
  CHECK(driver.log().comes("too many others connect at once"));
  CHECK(is_closed(silent[0]));
  CHECK(driver.log().comes("127.0.0.1: it does not answer"));
  CHECK(is_closed(silent[69]));
}

}  // namespace
}  // namespace tune::runtime
