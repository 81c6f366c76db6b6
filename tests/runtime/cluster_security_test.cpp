#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "runtime/doorkeeper.hpp"
#include "slow_relay.hpp"
#include "support/test_certificates.hpp"

namespace tune::test {
namespace {

using Catch::Contains;
using runtime::Descriptor;
using runtime::TlsFiles;
namespace fs = std::filesystem;

constexpr long an_hour = 3600;

Cluster::Words tls_options(const TlsFiles& files) {
  return {"--tune-ca=" + files.ca.string(), "--tune-cert=" + files.certificate.string(),
          "--tune-key=" + files.key.string()};
}

/// A search that shows at its end that nothing has happened to it: a good node runs all of it,
/// while the test does to the port what it likes.
class WatchedSearch {
 public:
  explicit WatchedSearch(const TestCertificates& certificates) : certificates_(certificates) {
    cluster_.let_trials_reach(3);
    driver_ = cluster_.start_lone_driver(tls_options(certificates.files("node")));
    node_ = cluster_.start_node(tls_options(certificates.files("other")));
    REQUIRE(cluster_.wait_for_rows(0, 3));
  }

  [[nodiscard]] Cluster& cluster() { return cluster_; }
  [[nodiscard]] bool hears(const std::string& text) const { return cluster_.wait_for_log(text); }
  void finish() {
    cluster_.let_trials_reach(100);
    CHECK(driver_->read_line() == "2 of 2");
    CHECK(driver_->wait() == 0);
    CHECK(node_->wait() == 0);
    CHECK(read_text(driver_->error_file()).empty());
    CHECK_THAT(cluster_.log(), !Contains("is lost"));
    for (int trial = 0; trial < 2; ++trial) {
      CHECK(iterations(cluster_.rows(trial)) == counted_to(6));
      CHECK(nodes_of(cluster_.rows(trial)) == std::set<std::int64_t>{node_->pid()});
    }
    cluster_.check_sound();
  }

 private:
  const TestCertificates& certificates_;
  Cluster cluster_{/*samples=*/2, /*steps=*/6};
  std::unique_ptr<ProgramRun> driver_;
  std::unique_ptr<ProgramRun> node_;
};

/// A node that is refused ends. What it said.
std::string refusal(Cluster& cluster, const Cluster::Words& options) {
  const auto node = cluster.start_node(options);
  CHECK(node->wait() == 1);
  return read_text(node->error_file());
}

TEST_CASE("driver and nodes with certificates of one CA work together", "[cluster][tls]") {
  const TestCertificates certificates;
  Cluster cluster(3, 6);
  // An address that others reach needs no more than that.
  Cluster::Words options = tls_options(certificates.files("node"));
  for (const std::string& word : {"--tune-listen=0.0.0.0:" + std::to_string(cluster.port()),
                                  std::string("--tune-no-local")}) {
    options.push_back(word);
  }
  const auto driver = cluster.start_program(options);
  const auto node = cluster.start_node(tls_options(certificates.files("other")));
  CHECK(driver->read_line() == "3 of 3");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(read_text(driver->error_file()).empty());
  for (int trial = 0; trial < 3; ++trial) CHECK(iterations(cluster.rows(trial)) == counted_to(6));
  CHECK_THAT(cluster.log(), Contains(", with TLS") && !Contains("can run code"));
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
  cluster.check_sound();
}

TEST_CASE("a node over TLS that is killed or frozen is lost, and welcome again", "[cluster][tls]") {
  const TestCertificates certificates;
  Cluster cluster(1, 9);
  cluster.let_trials_reach(3);
  Cluster::Words options = tls_options(certificates.files("node"));
  options.emplace_back("--tune-node-timeout=2");
  const auto driver = cluster.start_lone_driver(options);
  const auto killed = cluster.start_node(tls_options(certificates.files("other")));
  REQUIRE(cluster.wait_for_rows(0, 3));
  killed->kill();
  const auto lost = [](const ProgramRun& node) {
    return "process " + std::to_string(node.pid()) + ") is lost: ";
  };
  REQUIRE(cluster.wait_for_log(lost(*killed) + "its connection broke"));
  cluster.let_trials_reach(6);
  const auto frozen = cluster.start_node(tls_options(certificates.files("other")));
  REQUIRE(cluster.wait_for_rows(0, 6));
  ::kill(frozen->pid(), SIGSTOP);
  REQUIRE(cluster.wait_for_log(lost(*frozen) + "nothing was heard of it for 2 s"));
  ::kill(frozen->pid(), SIGCONT);
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK(frozen->wait() == 0);
  CHECK(iterations(cluster.rows(0)) == counted_to(9));
  cluster.check_sound();
}

TEST_CASE("over TLS a slow line loses no result and no node either", "[cluster][tls]") {
  const TestCertificates certificates;
  Cluster cluster(2, 100);
  SlowRelay relay(cluster.port());
  Cluster::Words options = tls_options(certificates.files("node"));
  options.emplace_back("--tune-node-timeout=10");
  const auto driver = cluster.start_lone_driver(options);
  options = tls_options(certificates.files("other"));
  options.push_back("--tune-join=127.0.0.1:" + std::to_string(relay.port()));
  options.emplace_back("--tune-cpus=2");
  const auto node = cluster.start_program(options);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK_THAT(cluster.log(), !Contains("is lost"));
  for (int trial = 0; trial < 2; ++trial) CHECK(iterations(cluster.rows(trial)) == counted_to(100));
  cluster.check_sound();
}

TEST_CASE("files that cannot work are refused before anything starts", "[cluster][tls]") {
  const TestCertificates certificates;
  TlsFiles files = certificates.files("node");
  std::string reason;
  SECTION("one that is not there") {
    files.key = certificates.path() / "nowhere.pem";
    reason = files.key.string() + ": No such file or directory";
  }
  SECTION("one that has expired") {
    certificates.date("node", -2 * an_hour, -an_hour);
    reason = files.certificate.string() + ": the certificate expired on ";
  }
  SECTION("the key of another certificate") {
    files.key = certificates.files("other").key;
    reason = files.key.string() + ": it is not the key of the certificate in ";
  }
  SECTION("none") {
    files.certificate.clear();
    reason = "--tune-cert has no value, want FILE";
  }
  Cluster cluster(1, 1);
  const auto driver = cluster.start_driver(tls_options(files));
  const auto node = cluster.start_node(tls_options(files));
  const std::string said = driver->read_line();
  CHECK(driver->wait() != 0);
  CHECK_THAT(said + read_text(driver->error_file()), Contains(reason));
  CHECK(node->wait() == 2);
  CHECK_THAT(read_text(node->error_file()), Contains(reason));
  CHECK_FALSE(fs::exists(cluster.experiment()));
}

TEST_CASE("the three files go together, and with --tune-insecure they do not", "[cluster][tls]") {
  const TestCertificates certificates;
  Cluster cluster(1, 1);
  Cluster::Words options = tls_options(certificates.files("node"));
  options.emplace_back("--tune-insecure");
  const auto both = cluster.start_driver(options);
  CHECK_THAT(both->read_line(), Contains("(--tune-insecure) and cluster.ca (--tune-ca) exclude"));
  CHECK(both->wait() == 1);
  options.resize(2);
  const auto two = cluster.start_driver(options);
  CHECK_THAT(two->read_line(), Contains("cluster.key (--tune-key) is missing"));
  CHECK(two->wait() == 1);
  const auto node = cluster.start_node(options);
  CHECK(node->wait() == 2);
  CHECK_THAT(read_text(node->error_file()), Contains("cluster.key (--tune-key) is missing"));
}

TEST_CASE("a node of another CA is refused, and both sides say why", "[cluster][tls]") {
  const TestCertificates certificates;
  const TestCertificates others;
  WatchedSearch search(certificates);
  CHECK_THAT(refusal(search.cluster(), tls_options(others.files("node"))),
             Contains("refused: the driver at " + search.cluster().address() +
                      ": its certificate is refused: "));
  CHECK(search.hears("127.0.0.1: it refuses the certificate of this machine: "));

  // One that trusts the driver, and whom the driver does not.
  TlsFiles files = others.files("node");
  const fs::path both = others.path() / "both.pem";
  std::ofstream(both) << read_text(certificates.files().ca) << read_text(files.ca);
  files.ca = both;
  CHECK_THAT(refusal(search.cluster(), tls_options(files)),
             Contains("it refuses the certificate of this machine: "));
  CHECK(search.hears("127.0.0.1: its certificate is refused: "));
  search.finish();
}

TEST_CASE("a node without TLS at a driver with it is refused, and both sides say why",
          "[cluster][tls]") {
  const TestCertificates certificates;
  WatchedSearch search(certificates);
  CHECK_THAT(refusal(search.cluster(), {}),
             Contains("it uses TLS: give this node --tune-ca, --tune-cert and --tune-key"));
  CHECK(search.hears("127.0.0.1: it does not use TLS, and this driver does"));
  search.finish();
}

TEST_CASE("a node with TLS at a driver without it is refused, and both sides say why",
          "[cluster][tls]") {
  const TestCertificates certificates;
  Cluster cluster(1, 3);
  const auto driver = cluster.start_lone_driver();
  CHECK_THAT(refusal(cluster, tls_options(certificates.files())),
             Contains("it does not use TLS: give it --tune-ca, --tune-cert and --tune-key"));
  CHECK(cluster.wait_for_log("127.0.0.1: it uses TLS, and this driver does not"));
  const auto good = cluster.start_node();
  CHECK(driver->wait() == 0);
  CHECK(good->wait() == 0);
}

/// Somebody who has come through the door, and may speak TLS there.
Descriptor enter(const Cluster& cluster) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(cluster.port());
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const std::string word(runtime::secure_door_word);
  REQUIRE(::send(socket.get(), word.data(), word.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(word.size()));
  std::string answer(word.size(), ' ');
  REQUIRE(::recv(socket.get(), answer.data(), answer.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(word.size()));
  REQUIRE(answer == word);
  return socket;
}

/// Does its part of a handshake, with files that a node would not start with; none: null.
void shake_hands(const Descriptor& socket, const TlsFiles* files) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  if (files != nullptr) {
    REQUIRE(SSL_CTX_use_certificate_chain_file(context, files->certificate.c_str()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(context, files->key.c_str(), SSL_FILETYPE_PEM) == 1);
  }
  SSL* const session = SSL_new(context);
  SSL_set_fd(session, socket.get());
  char byte = 0;
  // The handshake is through before the driver has seen the certificate.
  if (SSL_connect(session) == 1) CHECK(SSL_read(session, &byte, 1) <= 0);
  ERR_clear_error();
  SSL_free(session);
  SSL_CTX_free(context);
}

TEST_CASE("who shows no certificate, or an expired one, is refused", "[cluster][tls]") {
  const TestCertificates certificates;
  WatchedSearch search(certificates);
  shake_hands(enter(search.cluster()), nullptr);
  CHECK(search.hears("127.0.0.1: it has shown no certificate"));
  certificates.date("other", -2 * an_hour, -an_hour);
  const TlsFiles expired = certificates.files("other");
  shake_hands(enter(search.cluster()), &expired);
  CHECK(search.hears("127.0.0.1: its certificate is refused: certificate has expired"));
  search.finish();
}

TEST_CASE("half-open handshakes hold up nobody, and what is no TLS is refused", "[cluster][tls]") {
  const TestCertificates certificates;
  WatchedSearch search(certificates);
  std::vector<Descriptor> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(enter(search.cluster()));
  const std::string bytes = "GET / HTTP/1.1\r\n\r\n" + std::string(300, '\x7F');
  const Descriptor talking = enter(search.cluster());
  (void)::send(talking.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  CHECK(search.hears("127.0.0.1: it does not speak TLS as tune does"));
  const auto late = search.cluster().start_node(tls_options(certificates.files("other")), 0);
  REQUIRE(search.cluster().wait_for_join(*late));
  // Ten seconds after it came.
  char byte = 0;
  CHECK(::recv(silent.front().get(), &byte, 1, 0) <= 0);
  CHECK(search.hears("127.0.0.1: it does not answer"));
  search.finish();
  CHECK(late->wait() == 0);
}

}  // namespace
}  // namespace tune::test
