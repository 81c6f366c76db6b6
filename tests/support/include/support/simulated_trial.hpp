#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <tune/checkpoint.hpp>

#include "engine/commands.hpp"
#include "engine/events.hpp"
#include "support/trial_behaviour.hpp"

namespace tune::test {

/// One start of a trial on a node: runs its TrialBehaviour as design.md §4 and §6 say, in virtual
/// time, and tells what happened. Knows nothing of the engine but Launch, orders and reports.
class SimulatedTrial {
 public:
  /// What a trial needs of the world around it.
  class Surroundings {
   public:
    virtual void send(const engine::TrialMessage& message) = 0;
    virtual void after(double seconds, std::function<void()> action) = 0;
    /// The weights in the checkpoint of `launch`.
    virtual std::string load_checkpoint(const engine::Launch& launch) = 0;
    virtual void store_checkpoint(const engine::CheckpointLocation& location,
                                  const std::string& weights) = 0;

   protected:
    ~Surroundings() = default;
  };

  SimulatedTrial(engine::Launch launch, CheckpointOptions checkpoint, bool saves_before_it_waits,
                 TrialBehaviour& behaviour, Surroundings& surroundings);
  SimulatedTrial(const SimulatedTrial&) = delete;
  SimulatedTrial& operator=(const SimulatedTrial&) = delete;

  void start();
  void proceed(const engine::Horizon& horizon);
  void save();
  void pause();
  void stop(bool save);
  /// Its node is gone: it does nothing more.
  void die() { state_ = State::ended; }

  [[nodiscard]] bool has_ended() const { return state_ == State::ended; }
  [[nodiscard]] bool is_waiting() const { return state_ == State::waiting; }
  [[nodiscard]] const engine::Launch& launch() const { return launch_; }
  /// For the state that a hang prints.
  [[nodiscard]] std::string describe() const;

 private:
  enum class State { starting, stepping, waiting, ended };
  enum class Order { none, pause, stop };

  void set_up(const StepOutcome& outcome);
  void load();
  void finish_step(const StepOutcome& outcome);
  void report(const StepOutcome& outcome);
  /// Where orders are heeded: between two steps.
  void step_boundary();
  void begin_step();
  void wait();
  bool store();
  void end(engine::EndKind kind, const std::string& message = {});
  void take_order(Order order);
  void tell(engine::TrialReport report);
  [[nodiscard]] std::string directory() const;

  engine::Launch launch_;
  CheckpointOptions checkpoint_;
  bool saves_before_it_waits_;
  TrialBehaviour& behaviour_;
  Surroundings& surroundings_;

  State state_ = State::starting;
  Order order_ = Order::none;
  bool save_ordered_ = false;
  bool save_at_stop_ = false;
  bool save_due_ = false;  // by `every` or of the training code's own accord
  int steps_before_it_obeys_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::int64_t iteration_ = 0;
  std::string weights_;                          // as weights_after() names them
  std::optional<std::int64_t> saved_iteration_;  // what is saved is not saved again
  double time_total_s_ = 0;
  engine::Horizon horizon_;
  std::optional<Result> last_result_;
};

}  // namespace tune::test
