#include "runtime/run_experiment.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <tune/tune_run.hpp>

#include "actor_config.hpp"
#include "cluster_tls.hpp"
#include "live_output.hpp"
#include "runtime/agent_actor.hpp"
#include "runtime/callback_actor.hpp"
#include "runtime/cluster_link.hpp"
#include "runtime/driver_actor.hpp"
#include "runtime/experiment_presence.hpp"
#include "runtime/file_deliveries.hpp"
#include "runtime/journal_actor.hpp"
#include "runtime/left_overs.hpp"
#include "runtime/messages.hpp"
#include "runtime/node_gate.hpp"
#include "runtime/resume_command.hpp"
#include "runtime/runner_pool.hpp"
#include "runtime/searcher_actor.hpp"
#include "signal_watch.hpp"
#include "store/directory_token.hpp"

namespace tune::runtime {
namespace {

/// Where trials run: one of the two, with the agent.
struct Stage {
  std::shared_ptr<RunnerPool> threads;
  std::shared_ptr<ProcessStage> processes;

  /// After the agent's end. What went wrong on the way there.
  [[nodiscard]] std::vector<std::string> shut_down() const {
    return threads ? threads->shut_down() : processes->take_warnings();
  }
};

Stage make_stage(const ExperimentSetup& setup) {
  if (setup.isolation == Isolation::processes) {
    OutputPump::Options output;
    if (setup.show_output) {
      const auto live = std::make_shared<LiveOutput>();  // the pump's
      output.show = [live](std::string_view line) { live->show(line); };
    }
    return {nullptr, std::make_shared<ProcessStage>(std::move(output), setup.lock->descriptor())};
  }
  return {std::make_shared<RunnerPool>(setup.trainable, setup.times.stop_grace), nullptr};
}

/// The actors of one run, and the order in which they come and go.
class Run {
 public:
  explicit Run(caf::actor_system& system) : system_(system), self_(system) {}
  /// Ends at once what end() has not.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// @throws std::system_error if there are no threads for them.
  void begin(ExperimentSetup& setup, const Stage& stage);
  /// Waits until the experiment is over. @throws std::logic_error if an actor met a fault of ours.
  ExperimentEnd wait();
  /// Ends all actors: first who runs trials, last who records. The signal that is to end the
  /// program too; 0: none.
  [[nodiscard]] int end(ExperimentEnd end);

 private:
  /// Lets nodes of other machines join. @throws std::runtime_error if the port is taken.
  void open_gate(const ExperimentSetup& setup, const DriverActor& driver);
  /// For nodes that do not see this directory.
  void start_files(const std::filesystem::path& experiment);
  void end_gate();
  template <class Handle>
  Handle watch(Handle actor);
  void await(const caf::actor_addr& actor);
  void on_down(const caf::down_msg& down);

  caf::actor_system& system_;
  caf::scoped_actor self_;
  Stage stage_;
  std::vector<caf::actor_addr> alive_;
  SearcherActor searcher_;
  JournalActor journal_;
  CallbackActor callbacks_;
  AgentActor agent_;
  NodeGateActor gate_;  // null: nobody may join
  FileActors files_;    // with the gate
  std::optional<store::DirectoryToken> token_;
  OpenPort port_;
  std::optional<SignalWatch> signals_;
};

void Run::begin(ExperimentSetup& setup, const Stage& stage) {
  stage_ = stage;
  callbacks_ = watch(system_.spawn<caf::detached>(
      serve_callbacks, setup.hub, CallbackSetup{setup.info, setup.past, setup.reopened}));
  // on_experiment_start comes before anything starts: an answer to nothing says that it is through.
  self_->request(callbacks_, caf::infinite, RecordTurn{})
      .receive([](const RecordTurnDone&) {},
               [&](const caf::error& error) {
                 throw std::logic_error("tune met a fault of its own: " + system_.render(error));
               });
  journal_ = watch(system_.spawn<caf::detached>(keep_journal, std::exchange(setup.journal, nullptr),
                                                callbacks_));
  setup.past.reset();  // the file is then nobody's but the journal's
  searcher_ = watch(system_.spawn<caf::detached>(serve_searcher, setup.suggestions));
  DriverSetup driver_setup;
  driver_setup.engine = std::move(setup.engine);
  driver_setup.searcher = searcher_;
  driver_setup.journal = journal_;
  driver_setup.begin = std::move(setup.begin);
  driver_setup.notes = std::move(setup.notes);
  driver_setup.owner = caf::actor_cast<caf::actor>(self_);
  driver_setup.record_interval = Time(0.002);
  if (setup.hub->reports_progress()) driver_setup.status_interval = Time(0.25);
  const DriverActor driver = watch(system_.spawn(drive, std::move(driver_setup)));
  signals_.emplace([driver, is_shown = setup.verbosity > 0](int signal) {
    const std::string name = signal == SIGINT ? "SIGINT (Ctrl-C)" : "SIGTERM";
    if (is_shown) {
      LiveOutput().show("tune: " + name +
                        ": running trials are saved and end; once more ends the " +
                        "program at once\n");
    }
    caf::anon_send(driver, engine::StopRequested{name, true});
  });
  AgentSetup agent_setup;
  agent_setup.driver = driver;
  agent_setup.threads = stage_.threads;
  agent_setup.processes = stage_.processes;
  agent_setup.worker_options = {setup.trainable.key, setup.plugins, setup.times,
                                setup.reuse_workers, setup.machine.gpus};
  agent_setup.capacity = setup.machine.capacity;
  agent_setup.labels = setup.labels;
  const bool offers_something =
      setup.machine.capacity.amount("cpu") > 0 || setup.machine.capacity.amount("gpu") > 0;
  agent_setup.takes_part = setup.cluster.listen.empty() || offers_something;
  agent_setup.experiment_name = setup.info.name;
  agent_setup.experiment_path = setup.info.path;
  agent_setup.checkpoint = setup.checkpoint;
  agent_setup.resume_from = setup.resume_from;
  agent_setup.stop_grace = setup.times.stop_grace;
  agent_ = watch(system_.spawn(run_agent, std::move(agent_setup)));
  if (!setup.cluster.listen.empty()) open_gate(setup, driver);
}

void Run::start_files(const std::filesystem::path& experiment) {
  store::remove_old_tokens(experiment);
  auto token = store::DirectoryToken::write(experiment);
  if (!token) throw std::runtime_error(token.error().message);
  token_.emplace(std::move(*token));
  files_.server = watch(system_.spawn(serve_files, experiment));
  files_.fetcher =
      watch(system_.spawn<caf::detached>(fetch_files, FetcherOptions{.experiment = experiment}));
  files_.unpacker = watch(system_.spawn<caf::detached>(unpack_trials, experiment));
}

void Run::end_gate() {
  if (!gate_) return;
  close_port(system_, gate_, port_);
  self_->send(gate_, EndNode{});
  await(gate_.address());
  for (const caf::actor_addr& actor :
       {files_.fetcher.address(), files_.unpacker.address(), files_.server.address()}) {
    caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(actor),
                        caf::exit_reason::user_shutdown);
    await(actor);
  }
}

void Run::open_gate(const ExperimentSetup& setup, const DriverActor& driver) {
  start_files(setup.info.path);
  NodeOffer offer;
  offer.experiment_name = setup.info.name;
  offer.experiment_path = setup.info.path.string();
  offer.experiment_id = setup.info.experiment_id;
  offer.trainable = setup.trainable.key;
  offer.plugins = setup.plugins;
  offer.times = setup.times;
  offer.reuse_workers = setup.reuse_workers;
  offer.checkpoint = setup.checkpoint;
  offer.resume_from = setup.resume_from.string();
  offer.node_timeout = setup.node_timeout;
  offer.driver_grace = setup.driver_grace;
  offer.token_path = token_->path().string();
  offer.token_content = token_->content();
  gate_ = watch(system_.spawn(keep_gate, NodeGateSetup{driver, std::move(offer), files_}));
  HostPort address = parse_host_port(setup.cluster.listen);
  PortOptions options{address, cluster_tls(setup.cluster), {}, {}};
  const bool is_encrypted = options.tls.has_value();
  options.on_stranger = [driver](const std::string& what) {
    caf::anon_send(driver, NodeNote{"a stranger at the port for nodes " + what +
                                    ": dropped; further ones are not told of"});
  };
  options.on_refused = [driver](const std::string& what) {
    caf::anon_send(driver, NodeNote{"refused at the port for nodes: " + what});
  };
  auto port = open_port(system_, gate_, std::move(options));
  if (!port) throw std::runtime_error(port.error().message);
  port_ = std::move(*port);
  address.port = port_.door->port();
  self_->send(driver,
              NodeNote{"nodes may join at " + address.text() + (is_encrypted ? ", with TLS" : "")});
  if (!is_encrypted && !is_loopback(address.host)) {
    self_->send(driver,
                NodeWarning{"whoever reaches " + address.text() +
                            " can run code on this machine, since cluster.insecure is set"});
  }
  if (setup.verbosity > 0) {
    LiveOutput().show("tune: " + setup.info.name + ": nodes may join: --tune-join " +
                      address.text() + "\n");
  }
}

Run::~Run() {
  for (const caf::actor_addr& actor : alive_) {
    caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(actor), caf::exit_reason::kill);
  }
}

template <class Handle>
Handle Run::watch(Handle actor) {
  self_->monitor(actor);
  alive_.push_back(actor.address());
  return actor;
}

ExperimentEnd Run::wait() {
  std::optional<ExperimentEnd> end;
  while (!end) {
    self_->receive([&](ExperimentOver& over) { end = std::move(over.end); },
                   [&](const caf::down_msg& down) { on_down(down); });
  }
  return std::move(*end);
}

int Run::end(ExperimentEnd end) {
  end_gate();
  self_->send(agent_, EndNode{});
  await(agent_.address());
  caf::anon_send_exit(searcher_, caf::exit_reason::user_shutdown);
  await(searcher_.address());
  self_->send(journal_, EndJournal{end});
  await(journal_.address());  // before the callbacks hear the end: they may open the results
  self_->send(callbacks_, EndRecords{std::move(end), stage_.shut_down()});
  await(callbacks_.address());
  // Where several experiments run, the last one ends the program.
  return signals_->end();
}

void Run::await(const caf::actor_addr& actor) {
  while (std::find(alive_.begin(), alive_.end(), actor) != alive_.end()) {
    self_->receive([&](const caf::down_msg& down) { on_down(down); });
  }
}

void Run::on_down(const caf::down_msg& down) {
  std::erase(alive_, down.source);
  if (down.reason && down.reason != caf::exit_reason::user_shutdown) {
    throw std::logic_error("tune met a fault of its own: " + system_.render(down.reason));
  }
}

struct RunOutcome {
  ExperimentEnd end;
  int signal = 0;  // that is to end the program; 0: none
};

/// Runs all actors, from the first to the last. No process is left then.
RunOutcome run_actors(ExperimentSetup& setup) {
  // It outlives all actors: its end waits for processes that end once an actor has let go of them.
  const Stage stage = make_stage(setup);
  const bool has_cluster = !setup.cluster.listen.empty();
  ActorConfig config(stage.processes != nullptr, /*threads=*/has_cluster ? 2 : 1);
  if (has_cluster) configure_cluster(config);
  caf::actor_system system(config);
  Run run(system);
  try {
    run.begin(setup, stage);
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "cannot start the threads of the experiment");
  }
  RunOutcome outcome;
  outcome.end = run.wait();
  outcome.signal = run.end(outcome.end);
  return outcome;
}

/// Removes what nodes that were lost had stored, and nobody heard of.
void remove_left_overs(const ExperimentSetup& setup) {
  if (setup.cluster.listen.empty()) return;
  try {
    const store::JournalReader reader(setup.info.path);
    (void)clean_directories(reader, setup.info.path);
  } catch (const std::runtime_error&) {
    // It takes up room, and does no harm: the next session removes it.
  }
}

/// With what can still be read.
[[noreturn]] void throw_broken_off(const ExperimentSetup& setup, const ExperimentEnd& end) {
  ResultGrid results;
  try {
    results = ResultGrid::open(setup.info.path);
  } catch (const std::runtime_error&) {
    // The error before says more.
  }
  throw ExperimentError(end.error, std::move(results));
}

[[noreturn]] void exit_by_signal(int signal, const ExperimentSetup& setup,
                                 const ResultGrid& results) {
  if (setup.verbosity > 0) {
    std::cerr << "tune: interrupted, " << results.experiment_end().unfinished_trials
              << " trials are unfinished: their last checkpoints and all results are below "
              << setup.info.path.string() << "\ntune: to go on: "
              << resume_command(words_of_this_program(), setup.info, setup.resume) << '\n';
  }
  std::exit(128 + signal);
}

}  // namespace

ResultGrid run_experiment(ExperimentSetup setup) {
  const ExperimentPresence presence;
  if (!setup.greeting.empty() && setup.verbosity > 0) {
    std::cerr << "tune: " << setup.info.name << ": " << setup.greeting << '\n';
  }
  if (setup.is_complete) return ResultGrid::open(setup.info.path);
  auto [end, signal] = run_actors(setup);
  if (end.error.empty()) remove_left_overs(setup);
  setup.lock.reset();
  if (end.error.empty()) end.error = setup.hub->storage_error().value_or("");
  if (!end.error.empty()) throw_broken_off(setup, end);
  ResultGrid results = ResultGrid::open(setup.info.path);
  if (signal != 0 && setup.exit_on_signal) exit_by_signal(signal, setup, results);
  return results;
}

}  // namespace tune::runtime
