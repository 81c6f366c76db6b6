#include "runtime/worker_host.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <filesystem>
#include <utility>
#include <variant>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actor_faults.hpp"
#include "core/number_text.hpp"
#include "runtime/socket_broker.hpp"

namespace tune::runtime {
namespace {

std::string text(std::chrono::duration<double> seconds) {
  return core::number_text(seconds.count()) + " s";
}

}  // namespace

WorkerHost::~WorkerHost() {
  if (process_.socket) caf::anon_send(process_.socket, SocketEnd{});
}

HostActor::behavior_type WorkerHost::make_behavior(HostSetup setup) {
  setup_ = std::move(setup);
  deadlines_ = WorkerDeadlines(setup_.times);
  return {
      [this](StartInWorker& start) { prepare_trial(start); },
      [this](const MayStart&) {
        may_start_ = true;
        settle();
      },
      [this](TrialOrders& orders) { follow(orders); },
      [this](TeamMail& mail) { pass_on(mail); },
      [this](const AbortWorker& order) {
        const bool is_of_it = is_of_trial(order.trial, order.incarnation) && trial_ &&
                              rank() == std::optional(order.rank);
        if (is_of_it && !trial_->ended) break_off("was not needed any more");
      },
      [this](const SocketBytes& message) {
        if (message.process == process_.id) on_bytes(message.bytes);
      },
      [this](const SocketClosed& message) {
        if (message.process != process_.id) return;
        process_.is_socket_closed = true;
        await_other_end();
        settle();
      },
      [this](const WorkerSpawned& report) { process_.pid = report.pid; },
      [this](const SpawnFailed& report) {
        process_.fault = "cannot start a worker process: " + report.error;
        on_exit("was never there");
      },
      [this](const WorkerExited& report) {
        if (report.id != process_.id || !is_alive()) return;  // it was given up
        process_.memory = report.memory;
        on_exit(describe_exit(report.status));
      },
      [this](const GuardianLost&) {
        if (process_.pid == 0) process_.fault = lost_guardian_text;
        on_exit("died with the guardian process that started it");
      },
      [this](const OutputReady& output) {
        if (waiting_start_ && output.process == process_.id && is_alive()) start_trial();
      },
      [this](const OutputEnd& output) { on_output_end(output.stderr_end); },
      [this](const HostTimer&) { on_timer(); },
      [this](const EndNode&) { end(); },
  };
}

void WorkerHost::start_process() {
  if (process_.socket) caf::anon_send(process_.socket, SocketEnd{});
  process_ = {};
  deadlines_.begin_process();
  process_.id = setup_.stage->next_process_id();
  try {
    request_process();
  } catch (const std::system_error& error) {  // there are no descriptors left, say
    process_.fault = std::string("cannot start a worker process: ") + error.what();
    process_.is_socket_closed = true;
    on_exit("was never there");
  }
}

void WorkerHost::request_process() {
  DescriptorPair socket = make_socket_pair();
  DescriptorPair out = make_pipe();
  DescriptorPair err = make_pipe();
  setup_.stage->pump().add(process_.id, std::move(out.first), std::move(err.first));
  process_.socket = self_->system().middleman().spawn_broker(serve_socket, socket.first.release(),
                                                             HostActor(self_), process_.id);
  const auto descriptors = std::make_shared<std::array<Descriptor, 3>>();
  (*descriptors)[0] = std::move(socket.second);
  (*descriptors)[1] = std::move(out.second);
  (*descriptors)[2] = std::move(err.second);
  SpawnRequest request = setup_.request;
  request.id = process_.id;
  caf::anon_send(setup_.guardian, SpawnWorker{std::move(request), descriptors, HostActor(self_)});
}

// --- a trial

void WorkerHost::prepare_trial(StartInWorker& start) {
  ++trials_;
  waiting_start_ = std::move(start);
  if (is_alive()) return open_output();
  settle();
}

void WorkerHost::open_output() {
  const TrialRun& run = waiting_start_->run;
  const std::string& name = run.launch.trial_name;
  std::string label = name.substr(0, name.find('_'));  // its number
  std::filesystem::path directory = run.experiment_path / name;
  if (run.place) {
    const std::string number = std::to_string(run.place->rank);
    label += " worker " + number;
    directory = directory / "workers" / number;
  }
  setup_.stage->pump().begin(
      process_.id, directory, std::move(label),
      [host = HostActor(self_), id = process_.id] { caf::anon_send(host, OutputReady{id}); });
}

void WorkerHost::start_trial() {
  StartInWorker start = *std::exchange(waiting_start_, std::nullopt);
  const engine::Launch& launch = start.run.launch;
  trial_.emplace(HostedTrial{launch, start.run.place,
                             StepWatch(launch.horizon, TrialLink::Options{}.max_unacknowledged)});
  send(StartTrial{setup_.trainable, std::move(start.run), setup_.plugins});
  set_deadline();
  TrialOrders orders = std::exchange(waiting_orders_, {});
  follow(orders);
  for (TeamMail& mail : std::exchange(waiting_mail_, {})) pass_on(mail);
}

// What comes for the trial that ran here before may come late.
bool WorkerHost::is_of_trial(TrialId trial, std::uint32_t incarnation) const {
  if (!waiting_start_ && !trial_) return false;
  const engine::Launch& launch = waiting_start_ ? waiting_start_->run.launch : trial_->launch;
  return launch.trial == trial && launch.incarnation == incarnation;
}

void WorkerHost::pass_on(TeamMail& mail) {
  if (!is_of_trial(mail.trial, mail.incarnation)) return;
  if (waiting_start_) {
    waiting_mail_.push_back(std::move(mail));
  } else if (!trial_->ended) {
    send(TeamLetter{mail.rank, std::move(mail.body)});
  }
}

std::optional<std::size_t> WorkerHost::rank() const {
  if (!trial_->place) return std::nullopt;
  return trial_->place->rank;
}

void WorkerHost::follow(TrialOrders& orders) {
  for (TrialOrder& order : orders.orders) {
    const bool is_for_it =
        std::visit([&](const auto& o) { return is_of_trial(o.trial, o.incarnation); }, order);
    if (!is_for_it) continue;
    if (waiting_start_) {
      waiting_orders_.orders.push_back(std::move(order));
    } else if (!trial_->ended) {
      follow(order);
    }
  }
  if (trial_) set_deadline();
}

void WorkerHost::follow(TrialOrder& order) {
  if (const auto* proceed = std::get_if<engine::Proceed>(&order)) {
    trial_->watch.proceed(proceed->horizon);
  } else if (const auto* acknowledged = std::get_if<Acknowledgement>(&order)) {
    trial_->watch.acknowledge(acknowledged->count);
  } else if (!std::holds_alternative<engine::Save>(order)) {
    begin_ending();
  }
  send(std::move(order));
}

void WorkerHost::on(WorkerNews& news) {
  if (!trial_ || trial_->ended) return break_off("told of a trial that does not run there");
  for (const engine::TrialMessage& message : news.messages) {
    if (message.trial != trial_->launch.trial ||
        message.incarnation != trial_->launch.incarnation ||
        message.sequence != trial_->watch.next_sequence()) {
      return break_off("sent messages that are not in order");
    }
    trial_->watch.on(message);
  }
  if (news.is_ending) begin_ending(" of saying that it does");
  std::optional<engine::Ended> ended;
  if (!news.messages.empty()) {
    if (auto* end = std::get_if<engine::Ended>(&news.messages.back().report)) {
      ended = std::move(*end);
      news.messages.pop_back();
    }
  }
  if (!news.messages.empty()) {
    self_->send(setup_.agent, TrialNews{std::move(news.messages), rank()});
  }
  if (ended) {
    trial_->has_own_end = true;
    trial_->is_reusable = news.is_reusable;
    end_trial(std::move(*ended));
  } else {
    set_deadline();
  }
}

void WorkerHost::end_trial(engine::Ended ended) {
  trial_->ended = std::move(ended);
  deadlines_.on_trial_end();
  setup_.stage->pump().finish(process_.id, [host = HostActor(self_)](std::string end) {
    caf::anon_send(host, OutputEnd{std::move(end)});
  });
}

bool WorkerHost::is_reusable() const {
  return trial_->is_reusable && setup_.reuse_workers && is_alive() && process_.fault.empty();
}

void WorkerHost::on_output_end(const std::string& stderr_end) {
  engine::Ended& ended = *trial_->ended;
  const bool is_fault =
      ended.kind == engine::EndKind::failed || ended.kind == engine::EndKind::invalid;
  if (is_fault && !stderr_end.empty()) {
    ended.message += "\nthe last lines of its stderr:\n" + stderr_end;
  }
  trial_->has_output = true;
  if (is_reusable()) return tell_end(WorkerIdle{setup_.worker});
  retire();
}

template <class Message>
void WorkerHost::tell_end(Message first) {
  engine::Ended ended = std::move(*trial_->ended);
  if (ended.kind == engine::EndKind::failed) {
    const auto memory = setup_.request.bounds.memory;
    ended.message = explain_memory(std::move(ended.message), memory, process_.memory);
  }
  const TrialId trial = trial_->launch.trial;
  const std::uint32_t incarnation = trial_->launch.incarnation;
  std::uint64_t sequence = trial_->watch.next_sequence();
  if (trial_->has_own_end) --sequence;  // it has taken a number already
  std::vector<engine::TrialMessage> messages;
  if (sequence == 0) messages.push_back({trial, incarnation, sequence++, engine::Started{}});
  messages.push_back({trial, incarnation, sequence, std::move(ended)});
  TrialNews news{std::move(messages), rank()};
  trial_.reset();
  self_->send(setup_.agent, std::move(first));
  self_->send(setup_.agent, std::move(news));
}

// --- the process

void WorkerHost::send(const WorkerCommand& command) {
  if (!is_alive()) return;
  try {
    caf::anon_send(process_.socket, SocketSend{encode_frame(to_json(command))});
  } catch (const std::length_error& error) {
    break_off(std::string("cannot be sent its trial: ") + error.what());
  }
}

void WorkerHost::on_bytes(const std::string& bytes) {
  caf::anon_send(process_.socket, SocketCredit{});
  process_.reader.feed(bytes);
  try {
    while (process_.fault.empty()) {
      const auto frame = process_.reader.next();
      if (!frame) return break_off("sent what is no message: " + frame.error().message);
      if (!*frame) return;
      WorkerReport report = report_from_json(**frame);
      std::visit([this](auto& r) { on(r); }, report);
    }
  } catch (const std::exception& error) {
    break_off(std::string("sent what is no message: ") + error.what());
  }
}

void WorkerHost::on(const WorkerHello& hello) {
  process_.has_started = true;
  if (hello.version == wire_version) return;
  break_off("speaks version " + std::to_string(hello.version) + ", not " +
            std::to_string(wire_version));
}

void WorkerHost::on(WorkerBye& bye) {
  if (!bye.fault.empty()) setup_.stage->warn(std::move(bye.fault));
}

void WorkerHost::on(TeamLetter& letter) {
  if (!trial_ || trial_->ended)
    return break_off("wrote a letter of a trial that does not run there");
  const engine::Launch& launch = trial_->launch;
  self_->send(setup_.agent, TeamMail{launch.trial, launch.incarnation, !trial_->place.has_value(),
                                     letter.rank, std::move(letter.body)});
}

void WorkerHost::break_off(std::string fault) {
  if (process_.fault.empty()) process_.fault = std::move(fault);
  kill_for_good();
}

void WorkerHost::kill_for_good() {
  if (!is_alive() || !deadlines_.begin_killing(Clock::now())) return;
  set_timer();
  kill(SIGKILL);
}

void WorkerHost::kill(int signal) {
  if (is_alive()) caf::anon_send(setup_.guardian, KillRequest{process_.id, signal});
}

// The message has gone, or goes at once: the first of the three steps.
void WorkerHost::begin_ending(const char* cause) {
  deadlines_.begin_ending(Clock::now(), cause);
  set_timer();
}

void WorkerHost::retire() {
  if (process_.is_retired) return;
  process_.is_retired = true;
  if (!is_alive()) return settle();
  if (!process_.fault.empty()) {
    kill_for_good();
  } else {
    send(EndWorker{});
    begin_ending();
  }
}

void WorkerHost::on_exit(std::string how) {
  process_.exit = std::move(how);
  deadlines_.on_exit();
  await_other_end();
  settle();
}

void WorkerHost::await_other_end() {
  deadlines_.await_other_end(Clock::now());
  set_timer();
}

// Where there is no process, and all that one sent was read.
void WorkerHost::settle() {
  if (is_alive() || (!process_.is_socket_closed && deadlines_.waits_for_other_end())) return;
  // A process that never came into being is the trial's loss; another one would fare no better.
  if (process_.id != 0 && waiting_start_ && !process_.has_started) start_trial();
  if (trial_) return settle_trial();
  if (waiting_start_) {
    if (!may_start_) return;
    // It ended while it was free, or there was none yet.
    setup_.stage->pump().remove(process_.id);
    has_told_gone_ = false;  // who sent the trial has not heard of it
    start_process();
    if (waiting_start_) open_output();
    return;
  }
  if (process_.id == 0 || std::exchange(has_told_gone_, true)) return;
  warn_of_late_fault();
  setup_.stage->pump().remove(process_.id);
  self_->send(setup_.agent, WorkerGone{setup_.worker, trials_, process_.pid});
}

void WorkerHost::settle_trial() {
  if (!trial_->ended) {
    // A worker of a trial saves nothing, and the trial may have the same number on its machine.
    if (!trial_->place) {
      self_->send(setup_.agent, WorkerDied{trial_->launch.trial_name, process_.pid});
    }
    const auto kind = process_.is_lost ? engine::EndKind::abandoned : engine::EndKind::failed;
    return end_trial({kind, describe_death()});
  }
  if (!trial_->has_output) return;
  if (trial_->has_own_end) warn_of_late_fault();
  setup_.stage->pump().remove(process_.id);
  has_told_gone_ = true;
  tell_end(WorkerGone{setup_.worker, trials_, process_.pid});
}

// After all its trials had ended by themselves.
void WorkerHost::warn_of_late_fault() {
  if (process_.fault.empty()) return;
  setup_.stage->warn("worker process " + std::to_string(process_.pid) + " " + process_.fault +
                     " and " + process_.exit + ", after its last trial had ended");
}

void WorkerHost::end() {
  if (has_told_gone_) return self_->quit();
  retire();
}

std::string WorkerHost::describe_death() const {
  if (process_.pid == 0 && !process_.fault.empty()) return process_.fault;
  std::string message = "the worker process ";
  if (process_.pid != 0) message += std::to_string(process_.pid) + " ";
  if (!process_.fault.empty()) message += process_.fault + " and ";
  message += process_.exit;
  if (trial_->place) return message;
  const std::int64_t iteration = trial_->watch.last_iteration();
  return message + (iteration > 0 ? " after iteration " + std::to_string(iteration)
                                  : " before it reported a result");
}

// --- times

void WorkerHost::set_deadline() {
  // A worker of a trial has no steps: the trial that waits for it has.
  if (!trial_ || trial_->ended || trial_->place || !trial_->watch.is_at_work()) {
    return deadlines_.forget_step();
  }
  deadlines_.await_step(Clock::now());
  set_timer();
}

void WorkerHost::set_timer() {
  if (const auto time = deadlines_.set_timer(Clock::now())) {
    self_->delayed_send(self_, *time, HostTimer{});
  }
}

void WorkerHost::on_timer() {
  const auto now = Clock::now();
  if (deadlines_.wake(now)) {
    while (const auto due = deadlines_.take_due(now)) on(*due);
  }
  set_timer();
}

void WorkerHost::on(WorkerDeadlines::Due due) {
  switch (due) {
    case WorkerDeadlines::Due::other_end:
      if (process_.exit.empty()) break_off("closed its connection to the agent");
      return settle();
    case WorkerDeadlines::Due::step:
      return break_off("made no step within " + text(setup_.times.step_timeout) +
                       " (step_timeout)");
    case WorkerDeadlines::Due::terminate:
      if (process_.fault.empty()) {
        process_.fault =
            "did not end within " + text(setup_.times.stop_grace) + deadlines_.end_cause();
      }
      return kill(SIGTERM);
    case WorkerDeadlines::Due::kill:
      return kill_for_good();
    case WorkerDeadlines::Due::give_up:
      process_.is_lost = true;
      process_.is_socket_closed = true;
      return on_exit("is not gone " + text(WorkerDeadlines::kill_wait) + " after SIGKILL");
  }
}

HostActor::behavior_type host_worker(HostActor::stateful_pointer<WorkerHost> self,
                                     HostSetup setup) {
  watch_for_faults(self);
  return self->state.make_behavior(std::move(setup));
}

}  // namespace tune::runtime
