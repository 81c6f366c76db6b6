#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tune/trial_workers.hpp>

#include "runtime/team_messages.hpp"
#include "runtime/worker_meeting.hpp"

namespace tune::runtime {

/// How a team reaches its workers. What they say goes to WorkerTeam::hear().
class TeamTransport {
 public:
  virtual ~TeamTransport() = default;
  /// Before the first order. @throws std::system_error if the workers cannot be started.
  virtual void start() {}
  /// Called with the team's lock held: must not wait for a worker, nor call back.
  virtual void send(std::size_t rank, TeamOrder order) = 0;
  /// Of an argument.
  [[nodiscard]] virtual std::size_t most_bytes() const = 0;
};

/// The parallel workers of one start of a trial, as the trial sees them: gives calls to all, lets
/// them meet, and collects their answers. Knows nothing of threads and processes.
///
/// The trial's thread calls run_each(); hear() and on_death() may come from any thread.
class WorkerTeam final : public TrialWorkers {
 public:
  WorkerTeam(std::string trial_name, std::size_t size, std::unique_ptr<TeamTransport> transport);

  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] std::vector<Json> run_each(const std::string& function,
                                           const std::vector<Json>& arguments) override;

  void hear(std::size_t rank, TeamWord word);
  /// It will say nothing any more. `text`: how it ended.
  void on_death(std::size_t rank, const std::string& text);
  /// The trial has ended: no call may come any more.
  void close();

 private:
  void begin_call(const std::string& function, const std::vector<Json>& arguments);
  void check_arguments(const std::vector<Json>& arguments) const;
  void end_part(std::size_t rank, const std::string& how, std::optional<std::string> fault);
  void pass_on(std::vector<WorkerMeeting::Release> releases);

  const std::string trial_name_;
  const std::size_t size_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::unique_ptr<TeamTransport> transport_;
  bool has_started_ = false;
  bool is_closed_ = false;
  std::optional<std::string> death_;  // the first one's text
  std::vector<bool> dead_;

  // Of the call that runs, if one does.
  std::uint64_t call_ = 0;
  std::optional<WorkerMeeting> meeting_;
  std::vector<bool> busy_;
  std::size_t busy_count_ = 0;
  std::vector<Json> answers_;
  std::optional<std::string> fault_;  // the first one's text
};

/// A team whose workers are threads of this process, which start with the first call.
[[nodiscard]] std::shared_ptr<WorkerTeam> make_thread_team(std::string trial_name,
                                                           const std::vector<WorkerGrant>& workers);

}  // namespace tune::runtime
