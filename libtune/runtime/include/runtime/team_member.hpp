#pragma once

#include <any>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <tune/trial_workers.hpp>

#include "runtime/team_messages.hpp"

namespace tune::runtime {

/// One parallel worker of a trial: a thread that runs the functions it is called with. Its orders
/// may come from any thread.
class TeamMember final : private TrialWorker {
 public:
  struct Options {
    std::size_t rank = 0;
    std::size_t size = 0;
    ResourceGrant resources = {};
    /// Called on the member's thread, without a lock. One that throws std::length_error could not
    /// send the word, which is too long.
    std::function<void(TeamWord)> tell = {};
    /// Called last on the member's thread.
    std::function<void()> after_end = {};
  };
  /// @throws std::system_error if the system gives no further thread.
  explicit TeamMember(Options options);
  /// Ends it, and waits for that.
  ~TeamMember() override;
  TeamMember(const TeamMember&) = delete;
  TeamMember& operator=(const TeamMember&) = delete;

  void order(TeamOrder order);
  /// No call comes any more. A function that waits for others gets an error, and its answer is not
  /// told. Does not wait.
  void end();

 private:
  void serve();
  void run(const TeamCall& call);
  std::vector<double> meet(TeamArrival arrival);

  [[nodiscard]] std::size_t rank() const override { return options_.rank; }
  [[nodiscard]] std::size_t size() const override { return options_.size; }
  [[nodiscard]] const ResourceGrant& resources() const override { return options_.resources; }
  [[nodiscard]] std::any& state() override { return state_; }
  void barrier() override { (void)meet({}); }
  [[nodiscard]] std::vector<double> all_reduce(const std::vector<double>& values,
                                               Reduction reduction) override;

  const Options options_;
  std::any state_;          // of the functions
  std::uint64_t call_ = 0;  // the member's thread's
  std::mutex mutex_;        // guards the next three
  std::optional<TeamCall> next_;
  std::optional<TeamRelease> release_;
  bool is_ending_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tune::runtime
