// How many results a second come through the driver, and from where?
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "cases.hpp"
#include "limits.hpp"
#include "results.hpp"
#include "started_program.hpp"
#include "subjects.hpp"

namespace tune::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int node_count = 2;

/// From the first start of a trial on: until then nodes join.
class SinceFirstStart final : public Callback {
 public:
  void on_trial_start(const TrialInfo&) override {
    if (begin_ == Clock::time_point{}) begin_ = Clock::now();
  }
  [[nodiscard]] double seconds() const {
    if (begin_ == Clock::time_point{}) throw std::runtime_error("no trial has started");
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  Clock::time_point begin_;
};

std::string free_address() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const bool has_port =
      ::bind(listener, any, size) == 0 && ::getsockname(listener, any, &size) == 0;
  ::close(listener);
  if (!has_port) throw std::runtime_error("there is no free port");
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

double seconds_on_nodes(Experiment& experiment) {
  experiment.isolation = Isolation::processes;
  experiment.local.cpus = 0;
  experiment.cluster.listen = free_address();
  const auto since_start = std::make_shared<SinceFirstStart>();
  experiment.callbacks.push_back(since_start);
  std::vector<std::unique_ptr<StartedProgram>> nodes;
  for (int i = 0; i < node_count; ++i) {
    nodes.push_back(std::make_unique<StartedProgram>(
        std::vector<std::string>{"--tune-join=" + experiment.cluster.listen, "--tune-cpus=1"}));
  }
  (void)tune_run<Counting>(experiment);
  const double seconds = since_start->seconds();
  for (const auto& node : nodes) node->wait();
  return seconds;
}

double limit_of(const Options& options, Stage stage) {
  if (stage == Stage::processes) {
    return raw_frames_per_second(Wire::socket_pair, options.scaled(1'000'000));
  }
  if (stage == Stage::nodes) {
    return raw_frames_per_second(Wire::loopback_tcp, options.scaled(1'000'000));
  }
  return plain_rate(options, options.scaled(100'000), 400);
}

struct ResultCase {
  Stage stage;
  bool exports;
  std::int64_t trials;
};

std::vector<Measurement> measure(const Options& options, const ResultCase& subject) {
  const std::int64_t iterations =
      std::max<std::int64_t>(1, options.scaled(200'000) / subject.trials);
  const char* limit_is = subject.stage == Stage::threads     ? "plain SQLite in groups of 400"
                         : subject.stage == Stage::processes ? "frames through a pair of sockets"
                                                             : "frames over TCP on loopback";
  return {repeated(options,
                   {.name = "driver/results",
                    .parameters = {{"stage", to_string(subject.stage)},
                                   {"exporters", subject.exports ? "all" : "none"},
                                   {"trials", subject.trials},
                                   {"iterations", iterations}},
                    .unit = "results/s",
                    .limit_is = limit_is},
                   [&] {
                     const ScratchDirectory directory(options);
                     Experiment experiment = plain_experiment(directory.path());
                     experiment.num_samples = subject.trials;
                     experiment.stop = {{"training_iteration", static_cast<double>(iterations)}};
                     if (subject.exports) experiment.exporters = all_exporters();
                     const auto count = static_cast<double>(subject.trials * iterations);
                     const double rate = count / seconds_on(subject.stage, experiment);
                     return Sample{rate, limit_of(options, subject.stage)};
                   })};
}

}  // namespace

std::string to_string(Stage stage) {
  return stage == Stage::threads ? "threads" : stage == Stage::processes ? "processes" : "nodes";
}

double seconds_on(Stage stage, Experiment& experiment) {
  if (stage == Stage::nodes) return seconds_on_nodes(experiment);
  experiment.isolation = stage == Stage::threads ? Isolation::threads : Isolation::processes;
  return seconds_of([&] { (void)tune_run<Counting>(experiment); });
}

std::vector<BenchCase> result_cases() {
  std::vector<BenchCase> cases;
  for (const Stage stage : {Stage::threads, Stage::processes, Stage::nodes}) {
    for (const bool exports : {false, true}) {
      cases.push_back({"driver/results/" + to_string(stage) + (exports ? "/exporters" : ""),
                       "results through driver and journal" +
                           std::string(exports ? ", and into all files" : ""),
                       [=](const Options& o) {
                         return measure(o, {stage, exports, /*trials=*/100});
                       }});
    }
  }
  return cases;
}

}  // namespace tune::bench
