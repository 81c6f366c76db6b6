#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/objective.hpp>

#include "engine/engine.hpp"
#include "support/plateau_model.hpp"
#include "support/recording_scheduler.hpp"
#include "support/resource_ledger.hpp"
#include "support/trial_log.hpp"

namespace tune::test {

/// Follows an engine from outside, by events and commands alone, and throws BrokenInvariant at the
/// first thing that must never happen. The books are its own; of the engine it asks only what its
/// header offers for tests: counts, free resources and the reason of waiting.
class EngineChecker {
 public:
  EngineChecker(engine::EngineOptions options, RecordingScheduler& scheduler);

  /// Call before Engine::handle(event).
  void before(const engine::Event& event, Time now);
  /// Call after it, with the commands that it gave.
  void after(const std::vector<engine::Command>& commands, const engine::Engine& engine);

  [[nodiscard]] const std::map<TrialId, TrialLog>& trials() const { return trials_; }
  [[nodiscard]] const TrialLog& trial(TrialId id) const;
  [[nodiscard]] const std::optional<ExperimentEnd>& end() const { return end_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] const std::vector<std::int64_t>& told(TrialId id) const {
    return scheduler_.told(id);
  }
  [[nodiscard]] bool is_running(TrialId trial, std::uint32_t incarnation) const;
  [[nodiscard]] const ResourceLedger& resources() const { return ledger_; }
  /// True if a trial did not end in time and took its slot with it.
  [[nodiscard]] bool has_lost_slots() const { return has_lost_slots_; }
  /// The books, for the state that a failure prints.
  [[nodiscard]] std::string describe_state() const;

 private:
  // What an event means.
  void on(const engine::NodeJoined& event);
  void on(const engine::NodeLeft& event);
  void on(const engine::SuggestionReady& event);
  void on(const engine::TrialMessage& event);
  void on(const engine::TimerFired& event);
  void on(const engine::StopRequested& event);
  void on(const engine::SessionStarted& event);
  void accept(TrialId id, RunningStart& running, const engine::TrialReport& report);
  void accept_end(TrialId id, const engine::Ended& ended);

  // What a command means.
  void on(const engine::AskSearcher& command);
  void on(const engine::TellSearcherResult& command);
  void on(const engine::TellSearcherCompleted& command);
  void on(const engine::TellSearcherFailed& command);
  void on(const engine::Launch& command);
  void on(const engine::Proceed& command);
  void on(const engine::Save& command);
  void on(const engine::Pause& command);
  void on(const engine::Stop& command);
  void on(const engine::Adopt&) {}  // of another session
  void on(const engine::RecordTrialAdopted&) {}
  void on(const engine::DeleteCheckpoint& command);
  void on(const engine::SetTimer& command);
  void on(const engine::RecordTrialAdded& command);
  void on(const engine::RecordTrialStarted& command);
  void on(const engine::RecordResult& command);
  void on(const engine::RecordCheckpoint& command);
  void on(const engine::RecordCheckpointDamaged& command);
  void on(const engine::RecordTrialState& command);
  void on(const engine::RecordSaved& command);
  void on(const engine::RecordSavedDropped& command);
  void on(const engine::RecordRestarted& command);
  void on(const engine::RecordExploit& command);
  void on(const engine::RecordExploitsDropped& command);
  void on(const engine::RecordExplanation& command);
  void on(const engine::RecordWarning& command);
  void on(const engine::Finish& command);

  void note_refusal(TrialId id);
  void note_scheduler_fault();
  void note_pause(TrialLog& trial) const;
  void note_failed_trial();
  void begin_interrupt();
  [[nodiscard]] bool may_be_judged() const;
  [[nodiscard]] bool has_thrown_now() const;
  void check_left(TrialId id, const TrialLog& trial, const engine::RecordTrialState& record) const;
  /// Each gives the checkpoint from which the launch starts.
  CheckpointLog check_source(const TrialLog& trial, const engine::Launch& launch) const;
  CheckpointLog check_adoption(const TrialLog& trial, const engine::Launch& launch) const;
  /// The objective by which the best checkpoints are kept.
  [[nodiscard]] std::optional<Objective> checkpoint_objective() const;
  [[nodiscard]] double score_of(const TrialLog& trial, std::int64_t iteration) const;
  /// Whether a checkpoint is one of the newest or of the best.
  [[nodiscard]] bool must_be_kept(const TrialLog& trial, const CheckpointLog& checkpoint) const;
  void note_damage(const RunningStart& running);
  void check_checkpoints(TrialId id, const TrialLog& trial) const;
  void check_request(const engine::Launch& launch) const;
  RunningStart& ordered(TrialId trial, std::uint32_t incarnation, NodeId node,
                        const std::string& what);
  TrialLog& told_end(TrialId trial, TrialState state);

  // After all commands of an event.
  void note_requests();
  void note_choice(const RecordingScheduler::Call& call);
  void note_decisions();
  void note_decision(const RecordingScheduler::Call& call);
  void check_refused(const engine::Command& command) const;
  void check_arrivals();
  void check_stops();
  void check_trial(TrialId id, const TrialLog& trial) const;
  void check_counts(const engine::Engine& engine) const;
  void check_waiting(const engine::Engine& engine) const;
  void check_pauses(const engine::Engine& engine) const;
  /// What the stop criteria say.
  struct Verdict {
    Certainty stop_trial = Certainty::no;
    Certainty stop_experiment = Certainty::no;
    Certainty threw = Certainty::no;
  };
  [[nodiscard]] Verdict judge(TrialId id, const Result& result);
  [[nodiscard]] bool has_requests() const;
  [[nodiscard]] std::int64_t count_running() const;
  [[nodiscard]] bool is_checkpoint_needed(const engine::CheckpointLocation& location) const;
  TrialLog& known(TrialId id, const std::string& what);
  TrialLog& unended(TrialId id, const std::string& what);
  [[noreturn]] void broken(TrialId trial, const std::string& text) const;

  /// A result or checkpoint that arrived in order with this event, and what must become of it.
  struct Arrival {
    TrialId trial;
    std::uint32_t incarnation = 0;
    engine::TrialReport report;
    bool is_new = false;  ///< Beyond all that was recorded before, and nothing is decided.
    /// It is beyond all that was recorded before, and nothing ended the trial or the experiment.
    Certainty is_open = Certainty::no;
    bool must_be_told = false;  ///< To the scheduler.
    bool may_be_told = false;
    bool is_waiting = false;  ///< It reached the horizon, so that a decision comes in time.
    bool may_be_dropped = false;
    bool is_recorded = false;
    bool is_told = false;
  };
  void note_result(TrialId id, const RunningStart& running, const Result& result);
  [[nodiscard]] Certainty is_judged(const Arrival& arrival, const Result& result) const;
  [[nodiscard]] const RecordingScheduler::Call* call_on(TrialId trial,
                                                        std::int64_t iteration) const;
  void check_done(TrialId id, const Arrival& arrival, const Result& recorded);
  Arrival& next_arrival(TrialId trial, std::uint32_t incarnation, bool is_result);

  engine::EngineOptions options_;
  RecordingScheduler& scheduler_;
  ResourceLedger ledger_;
  PlateauModel plateaus_;
  std::map<TrialId, TrialLog> trials_;
  std::map<std::string, TrialId> names_;
  std::map<TrialId, std::vector<Resources>> requests_;  // by set_resources, the newest last
  struct Exploit {
    TrialId source;
    Config config;
    // The newest of the source when it was asked for. It may have got one within the same event,
    // before or after that.
    std::vector<CheckpointLog> newest;
    bool is_new = true;  // asked for in the present event
  };
  std::map<TrialId, std::vector<Exploit>> exploits_;  // asked for, by target
  std::vector<std::string> warnings_;
  std::optional<ExperimentEnd> end_;
  std::deque<TrialId> asked_;
  std::uint64_t next_trial_ = 0;        // the first id that the searcher was never asked for
  std::optional<TrialId> asked_again_;  // the id whose answer was Wait
  std::uint64_t refused_messages_ = 0;
  std::uint64_t invalid_trials_ = 0;
  std::uint64_t refused_trials_ = 0;  // for their resources
  std::optional<std::uint64_t> budget_timer_;
  Time now_{0};
  bool ending_ = false;      // somebody ended the experiment before this event or with it
  bool is_time_up_ = false;  // the time budget ended it, if nothing else did
  Certainty interrupted_ = Certainty::no;  // by an interrupt, which ends no trial
  std::int64_t failed_trials_ = 0;
  bool scheduler_threw_ = false;
  bool is_exhausted_ = false;
  bool has_lost_slots_ = false;
  bool may_end_early_ = false;  // a stop criterion may have ended the experiment, or not

  // Of the present event.
  std::vector<Arrival> arrivals_;
  bool is_stopped_now_ = false;  // a result of it stopped the trial whose results arrive
  std::map<TrialId, RunningStart> ended_now_;  // starts that were live when the event came
  std::optional<TrialId> suggested_now_;
  std::optional<TrialId> refused_now_;  // whose message is of an old incarnation or a duplicate
  std::vector<TrialId> stopped_now_;
  std::vector<RecordingScheduler::Call> calls_;
};

}  // namespace tune::test
