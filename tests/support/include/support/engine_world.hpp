#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <variant>
#include <vector>

#include <tune/random.hpp>
#include <tune/scheduler.hpp>
#include <tune/searcher.hpp>

#include "engine/engine.hpp"
#include "support/engine_checker.hpp"
#include "support/recording_scheduler.hpp"
#include "support/replay_twin.hpp"
#include "support/simulated_trial.hpp"
#include "support/trial_behaviour.hpp"

namespace tune::test {

/// How messages and commands travel. Each message takes its own time, so that they overtake.
struct NetworkOptions {
  double min_delay_s = 0.001;
  double max_delay_s = 0.001;
  double duplicate_chance = 0;
  /// What was on its way when its node left may still come, this much later; else it is lost.
  double late_chance = 0;
  double late_s = 0;
};

/// The searcher at the other end: answers in the order of asking.
struct SearcherModel {
  using Answer = std::variant<Config, Wait, Exhausted, engine::SearcherFailure>;
  /// The answer for a trial; Exhausted when there is none.
  std::function<Answer(TrialId)> suggest;
  double max_delay_s = 0.001;
  double wait_chance = 0;  ///< Of Wait, while some trial of its has not ended.
};

struct WorldOptions {
  std::uint64_t seed = 0;
  engine::EngineOptions engine;
  NetworkOptions network = {};
  SearcherModel searcher;
  bool saves_before_it_waits = true;  ///< Else a due checkpoint is stored after Proceed.
  std::uint64_t max_events = 20'000;  ///< More than that is a hang.
  std::function<void(const std::string&)> trace = {};  ///< Gets a line an event and command.
};

/// Everything around an engine, in virtual time and all from one seed: nodes, running trials, the
/// network between, the searcher. Every event goes by an EngineChecker. Faults are thrown as
/// BrokenInvariant with the state of both sides.
class EngineWorld : private SimulatedTrial::Surroundings {
 public:
  EngineWorld(WorldOptions options, std::unique_ptr<TrialScheduler> scheduler,
              std::unique_ptr<TrialBehaviour> behaviour);
  ~EngineWorld();

  /// Does `action` at that time of the world.
  void at(double time_s, std::function<void()> action);
  /// A node joins now. It may come back under its old id after it has left.
  void join(NodeId node, const std::string& name, const ResourceAmounts& capacity);
  /// A node leaves now; the engine hears of it a little later.
  void leave(NodeId node);
  void request_stop(const std::string& reason);
  void request_interrupt(const std::string& reason);
  /// Called when nothing goes on any more though the experiment has not ended; false: a hang.
  void on_standstill(std::function<bool()> action) { on_standstill_ = std::move(action); }

  /// Runs until Finish, and then until all that is on its way has arrived.
  void run();

  [[nodiscard]] const EngineChecker& books() const { return checker_; }
  [[nodiscard]] const engine::Engine& engine() const { return *engine_; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool is_present(NodeId node) const { return nodes_.contains(node); }

 private:
  struct Scheduled {
    double time_s = 0;
    std::uint64_t order = 0;  // ties keep their order
    std::function<void()> action;
    friend bool operator<(const Scheduled& a, const Scheduled& b) {
      return std::pair(a.time_s, a.order) > std::pair(b.time_s, b.order);  // the earliest on top
    }
  };

  // What a trial needs.
  void send(const engine::TrialMessage& message) override;
  void after(double seconds, std::function<void()> action) override;
  std::string load_checkpoint(const engine::Launch& launch) override;
  void store_checkpoint(const engine::CheckpointLocation& location,
                        const std::string& weights) override;

  void handle(const engine::Event& event);
  void deliver(const engine::TrialMessage& message, NodeId node, std::uint64_t presence);
  void carry_out(const engine::Command& command);
  void launch(const engine::Launch& launch);
  void answer(TrialId trial);
  /// To the trial on its node, after those before it.
  void order(TrialId trial, std::uint32_t incarnation, std::function<void(SimulatedTrial&)> order);
  [[nodiscard]] double delay();
  [[nodiscard]] std::string describe_state() const;

  WorldOptions options_;
  Random random_;
  std::unique_ptr<TrialBehaviour> behaviour_;
  RecordingScheduler* scheduler_;
  std::unique_ptr<engine::Engine> engine_;
  EngineChecker checker_;
  ReplayTwin twin_;
  std::function<bool()> on_standstill_;

  Time now_{0};
  std::priority_queue<Scheduled> queue_;
  std::uint64_t next_order_ = 0;
  std::uint64_t handled_events_ = 0;
  std::map<NodeId, std::uint64_t> nodes_;  // present ones; the number counts its joining
  std::uint64_t joinings_ = 0;
  using StartKey = std::pair<TrialId, std::uint32_t>;
  std::map<StartKey, std::unique_ptr<SimulatedTrial>> starts_;
  std::map<StartKey, double> last_order_at_;
  std::map<std::string, std::string> checkpoints_;  // weights, by "trial/directory" on the storage
  std::map<TrialId, bool> suggested_;               // true once the searcher knows its end
  std::optional<TrialId> waited_for_;
  double last_answer_at_ = 0;
};

}  // namespace tune::test
