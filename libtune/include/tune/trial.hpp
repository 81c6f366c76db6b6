#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/resources.hpp>
#include <tune/result.hpp>

namespace tune {

enum class TrialState {
  pending,     ///< Waits for a slot: new, or to be started again.
  running,     ///< Has a slot.
  paused,      ///< Saved; waits for a decision of the scheduler, or was left so by an interrupt.
  terminated,  ///< Ended well: finished by itself, by a stop criterion or by the scheduler.
  error,       ///< Failed for good.
};

/// "pending", "running", "paused", "terminated" or "error".
[[nodiscard]] std::string_view to_string(TrialState state);
/// @throws std::invalid_argument naming the text and what is allowed.
[[nodiscard]] TrialState trial_state_from_string(std::string_view text);

/// How many trials are in which state.
struct TrialCounts {
  std::int64_t pending = 0;
  std::int64_t running = 0;
  std::int64_t paused = 0;
  std::int64_t terminated = 0;
  std::int64_t error = 0;

  /// The one of a state.
  [[nodiscard]] std::int64_t& of(TrialState state);
  [[nodiscard]] std::int64_t ended() const { return terminated + error; }
  [[nodiscard]] std::int64_t total() const { return pending + running + paused + ended(); }
  friend bool operator==(const TrialCounts&, const TrialCounts&) = default;
};

/// One configuration being trained, as schedulers and callbacks see it.
class Trial {
 public:
  Trial() = default;
  explicit Trial(TrialId id) : id_(id) {}
  Trial(TrialId id, Config config) : id_(id), config_(std::move(config)) {}

  [[nodiscard]] TrialId id() const { return id_; }
  /// The id, then a short safe form of the first configuration: the name of the trial's directory.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] TrialState state() const { return state_; }
  /// How often it was started; results of an older start are refused.
  [[nodiscard]] std::uint32_t incarnation() const { return incarnation_; }
  /// Failed starts that count against `max_failures`.
  [[nodiscard]] std::int64_t failures() const { return failures_; }
  /// What its newest start was given, its workers included; empty before the first.
  [[nodiscard]] const ResourceAmounts& granted() const { return granted_; }
  /// What its newest start asked for: with labels and workers; empty before the first.
  [[nodiscard]] const ResourceRequest& request() const;
  /// True for a time after a failure, whether pending or paused: it cannot be started yet.
  [[nodiscard]] bool waits_for_retry() const { return waits_for_retry_; }
  /// The newest result that was told to the scheduler.
  [[nodiscard]] const std::optional<Result>& last_result() const { return last_result_; }
  /// The best target value so far, for the scheduler's metric; empty if none was a number.
  [[nodiscard]] std::optional<double> best() const { return best_; }
  /// Results told to the scheduler so far.
  [[nodiscard]] std::int64_t result_count() const { return result_count_; }
  /// The iteration of the newest stored checkpoint; empty if there is none.
  [[nodiscard]] std::optional<std::int64_t> checkpoint_iteration() const {
    return checkpoint_iteration_;
  }

  // For the engine, which owns the trials, and for tests.
  void set_name(std::string name) { name_ = std::move(name); }
  void set_config(Config config) { config_ = std::move(config); }
  void set_incarnation(std::uint32_t incarnation) { incarnation_ = incarnation; }
  void set_granted(ResourceAmounts granted) { granted_ = std::move(granted); }
  /// Shared by all trials that ask for the same.
  void set_request(std::shared_ptr<const ResourceRequest> request) {
    request_ = std::move(request);
  }
  void set_failures(std::int64_t failures) { failures_ = failures; }
  void set_checkpoint_iteration(std::optional<std::int64_t> it) { checkpoint_iteration_ = it; }
  void set_best(std::optional<double> best) { best_ = best; }
  /// Makes `result` the last one and counts it.
  void add_result(const Result& result) {
    last_result_ = result;
    ++result_count_;
  }
  /// Makes `result` the last one without counting it again (its `done` was decided).
  void replace_last_result(const Result& result) { last_result_ = result; }

 private:
  friend class SchedulerContext;  // which keeps the pending ones apart

  TrialId id_;
  std::string name_;
  Config config_;
  TrialState state_ = TrialState::pending;
  std::uint32_t incarnation_ = 0;
  ResourceAmounts granted_;
  std::shared_ptr<const ResourceRequest> request_;
  std::int64_t failures_ = 0;
  bool waits_for_retry_ = false;
  std::optional<Result> last_result_;
  std::optional<double> best_;
  std::int64_t result_count_ = 0;
  std::optional<std::int64_t> checkpoint_iteration_;
};

/// The directory name of a trial: `%05d` of the id, then `_name=value` for each parameter as far as
/// it fits. At most 128 bytes; only letters, digits and `. _ = -`.
[[nodiscard]] std::string trial_directory_name(TrialId id, const Config& config);

}  // namespace tune
