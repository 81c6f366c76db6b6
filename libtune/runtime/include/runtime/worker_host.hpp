#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/stateful_actor.hpp>

#include "runtime/frame.hpp"
#include "runtime/messages.hpp"
#include "runtime/process_messages.hpp"
#include "runtime/process_stage.hpp"
#include "runtime/step_watch.hpp"
#include "runtime/wire.hpp"
#include "runtime/worker_deadlines.hpp"
#include "runtime/worker_times.hpp"

namespace tune::runtime {

struct HostSetup {
  AgentActor agent;
  caf::actor guardian;
  std::shared_ptr<ProcessStage> stage;  // with the agent and the guardian's actor
  std::uint64_t worker = 0;             // its number at the agent
  std::string trainable;                // its key
  std::vector<std::string> plugins;     // files to load before it is looked for
  SpawnRequest request;                 // without an id: each process gets a new one
  WorkerTimes times;
  bool reuse_workers = true;
};

/// Hosts one worker process from its start, which MayStart allows, to its end, and each trial that
/// runs there: hands the trial's reports to the agent and orders to the worker, and makes the
/// trial's end known however the process ended. Tells the agent WorkerIdle when another trial may
/// come, and WorkerGone when the process is no more; lives until EndNode comes then.
///
/// The end of a trial frees what it was granted. So it is told behind one of the two: never while
/// the process may still use that.
class WorkerHost {
 public:
  explicit WorkerHost(HostActor::pointer self) : self_(self) {}
  ~WorkerHost();
  WorkerHost(const WorkerHost&) = delete;
  WorkerHost& operator=(const WorkerHost&) = delete;

  HostActor::behavior_type make_behavior(HostSetup setup);

 private:
  using Clock = WorkerDeadlines::Clock;
  struct Process {
    std::uint64_t id = 0;  // 0: none was started yet
    pid_t pid = 0;
    caf::actor socket;
    FrameReader reader;
    bool has_started = false;  // it said hello
    bool is_socket_closed = false;
    bool is_retired = false;
    bool is_lost = false;  // it may still be there
    std::string exit;      // how it ended; empty while it lives
    MemoryEnd memory = MemoryEnd::kept;
    std::string fault;  // what it is killed for
  };
  struct HostedTrial {
    engine::Launch launch;
    std::optional<TeamPlace> place;  // set: one of its workers
    StepWatch watch;
    std::optional<engine::Ended> ended = {};  // known, and waiting for the trial's output
    bool has_own_end = false;                 // the worker told of it itself
    bool is_reusable = false;
    bool has_output = false;  // all of it; then, if not reusable, it waits for the process's end
  };

  void start_process();
  void request_process();
  void prepare_trial(StartInWorker& start);
  void open_output();
  void start_trial();
  void follow(TrialOrders& orders);
  void follow(TrialOrder& order);
  [[nodiscard]] bool is_of_trial(TrialId trial, std::uint32_t incarnation) const;
  void pass_on(TeamMail& mail);
  void on_bytes(const std::string& bytes);
  void on(const WorkerHello& hello);
  void on(WorkerNews& news);
  void on(WorkerBye& bye);
  void on(TeamLetter& letter);
  void on_exit(std::string how);
  void await_other_end();
  void warn_of_late_fault();
  void settle();
  void settle_trial();
  void end();

  void send(const WorkerCommand& command);
  /// Kills the process for a fault; the first one's text counts.
  void break_off(std::string fault);
  void kill(int signal);
  void kill_for_good();
  void begin_ending(const char* cause = " of being told to");
  void retire();
  void end_trial(engine::Ended ended);
  void on_output_end(const std::string& stderr_end);
  /// Behind `first`, and forgets the trial.
  template <class Message>
  void tell_end(Message first);
  [[nodiscard]] std::optional<std::size_t> rank() const;
  [[nodiscard]] bool is_reusable() const;
  [[nodiscard]] std::string describe_death() const;
  [[nodiscard]] bool is_alive() const { return process_.id != 0 && process_.exit.empty(); }

  void on_timer();
  void on(WorkerDeadlines::Due due);
  void set_deadline();
  void set_timer();

  HostActor::pointer self_;
  HostSetup setup_;
  Process process_;
  std::optional<HostedTrial> trial_;
  std::optional<StartInWorker> waiting_start_;  // until its output has a place
  TrialOrders waiting_orders_;
  std::vector<TeamMail> waiting_mail_;
  std::uint64_t trials_ = 0;
  bool may_start_ = false;
  bool has_told_gone_ = false;
  WorkerDeadlines deadlines_;
};

/// The body of a worker's host.
HostActor::behavior_type host_worker(HostActor::stateful_pointer<WorkerHost> self, HostSetup setup);

}  // namespace tune::runtime
