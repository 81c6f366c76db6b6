#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <tune/fsck.hpp>
#include <tune/json.hpp>
#include <tune/result_grid.hpp>

#include "program_run.hpp"
#include "run_support.hpp"
#include "search_of_its_own.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// A port of this machine that nobody has.
inline std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

/// A driver and its nodes: each a process of its own, on this machine.
class Cluster {
 public:
  using Words = std::vector<std::string>;

  /// `more`: further words for the program.
  explicit Cluster(int samples, int steps, std::string program = CLUSTER_PROGRAM, Words more = {})
      : samples_(samples),
        steps_(steps),
        program_(std::move(program)),
        more_(std::move(more)),
        port_(free_port()),
        mark_(storage()) {
    std::filesystem::create_directory(storage());
  }

  [[nodiscard]] std::unique_ptr<ProgramRun> start_driver(const Words& options = {},
                                                         Words prefix = {}) {
    Words words{"--tune-listen=" + address()};
    words.insert(words.end(), options.begin(), options.end());
    return start_program(words, std::move(prefix));
  }
  /// A driver that runs no trials itself.
  [[nodiscard]] std::unique_ptr<ProgramRun> start_lone_driver(Words options = {}) {
    options.emplace_back("--tune-no-local");
    return start_driver(options);
  }
  [[nodiscard]] std::unique_ptr<ProgramRun> start_node(const Words& options = {}, int cpus = 1,
                                                       Words prefix = {}) {
    Words words{"--tune-join=" + address(), "--tune-cpus=" + std::to_string(cpus)};
    words.insert(words.end(), options.begin(), options.end());
    return start_program(words, std::move(prefix));
  }
  /// `prefix`: a command that becomes the program, which is its last arguments.
  [[nodiscard]] std::unique_ptr<ProgramRun> start_program(const Words& options, Words prefix = {}) {
    Words words = std::move(prefix);
    for (const std::string& word :
         {program_, storage().string(), std::to_string(samples_), std::to_string(steps_)}) {
      words.push_back(word);
    }
    words.insert(words.end(), more_.begin(), more_.end());
    words.insert(words.end(), options.begin(), options.end());
    return std::make_unique<ProgramRun>(words,
                                        folder_.path() / ("stderr" + std::to_string(programs_++)));
  }
  /// `limit` as the program's.
  void let_trials_reach(std::int64_t limit) const {
    std::ofstream(storage() / "limit.new") << limit;
    std::filesystem::rename(storage() / "limit.new", storage() / "limit");
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Where the driver listens.
  [[nodiscard]] std::string address() const { return host_ + ":" + std::to_string(port_); }
  void set_host(std::string host) { host_ = std::move(host); }
  [[nodiscard]] std::filesystem::path storage() const { return folder_.path() / "storage"; }
  [[nodiscard]] std::filesystem::path experiment() const { return storage() / "run"; }
  [[nodiscard]] std::string log() const { return read_text(experiment() / "driver.log"); }
  /// Waits for a text in a file.
  static bool wait_for(const std::filesystem::path& file, const std::string& text) {
    const bool found = wait_until([&] { return read_text(file).find(text) != std::string::npos; });
    if (!found) WARN(file.string() + ": " + read_text(file));
    return found;
  }
  [[nodiscard]] bool wait_for_log(const std::string& text) const {
    return wait_for(experiment() / "driver.log", text);
  }
  [[nodiscard]] bool wait_for_join(const ProgramRun& node) const {
    return wait_for_log("process " + std::to_string(node.pid()) + ") has joined");
  }
  /// The rows of a trial's result.json so far.
  [[nodiscard]] std::vector<Json> rows(int trial) const {
    std::vector<Json> rows;
    std::error_code error;
    char prefix[8];
    std::snprintf(prefix, sizeof prefix, "%05d", trial);
    for (const auto& entry : std::filesystem::directory_iterator(experiment(), error)) {
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      for (const std::string& line : read_lines(entry.path() / "result.json")) {
        rows.push_back(Json::parse(line));
      }
    }
    return rows;
  }
  /// Waits until a trial has so many rows.
  [[nodiscard]] bool wait_for_rows(int trial, std::size_t count) const {
    return wait_until([&] {
      try {
        return rows(trial).size() >= count;
      } catch (const Json::exception&) {
        return false;  // the last line was being written
      }
    });
  }
  void check_sound() const {
    const FsckReport report = fsck(experiment());
    std::ostringstream text;
    report.print(text);
    INFO(text.str());
    CHECK(report.is_sound());
  }
  /// All that descends from this cluster, without what the test started itself.
  [[nodiscard]] std::vector<pid_t> processes() const { return descendants_of_search(storage()); }

 private:
  TemporaryFolder folder_;
  int samples_;
  int steps_;
  std::string program_;
  Words more_;
  std::string host_ = "127.0.0.1";
  std::uint16_t port_;
  int programs_ = 0;
  SearchMark mark_;
};

/// The nodes that a trial's results came from, by their process.
inline std::set<std::int64_t> nodes_of(const std::vector<Json>& rows) {
  std::set<std::int64_t> nodes;
  for (const Json& row : rows) nodes.insert(row.at("pid").get<std::int64_t>());
  return nodes;
}

inline std::vector<std::int64_t> iterations(const std::vector<Json>& rows) {
  std::vector<std::int64_t> iterations;
  for (const Json& row : rows) iterations.push_back(row.at("training_iteration"));
  return iterations;
}

}  // namespace tune::test
