#include "cluster.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/skip.hpp"

namespace tune::test {
namespace {

using Catch::Contains;

TEST_CASE("a node that starts before its driver waits, joins, and ends with it", "[cluster]") {
  Cluster cluster(/*samples=*/3, /*steps=*/6);
  const auto node = cluster.start_node();
  REQUIRE(Cluster::wait_for(node->error_file(), "waits for a driver at " + cluster.address()));
  const auto driver = cluster.start_lone_driver();
  CHECK(driver->read_line() == "3 of 3");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(read_text(driver->error_file()).empty());
  CHECK_THAT(read_text(node->error_file()),
             Contains("joined experiment run with 1 cpu") && Contains("the experiment is over"));
  for (int trial = 0; trial < 3; ++trial) {
    CHECK(iterations(cluster.rows(trial)) == counted_to(6));
    CHECK(nodes_of(cluster.rows(trial)) == std::set<std::int64_t>{node->pid()});
  }
  CHECK(cluster.processes().empty());
  cluster.check_sound();
}

TEST_CASE("numbers keep their bits on their way from a node", "[cluster]") {
  Cluster cluster(1, 5);
  const auto driver = cluster.start_lone_driver();
  const auto node = cluster.start_node();
  REQUIRE(driver->wait() == 0);
  const ResultGrid results = ResultGrid::open(cluster.experiment());
  const std::vector<Result> history = results[0].history();
  REQUIRE(history.size() == 5);
  const auto loss = [&](std::size_t row) { return history[row].metrics.at("loss").as_double(); };
  CHECK(loss(0) == std::numeric_limits<double>::infinity());
  CHECK(loss(1) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(loss(2)));
  CHECK((loss(3) == 0 && std::signbit(loss(3))));
  CHECK(loss(4) == std::numeric_limits<double>::denorm_min());
  CHECK(node->wait() == 0);
}

TEST_CASE("the driver's machine and nodes share the trials", "[cluster]") {
  Cluster cluster(4, 3);
  cluster.let_trials_reach(1);
  const auto driver = cluster.start_driver({"--tune-cpus=1"});
  const auto node = cluster.start_node({"--tune-resource=licence=1"}, 2);
  // Three slots hold three trials at once: one here, two there.
  for (int trial = 0; trial < 3; ++trial) REQUIRE(cluster.wait_for_rows(trial, 1));
  const auto late = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(3, 1));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "4 of 4");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  CHECK(late->wait() == 0);
  std::map<std::int64_t, int> trials;
  for (int trial = 0; trial < 4; ++trial) ++trials[*nodes_of(cluster.rows(trial)).begin()];
  CHECK(trials ==
        std::map<std::int64_t, int>{{driver->pid(), 1}, {node->pid(), 2}, {late->pid(), 1}});
  CHECK_THAT(cluster.log(), Contains("has joined with 2 cpu"));
}

TEST_CASE("a node that is refused ends, and both sides say why", "[cluster]") {
  Cluster cluster(1, 3);
  const auto driver = cluster.start_lone_driver();
  const auto node = cluster.start_node({"--tune-name=another"});
  CHECK(node->wait() == 1);
  const std::string reason = "it is for experiment another, this is run";
  CHECK_THAT(read_text(node->error_file()), Contains("refused: " + reason));
  CHECK(cluster.wait_for_log(reason));
  const auto good = cluster.start_node({"--tune-name=run"});
  CHECK(driver->wait() == 0);
  CHECK(good->wait() == 0);
}

TEST_CASE("a node may stay for the next experiment", "[cluster]") {
  Cluster cluster(1, 2);
  const auto node = cluster.start_node({"--tune-stay"});
  const auto first = cluster.start_lone_driver();
  CHECK(first->read_line() == "1 of 1");
  CHECK(first->wait() == 0);
  REQUIRE(Cluster::wait_for(node->error_file(), "the experiment is over"));
  const auto second = cluster.start_lone_driver({"--tune-name=second"});
  CHECK(second->read_line() == "1 of 1");
  CHECK(second->wait() == 0);
  CHECK_FALSE(node->has_ended());
  ::kill(node->pid(), SIGTERM);
  CHECK(node->wait() == 128 + SIGTERM);
  CHECK(wait_until([&] { return cluster.processes().empty(); }));
}

/// A connection to the driver's port.
int knock(const Cluster& cluster) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(cluster.port());
  REQUIRE(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

void send_text(int socket, const std::string& text) {
  REQUIRE(::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(text.size()));
}

TEST_CASE("strangers at the port change nothing, and are told of once", "[cluster]") {
  Cluster cluster(2, 6);
  cluster.let_trials_reach(3);
  const auto driver = cluster.start_lone_driver();
  const auto node = cluster.start_node();
  REQUIRE(cluster.wait_for_rows(0, 3));
  std::vector<int> sockets;
  std::mt19937 bytes(1);
  for (int i = 0; i < 20; ++i) {
    const int socket = knock(cluster);
    sockets.push_back(socket);  // some stay half open
    if (i % 4 == 0) continue;
    std::string text(200, ' ');
    for (char& c : text) c = static_cast<char>(bytes());
    send_text(socket, text);
    if (i % 4 == 1) ::close(std::exchange(sockets.back(), -1));
  }
  // One who knows the door word, and then speaks no protocol.
  sockets.push_back(knock(cluster));
  send_text(sockets.back(), "tune-node/1\n" + std::string(100, '\x7F'));
  REQUIRE(cluster.wait_for_log("a stranger at the port"));
  cluster.let_trials_reach(100);
  CHECK(driver->read_line() == "2 of 2");
  CHECK(driver->wait() == 0);
  CHECK(node->wait() == 0);
  for (const int socket : sockets) ::close(socket);
  const std::string log = cluster.log();
  CHECK(log.find("a stranger at the port") == log.rfind("a stranger at the port"));
  CHECK_THAT(log, !Contains("is lost"));
  for (int trial = 0; trial < 2; ++trial) CHECK(iterations(cluster.rows(trial)) == counted_to(6));
}

TEST_CASE("a node waits on where another program listens, until it is told to end", "[cluster]") {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Cluster cluster(1, 1);
  address.sin_port = htons(cluster.port());
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener, 4) == 0);
  const auto node = cluster.start_node();
  for (int i = 0; i < 2; ++i) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    REQUIRE(socket >= 0);
    send_text(socket, "HTTP/1.1 400 Bad Request\r\n" + std::string(200, '\n'));
    ::close(socket);
  }
  CHECK(Cluster::wait_for(node->error_file(), "does not answer as a driver"));
  CHECK_FALSE(node->has_ended());
  ::kill(node->pid(), SIGTERM);
  CHECK(node->wait() == 128 + SIGTERM);
  ::close(listener);
}

TEST_CASE("a node that does not see the checkpoint to start from is refused", "[cluster]") {
  if (::system("unshare -m true 2> /dev/null") != 0) {
    return skip_test("no mount namespaces");
  }
  Cluster cluster(1, 3);
  cluster.let_trials_reach(1);
  std::filesystem::create_directory(cluster.storage() / "from");
  const std::string from = (cluster.storage() / "from").string();
  const auto driver = cluster.start_lone_driver({"--tune-resume-from=" + from});
  // The storage is hidden under an empty file system there.
  const std::string mount = "mount -t tmpfs none " + cluster.storage().string();
  const auto node = cluster.start_node(
      {}, 1, {"/usr/bin/unshare", "-m", "/bin/sh", "-c", mount + R"( && exec "$0" "$@")"});
  CHECK(node->wait() == 1);
  const std::string reason =
      "it sees neither the driver's directory nor the checkpoint " + from + " (resume_from)";
  CHECK_THAT(read_text(node->error_file()), Contains("refused: " + reason));
  CHECK(cluster.wait_for_log("refused to join: " + reason));
}

TEST_CASE("an address that others reach must be asked for", "[cluster]") {
  Cluster cluster(1, 1);
  const auto refused =
      cluster.start_program({"--tune-listen=0.0.0.0:" + std::to_string(cluster.port())});
  CHECK_THAT(refused->read_line(), Contains("other machines can reach this address"));
  CHECK(refused->wait() == 1);
  CHECK_FALSE(std::filesystem::exists(cluster.experiment()));
  const auto driver = cluster.start_program(
      {"--tune-insecure", "--tune-listen=0.0.0.0:" + std::to_string(cluster.port())});
  CHECK(driver->read_line() == "1 of 1");
  CHECK(driver->wait() == 0);
  CHECK_THAT(cluster.log(), Contains("can run code on this machine"));
}

}  // namespace
}  // namespace tune::test
