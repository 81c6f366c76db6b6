#include "runtime/runner_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/number_text.hpp"

namespace tune::runtime {
namespace {

constexpr std::chrono::duration<double> longest_grace{10.0 * 365 * 24 * 3600};

}  // namespace

struct RunnerPool::Runner {
  struct Job {
    TrialRun run;
    std::shared_ptr<TrialLink> link;
  };

  std::thread thread;
  std::condition_variable changed;
  std::optional<Job> job;              // what to do next
  const TrialLink* current = nullptr;  // the trial that runs
  bool is_lost = false;
  bool is_over = false;
};

struct RunnerPool::Shared {
  Shared(TrainableSpec spec, std::chrono::duration<double> grace)
      : trainable(std::move(spec)), cleanup_grace(grace) {}

  /// What a thread does, from its start to its end.
  void serve(const std::shared_ptr<Runner>& self);

  const TrainableSpec trainable;
  const std::chrono::duration<double> cleanup_grace;
  std::condition_variable ended;  // a thread is over
  std::mutex mutex;               // guards all below, and what is in the runners
  std::vector<std::shared_ptr<Runner>> runners;
  std::vector<std::shared_ptr<Runner>> free_runners;
  std::vector<std::string> faults;
  bool is_closing = false;
};

void RunnerPool::Shared::serve(const std::shared_ptr<Runner>& self) {
  KeptTrainable kept;
  std::unique_lock lock(mutex);
  while (true) {
    self->changed.wait(lock, [&] { return self->job || is_closing; });
    if (!self->job) break;
    Runner::Job job = *std::exchange(self->job, std::nullopt);
    lock.unlock();
    engine::Ended ended = run_trial(trainable, std::move(job.run), job.link, kept);
    lock.lock();
    if (self->is_lost) break;
    self->current = nullptr;
    free_runners.push_back(self);
    lock.unlock();
    // Only now: whoever starts another trial upon this finds the thread free.
    job.link->tell(std::move(ended));
    job.link.reset();
    lock.lock();
  }
  lock.unlock();
  auto fault = discard(kept);
  lock.lock();
  if (fault) faults.push_back(std::move(*fault));
  self->is_over = true;
  ended.notify_all();
}

RunnerPool::RunnerPool(TrainableSpec trainable, std::chrono::duration<double> cleanup_grace)
    : shared_(std::make_shared<Shared>(std::move(trainable), cleanup_grace)) {}

RunnerPool::~RunnerPool() { shut_down(); }

void RunnerPool::start(TrialRun run, std::shared_ptr<TrialLink> link) {
  const std::lock_guard lock(shared_->mutex);
  TUNE_ASSERT(!shared_->is_closing);
  std::shared_ptr<Runner> runner;
  if (!shared_->free_runners.empty()) {
    runner = std::move(shared_->free_runners.back());
    shared_->free_runners.pop_back();
  } else {
    runner = std::make_shared<Runner>();
    runner->thread = std::thread([shared = shared_, runner] { shared->serve(runner); });
    shared_->runners.push_back(runner);
  }
  runner->current = link.get();
  runner->job = Runner::Job{std::move(run), std::move(link)};
  runner->changed.notify_one();
}

void RunnerPool::abandon(const TrialLink& link) {
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->runners, [&](const std::shared_ptr<Runner>& runner) {
    if (runner->current != &link) return false;
    runner->is_lost = true;
    runner->thread.detach();
    return true;
  });
}

std::vector<std::string> RunnerPool::shut_down() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_closing = true;
  shared_->free_runners.clear();
  const auto runners = std::exchange(shared_->runners, {});
  for (const auto& runner : runners) runner->changed.notify_one();
  const auto grace = std::min(shared_->cleanup_grace, longest_grace);
  shared_->ended.wait_for(lock, grace, [&] {
    return std::all_of(runners.begin(), runners.end(),
                       [](const auto& runner) { return runner->is_over; });
  });
  for (const auto& runner : runners) {
    if (runner->is_over) continue;
    runner->is_lost = true;
    runner->thread.detach();
    shared_->faults.push_back("a thread did not end within " +
                              core::number_text(shared_->cleanup_grace.count()) +
                              " s of the experiment's end: cleanup() of the trainable hangs");
  }
  auto faults = std::exchange(shared_->faults, {});
  lock.unlock();
  for (const auto& runner : runners) {
    if (runner->thread.joinable()) runner->thread.join();
  }
  return faults;
}

std::size_t RunnerPool::size() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->runners.size();
}

}  // namespace tune::runtime
