#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <tune/track.hpp>

#include "runtime/trial_link.hpp"
#include "standalone_records.hpp"
#include "trial_progress.hpp"

namespace tune::runtime {

/// A run outside an experiment: a trial that nobody watches over, and its records.
///
/// Trials of an experiment and this one share what counts iterations and time and stores
/// checkpoints; what the trial tells is written in place instead of being sent to a driver. Safe
/// from any thread; reports follow each other.
class StandaloneRun final : public track::Session {
 public:
  using Clock = std::chrono::steady_clock;

  /// `begin`: from when on the first iteration is timed. @throws as StandaloneRecords
  StandaloneRun(const track::Options& options, Clock::time_point begin);

  void report(const Metrics& metrics, const track::Writer& writer) override;
  void log(const Metrics& metrics) override;
  void save(const std::string& name, const Json& value, const track::Writer& writer) override;
  [[nodiscard]] std::optional<track::Saved> load(const std::string& name) override;
  [[nodiscard]] std::int64_t index() override;
  void restore(std::int64_t index) override;
  [[nodiscard]] const Config& config() const override { return config_; }
  [[nodiscard]] const TrialContext& context() const override { return context_; }

  /// @throws std::runtime_error if not all could be written.
  void finish();
  /// The program ends on the calling thread. Other threads that report from then on do not return:
  /// an exception there would end the program otherwise than it meant to. @throws as finish()
  void end_with_program();
  /// False once it has ended, and in a process that was forked from its own.
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] const ExperimentInfo& experiment() const { return records_.experiment(); }
  [[nodiscard]] bool is_of_this_process() const;

 private:
  enum class Phase { open, done, finished, program_ended };
  class Turn;

  template <class Ask>
  auto ask(const char* caller, Ask question);
  void enter(const char* caller);
  [[nodiscard]] bool has_turn() const;
  void leave();
  std::exception_ptr save(const track::Writer& writer, bool is_done);
  void write();
  void close(Phase phase, const std::string& reason);

  // Whoever has the turn may use these.
  StandaloneRecords records_;
  std::shared_ptr<TrialLink> link_;  // with progress_
  TrialProgress progress_;
  Clock::time_point iteration_begin_;

  const Config config_;
  const TrialContext context_;
  const std::int64_t process_id_;

  mutable std::mutex mutex_;  // guards what follows; not held while user code runs
  std::condition_variable free_;
  bool is_taken_ = false;  // the turn
  std::thread::id taker_;
  Phase phase_ = Phase::open;
};

}  // namespace tune::runtime
