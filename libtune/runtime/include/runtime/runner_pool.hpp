#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <tune/trainable.hpp>

#include "runtime/trial_link.hpp"
#include "runtime/trial_run.hpp"

namespace tune::runtime {

/// Threads that run the trials of one experiment, each one trial at a time.
///
/// A thread that is free is used again, the last one first, so that a reusable Trainable is found
/// where it is kept; if none is free, one is added. Safe from any thread.
class RunnerPool {
 public:
  /// `cleanup_grace`: how long shut_down() waits for what the training code still does.
  explicit RunnerPool(TrainableSpec trainable,
                      std::chrono::duration<double> cleanup_grace = std::chrono::hours(1));
  /// As shut_down().
  ~RunnerPool();
  RunnerPool(const RunnerPool&) = delete;
  RunnerPool& operator=(const RunnerPool&) = delete;

  /// Runs one start of a trial; `link` hears of all, its end included.
  /// @throws std::system_error if the system gives no further thread.
  void start(TrialRun run, std::shared_ptr<TrialLink> link);
  /// Gives up the thread that runs the trial of `link`, if one still does: it ends when the
  /// training code lets it, and nobody waits for that.
  void abandon(const TrialLink& link);
  /// Cleans up what the threads keep and waits for all of them that were not abandoned; so every
  /// trial must have ended or been told to. One that does not end in time is abandoned. The texts
  /// of faults in cleanup().
  std::vector<std::string> shut_down();

  /// Threads that are there, without those abandoned.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Runner;
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the threads: an abandoned one outlives the pool
};

}  // namespace tune::runtime
