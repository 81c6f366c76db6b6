#include "runtime/runner_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tune::runtime {
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
};

struct RunnerPool::Shared {
  explicit Shared(TrainableSpec spec) : trainable(std::move(spec)) {}

  /// What a thread does, from its start to its end.
  void serve(const std::shared_ptr<Runner>& self);

  const TrainableSpec trainable;
  std::mutex mutex;  // guards all below, and what is in the runners
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
  if (auto fault = discard(kept)) {
    lock.lock();
    faults.push_back(std::move(*fault));
  }
}

RunnerPool::RunnerPool(TrainableSpec trainable)
    : shared_(std::make_shared<Shared>(std::move(trainable))) {}

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
  std::vector<std::shared_ptr<Runner>> runners;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_closing = true;
    shared_->free_runners.clear();
    runners = std::exchange(shared_->runners, {});
    for (const auto& runner : runners) runner->changed.notify_one();
  }
  for (const auto& runner : runners) runner->thread.join();
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->faults, {});
}

std::size_t RunnerPool::size() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->runners.size();
}

}  // namespace tune::runtime
