#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <tune/experiment.hpp>
#include <tune/result_grid.hpp>

#include "runtime/callback_actor.hpp"
#include "runtime/experiment_setup.hpp"
#include "runtime/record_keeper.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::test {

/// The training code of a SteppedExperiment: what a step makes of its state, a number that stands
/// in the checkpoints.
using StateAfterStep = std::function<double(const Config&, double state, std::int64_t iteration)>;

struct SteppedOptions {
  StateAfterStep step;              ///< The metric "loss" is the state.
  std::int64_t steps = 1;           ///< Of a trial that nobody stops.
  std::int64_t snapshot_every = 0;  ///< Events from one snapshot to the next; 0: none.
  /// Somebody interrupts it after so many events of this run; 0: nobody does.
  std::uint64_t interrupt_after = 0;
  /// Called after each transaction; there is one for each event.
  std::function<void(std::uint64_t commit)> after_commit = [](std::uint64_t) {};
};

/// A whole experiment without an actor or a thread: what sets up, goes on, decides, records and
/// exports is the product's, but driver, agent and runner are a loop. So each run has the same
/// events in the same order, each a transaction of its own.
class SteppedExperiment {
 public:
  SteppedExperiment(Experiment& experiment, SteppedOptions options);
  ~SteppedExperiment();

  /// Runs it to its end, or goes on with what is on record. Wall clock and process are the only
  /// things that differ from run to run. @throws std::logic_error if it hangs
  ResultGrid run();

 private:
  struct Running {
    engine::Launch launch;
    std::int64_t iteration = 0;
    double state = 0;
    std::uint64_t sequence = 0;
    std::optional<Result> last;
    std::optional<std::int64_t> saved;
    bool stop = false;
    bool pause = false;
    bool save_due = false;
    bool save_at_stop = false;
  };

  void handle_next();
  void handle(engine::Event event);
  [[nodiscard]] Time next_time() const;
  void keep(engine::Command& command);
  void take_snapshots();
  void carry_out(engine::Command& command);
  void launch(const engine::Launch& launch);
  bool step();
  void train(Running& trial);
  void adopt(Running& trial);
  void save(Running& trial);
  void tell_stored(Running& trial, const std::string& name, core::CheckpointManifest files);
  void tell(Running& trial, engine::TrialReport report);
  void end_trial(Running& trial, engine::EndKind kind);
  [[nodiscard]] Running* find(TrialId id, std::uint32_t incarnation);

  SteppedOptions options_;
  CheckpointOptions checkpoint_;
  runtime::ExperimentSetup setup_;
  store::CheckpointStore store_;
  std::unique_ptr<runtime::RecordKeeper> keeper_;
  std::map<TrialId, Running> trials_;
  std::deque<engine::Event> events_;
  std::vector<runtime::Record> records_;  // of the event that is being handled
  store::EventNumber last_event_ = 0;
  std::uint64_t commits_ = 0;
  std::optional<Time> time_is_up_at_;
  std::optional<ExperimentEnd> end_;
};

}  // namespace tune::test
