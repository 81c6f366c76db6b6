#include "runtime/serve_node.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <tune/registry.hpp>

#include "actor_config.hpp"
#include "builtins.hpp"
#include "experiment_record.hpp"
#include "live_output.hpp"
#include "runtime/cluster_link.hpp"
#include "runtime/host.hpp"
#include "runtime/node_link.hpp"
#include "runtime/node_wire.hpp"
#include "runtime/process_stage.hpp"
#include "signal_watch.hpp"

namespace tune::runtime {
namespace {

using End = NodeSessionOver::End;

class NodeConfig final : public ActorConfig {
 public:
  NodeConfig() : ActorConfig(/*uses_sockets=*/true, /*threads=*/2) { configure_cluster(*this); }
};

/// The process of a node, from its start to its end.
class NodeProcess {
 public:
  explicit NodeProcess(const NodeOptions& options);
  /// Its exit code.
  [[nodiscard]] int serve();

 private:
  static constexpr std::chrono::milliseconds first_pause{100};
  static constexpr std::chrono::milliseconds longest_pause{2000};

  [[nodiscard]] NodeIntroduction introduce() const;
  void look_for_gpus_again();
  /// Connects, and serves until it is over; without a driver at once.
  [[nodiscard]] NodeSessionOver serve_driver();
  [[nodiscard]] NodeSessionOver serve_gate(caf::actor_system& system, DriverConnection connection,
                                           const std::shared_ptr<ProcessStage>& stage);
  void tidy(const NodeSessionOver& over);
  void on_signal(int signal);
  /// To another driver that takes over, from the system that what runs here already has.
  [[nodiscard]] std::optional<DriverConnection> reconnect(caf::actor_system& system) const;
  [[nodiscard]] std::chrono::milliseconds next_pause();
  /// False if a signal came.
  bool pause();
  void say(const std::string& text) const;
  void wait_for_driver(const std::string& reason);

  NodeOptions options_;
  LocalMachine machine_;
  NodeIntroduction introduction_;
  const std::shared_ptr<ScratchDirectory> scratch_;  // with the session that runs
  std::vector<KeptDirectory> kept_;                  // there, from the one before
  std::string waiting_reason_;                       // that was told last
  std::chrono::milliseconds pause_ = first_pause;
  bool has_served_ = false;
  std::mutex mutex_;  // guards all below
  std::condition_variable has_signal_;
  int signal_ = 0;
  NodeLinkActor link_;  // of the session that runs
};

NodeProcess::NodeProcess(const NodeOptions& options)
    : options_(options),
      machine_(local_machine(options.local)),
      introduction_(introduce()),
      scratch_(std::make_shared<ScratchDirectory>(
          options.scratch.empty() ? std::filesystem::temp_directory_path() : options.scratch)) {}

NodeIntroduction NodeProcess::introduce() const {
  NodeIntroduction node;
  const Host host = local_host();
  node.build = this_build();
  node.program = this_program();
  node.node = draw_experiment_id();
  node.name = host.name;
  node.ip = host.ip;
  node.pid = host.pid;
  node.capacity = machine_.capacity;
  node.labels = options_.local.labels;
  node.trainables = trainable_names();
  node.experiment = options_.experiment;
  return node;
}

// While it waited somebody may have divided a GPU anew: as many, by other names.
void NodeProcess::look_for_gpus_again() {
  if (machine_.gpus.empty()) return;
  std::vector<std::string> now = found_gpus();
  if (now.size() == machine_.gpus.size()) machine_.gpus = std::move(now);
}

void NodeProcess::on_signal(int signal) {
  const std::lock_guard lock(mutex_);
  signal_ = signal;
  has_signal_.notify_all();
  const std::string reason = signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM";
  if (link_) caf::anon_send(link_, NodeLeaves{"it got " + reason});
}

std::chrono::milliseconds NodeProcess::next_pause() {
  return std::exchange(pause_, std::min(pause_ * 2, longest_pause));
}

bool NodeProcess::pause() {
  std::unique_lock lock(mutex_);
  has_signal_.wait_for(lock, next_pause(), [this] { return signal_ != 0; });
  return signal_ == 0;
}

std::optional<DriverConnection> NodeProcess::reconnect(caf::actor_system& system) const {
  auto socket = find_driver(options_.driver);
  if (!socket) return std::nullopt;
  auto connection = connect_to_driver(system, std::move(*socket), options_.tls);
  return connection ? std::optional(std::move(*connection)) : std::nullopt;
}

void NodeProcess::say(const std::string& text) const {
  if (options_.is_shown) LiveOutput().show("tune: node: " + text + "\n");
}

void NodeProcess::wait_for_driver(const std::string& reason) {
  if (reason == waiting_reason_) return;
  waiting_reason_ = reason;
  say("waits for a driver at " + options_.driver.text() + ": " + reason);
}

NodeSessionOver NodeProcess::serve_gate(caf::actor_system& system, DriverConnection connection,
                                        const std::shared_ptr<ProcessStage>& stage) {
  caf::scoped_actor self(system);
  NodeLinkSetup setup{connection.gate, caf::actor_cast<caf::actor>(self),
                      introduction_,   machine_.gpus,
                      stage,           options_.is_shown,
                      scratch_,        kept_};
  {
    const std::lock_guard lock(mutex_);
    if (signal_ != 0) return {End::left, {}};
    link_ = self->spawn<caf::monitored>(link_node, std::move(setup));
  }
  std::optional<NodeSessionOver> over;
  bool is_adrift = false;
  const auto on_over = [&](NodeSessionOver& message) { over = std::move(message); };
  const auto on_down = [&](const caf::down_msg& down) {
    over = NodeSessionOver{End::fault, system.render(down.reason)};
  };
  const auto on_adrift = [&](const NodeAdrift&) {
    is_adrift = true;
    connection.end();
  };
  while (!over) {
    if (!is_adrift) {
      self->receive(on_over, on_down, on_adrift);
    } else if (auto found = reconnect(system)) {
      is_adrift = false;
      pause_ = first_pause;
      connection = std::move(*found);
      caf::anon_send(link_, DriverFound{connection.gate});
    } else {
      self->receive(
          on_over, on_down, on_adrift, caf::after(next_pause()) >> [] {});
    }
  }
  const std::lock_guard lock(mutex_);
  link_ = nullptr;
  return std::move(*over);
}

NodeSessionOver NodeProcess::serve_driver() {
  auto socket = find_driver(options_.driver);
  if (!socket) {
    wait_for_driver(socket.error().message);
    return {End::lost, {}};
  }
  // All of it is new for each connection: what is left of an earlier one, at either end, cannot be
  // taken for part of this one. The stage outlives the actors: its end waits for all processes.
  const auto stage = std::make_shared<ProcessStage>();
  NodeConfig config;
  caf::actor_system system(config);
  auto connection = connect_to_driver(system, std::move(*socket), options_.tls);
  if (!connection && connection.error().code == ErrorCode::refused) {
    return {End::refused,
            "the driver at " + options_.driver.text() + ": " + connection.error().message};
  }
  if (!connection) {
    wait_for_driver(connection.error().message);
    return {End::lost, {}};
  }
  waiting_reason_.clear();
  pause_ = first_pause;
  if (std::exchange(has_served_, true)) look_for_gpus_again();
  return serve_gate(system, std::move(*connection), stage);
}

// A driver that comes back finds what it had brought here.
void NodeProcess::tidy(const NodeSessionOver& over) {
  if (over.end == End::lost) {
    kept_ = scratch_->tidy();
  } else {
    scratch_->clear();
    kept_.clear();
  }
}

int NodeProcess::serve() {
  const SignalWatch watch([this](int signal) { on_signal(signal); });
  while (true) {
    const NodeSessionOver over = serve_driver();
    tidy(over);
    if (!over.reason.empty()) {
      say((over.end == End::refused ? "refused: " : "") + over.reason);
    }
    if (over.end == End::refused || over.end == End::fault) return EXIT_FAILURE;
    if (over.end == End::over) {
      say("the experiment is over");
      if (!options_.stays) return EXIT_SUCCESS;
    }
    if (over.end == End::left || !pause()) return 128 + signal_;
  }
}

}  // namespace

void serve_node(const NodeOptions& options) {
  register_builtins();
  const int code = NodeProcess(options).serve();
  std::exit(code);
}

}  // namespace tune::runtime
