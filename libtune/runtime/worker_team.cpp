#include "runtime/worker_team.hpp"

#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

#include <tune/registry.hpp>

#include "runtime/team_member.hpp"

namespace tune::runtime {
namespace {

std::string name_of(std::size_t rank) { return "worker " + std::to_string(rank); }

}  // namespace

WorkerTeam::WorkerTeam(std::string trial_name, std::size_t size,
                       std::unique_ptr<TeamTransport> transport)
    : trial_name_(std::move(trial_name)),
      size_(size),
      transport_(std::move(transport)),
      dead_(size, false),
      busy_(size, false) {}

std::vector<Json> WorkerTeam::run_each(const std::string& function,
                                       const std::vector<Json>& arguments) {
  (void)find_worker_function(function);
  std::unique_lock lock(mutex_);
  if (is_closed_) throw std::logic_error("workers of trial " + trial_name_ + ": it has ended");
  check_arguments(arguments);
  if (busy_count_ > 0) {
    throw std::logic_error("workers of trial " + trial_name_ + ": a call of them runs already");
  }
  if (death_) throw TrialWorkerError(*death_);
  begin_call(function, arguments);
  changed_.wait(lock, [&] { return busy_count_ == 0; });
  if (fault_) throw TrialWorkerError(*fault_);
  return std::exchange(answers_, {});
}

void WorkerTeam::check_arguments(const std::vector<Json>& arguments) const {
  if (arguments.size() != size_) {
    throw std::invalid_argument("workers of trial " + trial_name_ + ": " +
                                std::to_string(arguments.size()) + " arguments for " +
                                std::to_string(size_) + " workers");
  }
  const std::size_t most = transport_->most_bytes();
  if (most == std::numeric_limits<std::size_t>::max()) return;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const std::size_t bytes = Json::to_cbor(arguments[rank]).size();
    if (bytes <= most) continue;
    throw std::invalid_argument("the argument for " + name_of(rank) + " has " +
                                std::to_string(bytes) + " bytes, want at most " +
                                std::to_string(most));
  }
}

void WorkerTeam::begin_call(const std::string& function, const std::vector<Json>& arguments) {
  if (!has_started_) {
    transport_->start();
    has_started_ = true;
  }
  ++call_;
  meeting_.emplace(size_);
  answers_.assign(size_, Json());
  fault_.reset();
  busy_.assign(size_, true);
  busy_count_ = size_;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    transport_->send(rank, TeamCall{call_, function, arguments[rank]});
  }
}

void WorkerTeam::hear(std::size_t rank, TeamWord word) {
  const std::lock_guard lock(mutex_);
  if (rank >= size_ || !busy_[rank]) return;
  const auto call = std::visit([](const auto& w) { return w.call; }, word);
  if (call != call_) return;
  if (auto* answer = std::get_if<TeamAnswer>(&word)) {
    answers_[rank] = std::move(answer->answer);
    end_part(rank, "has ended the call", std::nullopt);
  } else if (const auto* fault = std::get_if<TeamFault>(&word)) {
    end_part(rank, "has failed", name_of(rank) + ": " + fault->text);
  } else if (!meeting_->is_waiting(rank)) {
    pass_on(meeting_->arrive(rank, std::get<TeamArrival>(std::move(word))));
  }
}

void WorkerTeam::on_death(std::size_t rank, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (rank >= size_ || dead_[rank]) return;
  dead_[rank] = true;
  const std::string fault = name_of(rank) + " died: " + text;
  if (!death_) death_ = fault;
  if (busy_[rank]) end_part(rank, "died", fault);
}

void WorkerTeam::close() {
  std::unique_ptr<TeamTransport> ended;  // after the lock: threads may have a last word
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_closed_, true) || busy_count_ > 0) return;
  ended = std::move(transport_);
}

// The first fault is the cause of the others.
void WorkerTeam::end_part(std::size_t rank, const std::string& how,
                          std::optional<std::string> fault) {
  busy_[rank] = false;
  if (fault && !fault_) fault_ = std::move(fault);
  pass_on(meeting_->leave(rank, how));
  if (--busy_count_ == 0) changed_.notify_all();
}

void WorkerTeam::pass_on(std::vector<WorkerMeeting::Release> releases) {
  for (WorkerMeeting::Release& release : releases) {
    transport_->send(release.rank,
                     TeamRelease{call_, std::move(release.error), std::move(release.values)});
  }
}

}  // namespace tune::runtime
