#include "runtime/team_member.hpp"

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <tune/registry.hpp>

#include "runtime/worker_team.hpp"

namespace tune::runtime {
namespace {

constexpr std::size_t most_numbers = 65536;  // of one reduction

/// Threads of this process. The team owns it, so what they say is heard as long as they are there.
class ThreadTransport final : public TeamTransport {
 public:
  explicit ThreadTransport(std::vector<WorkerGrant> workers) : workers_(std::move(workers)) {}
  void set_team(WorkerTeam& team) { team_ = &team; }

  void start() override {
    members_.clear();  // of a start that went wrong half-way
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      members_.push_back(std::make_unique<TeamMember>(TeamMember::Options{
          .rank = rank,
          .size = workers_.size(),
          .resources = workers_[rank].resources,
          .tell = [team = team_, rank](TeamWord word) { team->hear(rank, std::move(word)); }}));
    }
  }
  void send(std::size_t rank, TeamOrder order) override { members_[rank]->order(std::move(order)); }
  [[nodiscard]] std::size_t most_bytes() const override {
    return std::numeric_limits<std::size_t>::max();
  }

 private:
  const std::vector<WorkerGrant> workers_;
  WorkerTeam* team_ = nullptr;
  std::vector<std::unique_ptr<TeamMember>> members_;
};

}  // namespace

std::shared_ptr<WorkerTeam> make_thread_team(std::string trial_name,
                                             const std::vector<WorkerGrant>& workers) {
  auto transport = std::make_unique<ThreadTransport>(workers);
  ThreadTransport& threads = *transport;
  const auto team =
      std::make_shared<WorkerTeam>(std::move(trial_name), workers.size(), std::move(transport));
  threads.set_team(*team);
  return team;
}

TeamMember::TeamMember(Options options)
    : options_(std::move(options)), thread_([this] { serve(); }) {}

TeamMember::~TeamMember() {
  end();
  thread_.join();
}

void TeamMember::order(TeamOrder order) {
  const std::lock_guard lock(mutex_);
  if (auto* call = std::get_if<TeamCall>(&order)) {
    next_ = std::move(*call);
  } else {
    release_ = std::get<TeamRelease>(std::move(order));
  }
  changed_.notify_all();
}

void TeamMember::end() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
  changed_.notify_all();
}

void TeamMember::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return next_ || is_ending_; });
    if (is_ending_) break;
    const TeamCall call = *std::exchange(next_, std::nullopt);
    release_.reset();
    lock.unlock();
    run(call);
    lock.lock();
  }
  lock.unlock();
  state_.reset();
  if (options_.after_end) options_.after_end();
}

void TeamMember::run(const TeamCall& call) {
  call_ = call.call;
  const auto fail = [&](std::string text) { options_.tell(TeamFault{call.call, std::move(text)}); };
  try {
    options_.tell(TeamAnswer{call.call, find_worker_function(call.function)(*this, call.argument)});
  } catch (const std::length_error& error) {
    fail(call.function + ": its answer is too long: " + error.what());
  } catch (const std::exception& error) {
    fail(call.function + ": " + error.what());
  } catch (...) {
    fail(call.function + ": unknown exception");
  }
}

std::vector<double> TeamMember::meet(TeamArrival arrival) {
  if (std::this_thread::get_id() != thread_.get_id()) {
    throw std::logic_error("barrier() and all_reduce() are for the thread of the worker function");
  }
  arrival.call = call_;
  options_.tell(std::move(arrival));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return (release_ && release_->call == call_) || is_ending_; });
  if (!release_) throw TrialWorkerError("the trial has ended");
  TeamRelease release = *std::exchange(release_, std::nullopt);
  if (!release.error.empty()) throw TrialWorkerError(release.error);
  return std::move(release.values);
}

std::vector<double> TeamMember::all_reduce(const std::vector<double>& values, Reduction reduction) {
  if (values.size() > most_numbers) {
    throw std::invalid_argument("all_reduce of " + std::to_string(values.size()) +
                                " numbers, want at most " + std::to_string(most_numbers));
  }
  return meet({.is_reduction = true, .reduction = reduction, .values = values});
}

}  // namespace tune::runtime
