#include "runtime/worker_roster.hpp"

#include <algorithm>
#include <utility>

#include "runtime/grant_environment.hpp"
#include "runtime/usable_machine.hpp"

namespace tune::runtime {
namespace {

bool share_any(const std::vector<int>& left, const std::vector<int>& right) {
  return std::find_first_of(left.begin(), left.end(), right.begin(), right.end()) != left.end();
}

}  // namespace

std::vector<int> cores_to_divide(const ResourceAmounts& capacity) {
  std::vector<int> cores = usable_machine().cores;
  if (capacity.amount("cpu") > std::ssize(cores) * 1000) cores.clear();
  return cores;
}

WorkerRoster::WorkerRoster(const std::vector<int>& cores, std::vector<std::string> program)
    : cores_(cores), program_(std::move(program)) {}

WorkerRoster::Choice WorkerRoster::assign(const ResourceGrant& grant) {
  const std::int64_t cpu = grant.amounts.amount("cpu");
  WorkerBounds bounds;
  bounds.environment = grant_environment(grant, program_);
  bounds.memory = static_cast<std::uint64_t>(grant.amounts.amount("memory"));
  if (const auto found = take_free(bounds, cpu)) return {.worker = *found};
  Choice choice{.worker = next_worker_++, .is_new = true};
  make_room(grant, choice);
  Worker& worker = workers_[choice.worker];
  worker.cores = cores_.take(cpu);
  worker.bounds = std::move(bounds);
  worker.bounds.cores = worker.cores.cores();
  worker.gpu_ids = grant.gpu_ids;
  return choice;
}

std::optional<std::uint64_t> WorkerRoster::take_free(const WorkerBounds& bounds, std::int64_t cpu) {
  for (auto entry = workers_.rbegin(); entry != workers_.rend(); ++entry) {
    Worker& worker = entry->second;
    if (worker.state != State::free || worker.bounds.environment != bounds.environment ||
        worker.bounds.memory != bounds.memory) {
      continue;
    }
    worker.cores = cores_.take(cpu, worker.bounds.cores);
    if (worker.cores.cores() == worker.bounds.cores) {
      worker.state = State::busy;
      return entry->first;
    }
    give_back_cores(worker);
  }
  return std::nullopt;
}

void WorkerRoster::make_room(const ResourceGrant& grant, Choice& choice) {
  std::optional<std::uint64_t> other;
  for (auto& [id, worker] : workers_) {
    if (worker.state == State::busy) continue;
    if (share_any(worker.gpu_ids, grant.gpu_ids)) {
      if (worker.state == State::free) choice.ends.push_back(id);
      choice.waits_for.push_back(id);
    } else if (worker.state == State::free && !other) {
      other = id;
    }
  }
  if (choice.ends.empty() && other) {
    choice.ends.push_back(*other);
    choice.waits_for.push_back(*other);
  }
  for (const std::uint64_t id : choice.ends) workers_.at(id).state = State::ending;
}

void WorkerRoster::on_free(std::uint64_t worker) {
  Worker& freed = workers_.at(worker);
  give_back_cores(freed);
  freed.state = State::free;
}

void WorkerRoster::on_reaped(std::uint64_t worker) {
  Worker& reaped = workers_.at(worker);
  give_back_cores(reaped);
  reaped.state = State::ending;
}

void WorkerRoster::on_gone(std::uint64_t worker) {
  const auto found = workers_.find(worker);
  give_back_cores(found->second);
  workers_.erase(found);
}

std::vector<std::uint64_t> WorkerRoster::retire_free() {
  std::vector<std::uint64_t> retired;
  for (auto& [id, worker] : workers_) {
    if (worker.state != State::free) continue;
    worker.state = State::ending;
    retired.push_back(id);
  }
  return retired;
}

const WorkerBounds& WorkerRoster::bounds(std::uint64_t worker) const {
  return workers_.at(worker).bounds;
}

void WorkerRoster::give_back_cores(Worker& worker) {
  cores_.give_back(std::exchange(worker.cores, {}));
}

}  // namespace tune::runtime
