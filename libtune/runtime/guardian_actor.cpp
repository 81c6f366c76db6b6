#include "runtime/guardian_actor.hpp"

#include <csignal>
#include <utility>
#include <variant>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actor_faults.hpp"

namespace tune::runtime {

caf::behavior GuardianLink::make_behavior(caf::io::broker* self, AgentActor agent,
                                          std::shared_ptr<ProcessStage> stage) {
  self_ = self;
  agent_ = std::move(agent);
  stage_ = std::move(stage);
  connect();
  return {
      [this](const caf::io::new_data_msg& data) { on_bytes(data.buf); },
      [this](const caf::io::connection_closed_msg&) { on_lost(); },
      [this](const SpawnWorker& message) { spawn(message); },
      [this](const KillRequest& request) {
        // If it cannot be sent, connection_closed_msg comes.
        [[maybe_unused]] const bool sent = send_all(socket_, encode_frame(to_json(request)));
      },
      [this](const EndNode&) { self_->quit(); },
  };
}

void GuardianLink::connect() {
  socket_ = stage_->start_guardian().release();
  auto scribe = self_->system().middleman().backend().new_scribe(socket_);
  handle_ = scribe->hdl();
  self_->add_scribe(std::move(scribe));
  self_->configure_read(handle_, caf::io::receive_policy::at_most(4096));
  reader_ = {};
}

void GuardianLink::spawn(const SpawnWorker& message) {
  if (losses_ > max_losses) {
    return self_->send(message.host, SpawnFailed{message.request.id, lost_guardian_text});
  }
  workers_[message.request.id].host = message.host;
  const std::array<int, 3> descriptors = {(*message.descriptors)[0].get(),
                                          (*message.descriptors)[1].get(),
                                          (*message.descriptors)[2].get()};
  [[maybe_unused]] const bool sent =
      send_all(socket_, encode_frame(to_json(message.request)), descriptors);
}

void GuardianLink::on_bytes(const std::vector<char>& bytes) {
  reader_.feed({bytes.data(), bytes.size()});
  while (auto frame = reader_.next().value()) {
    std::visit([this](const auto& report) { on(report); }, guardian_report_from_json(*frame));
  }
}

void GuardianLink::on(const WorkerSpawned& report) {
  Worker& worker = workers_.at(report.id);
  worker.pid = report.pid;
  losses_ = 0;
  self_->send(worker.host, report);
}

void GuardianLink::on(const SpawnFailed& report) {
  self_->send(workers_.at(report.id).host, report);
  workers_.erase(report.id);
}

void GuardianLink::on(const WorkerExited& report) {
  self_->send(workers_.at(report.id).host, report);
  workers_.erase(report.id);
}

// Another guardian finds the same.
void GuardianLink::on(const MemoryLimitFound& report) {
  if (!std::exchange(has_told_memory_limit_, true)) self_->send(agent_, NodeNote{report.text});
}

void GuardianLink::on_lost() {
  // The workers themselves died with it. What they had started did not.
  for (const auto& [id, worker] : std::exchange(workers_, {})) {
    if (worker.pid > 0) ::kill(-worker.pid, SIGKILL);
    self_->send(worker.host, GuardianLost{});
  }
  if (++losses_ <= max_losses) connect();
}

caf::behavior run_guardian_link(GuardianBroker* self, AgentActor agent,
                                std::shared_ptr<ProcessStage> stage) {
  watch_for_faults(self);
  return self->state.make_behavior(self, std::move(agent), std::move(stage));
}

}  // namespace tune::runtime
