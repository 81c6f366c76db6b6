#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tune/simulate.hpp>

#include "callback_caller.hpp"
#include "cluster_faults.hpp"
#include "engine/engine.hpp"
#include "engine/suggestion_source.hpp"
#include "event_heap.hpp"
#include "memory_grid.hpp"
#include "timeline_recorder.hpp"

namespace tune::sim {

struct StageSetup {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::SuggestionSource> suggestions;
  std::optional<Objective> objective;
  CheckpointOptions checkpoint;
  double step_timeout_s = 0;
  std::uint64_t seed = 0;
  std::vector<std::shared_ptr<Callback>> callbacks;
};

/// Under which what a checkpoint holds is kept.
[[nodiscard]] inline std::string stored_key(const std::string& trial_name,
                                            const std::string& directory) {
  return trial_name + '/' + directory;
}

/// The stage on which an engine runs under a virtual clock: does what driver, searcher's actor,
/// agents and workers do on the real ones, in one loop.
///
/// What is due lies in one heap. What trials and searcher tell goes through one inbox to the
/// engine; so no code of a trial runs inside the engine's turn, nor the other way round. By source
/// file: stage.cpp has the loop and the nodes, stage_commands.cpp carries out what the engine says,
/// stage_trials.cpp runs the trials.
class Stage {
 public:
  Stage(StageSetup setup, const Cluster& cluster, Workload& workload,
        const SimulationOptions& options);

  /// Runs it to its end; `info` says what the grid is of.
  [[nodiscard]] Simulation run(ExperimentInfo info);
  /// Is among the warnings of the simulation, if it is one of the first.
  void warn(std::string text);

 private:
  enum class Phase { starting, stepping, saving, waiting };
  struct Running {
    bool is_live = false;
    std::uint32_t generation = 0;  // counts what lived in this place, so that old news is known
    Phase phase = Phase::starting;
    bool is_dying = false;  // what is due next is its end
    engine::Launch launch = {};
    SimulatedStart start = {};
    SimulatedStep step = {};  // the one under way
    double step_seconds = 0;
    double begun_s = 0;
    double slowness = 1;
    double dies_at_s = ClusterFaults::never;
    double share = 0;  // of the cluster
    std::uint64_t sequence = 0;
    std::int64_t iteration = 0;
    std::int64_t saved = -1;
    double time_total_s = 0;
    std::optional<Result> last = {};  // one that reached the horizon
    bool save_due = false;
    bool stop = false;
    bool pause = false;
    bool save_at_stop = false;
    bool finishing = false;
    std::string failure = {};  // of the step under way
    bool is_invalid = false;
  };
  enum class What { trial, timer, node_lost, node_back, suggestion };
  struct Item {
    What what = What::trial;
    std::uint32_t place = 0;       // of a trial
    std::uint32_t generation = 0;  // of a trial
    std::uint64_t id = 0;          // of a timer or node
  };
  struct StoredState {
    TrialId owner;
    std::any state;
  };

  // stage.cpp
  void loop();
  void on_due(const Item& item);
  void drain_inbox();
  void handle(engine::Event&& event);
  void join(NodeId node);
  void lose(NodeId node);
  void note_state();
  [[nodiscard]] bool is_stranded() const;

  // stage_commands.cpp
  void carry_out_all();
  template <class Command>
  void carry_out(Command& command);
  template <class Record>
  void record(Record& record);
  void launch(engine::Launch& command);
  void ask(TrialId trial);
  [[nodiscard]] double share_of(const engine::Launch& launch) const;
  [[nodiscard]] Running* find(TrialId trial, std::uint32_t incarnation);

  // stage_trials.cpp
  void begin(Running& trial);
  void set_up(Running& trial);
  void on_due(Running& trial);
  void begin_step(Running& trial);
  void finish_step(Running& trial);
  void report(Running& trial);
  void boundary(Running& trial);
  [[nodiscard]] bool must_save(const Running& trial) const;
  void begin_save(Running& trial);
  void store(Running& trial, const std::string& directory);
  void schedule(Running& trial, double seconds);
  void end(Running& trial, engine::EndKind kind, const std::string& message = {});
  void release(Running& trial, SimulatedEnd how);
  void tell(Running& trial, engine::TrialReport&& report);

  StageSetup setup_;
  const Cluster& cluster_;
  Workload& workload_;
  ClusterFaults faults_;
  bool can_save_;

  double now_s_ = 0;
  EventHeap<Item> heap_;
  std::uint64_t losses_due_ = 0;      // of what is in the heap
  std::vector<engine::Event> inbox_;  // from `inbox_begin_` on
  std::size_t inbox_begin_ = 0;
  double driver_free_s_ = 0;
  std::vector<engine::Command> commands_;  // take effect when the driver is free
  std::optional<engine::SuggestionReady> answer_;

  std::vector<Running> running_;  // places; those not live are free
  std::vector<std::uint32_t> free_places_;
  std::unordered_map<std::uint64_t, std::uint32_t> place_of_;  // by trial; only looked up
  std::unordered_map<std::string, StoredState> stored_;        // only looked up
  std::vector<LocalResources> nodes_;                          // what each of them offers
  std::vector<std::optional<std::uint64_t>> joinings_;         // of each node; empty: lost
  std::vector<std::uint64_t> joined_;                          // how often, each node
  ResourceAmounts capacity_;                                   // of all of them together

  std::shared_ptr<MemoryGrid> grid_;
  CallbackCaller callbacks_;
  TimelineRecorder timeline_;
  double in_use_ = 0;  // the share of the cluster
  Simulation out_;
  std::optional<ExperimentEnd> end_;
  bool is_given_up_ = false;
};

}  // namespace tune::sim
