#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tune/scheduler.hpp>

#include "decision_tape.hpp"
#include "engine/engine.hpp"
#include "engine/placement.hpp"
#include "stop_evaluator.hpp"
#include "trial_record.hpp"
#include "trial_records.hpp"

namespace tune::engine {

/// The engine itself. By source file: engine.cpp dispatches events and ends the experiment,
/// engine_session.cpp begins one and goes on with it another time, and replays events,
/// engine_adrift.cpp waits for nodes that outlived the driver,
/// engine_launch.cpp fills free slots, engine_results.cpp judges what trials tell,
/// engine_transitions.cpp moves trials from state to state, engine_checkpoints.cpp knows what they
/// can go back to, engine_saves.cpp what they saved, engine_scheduler.cpp talks with the scheduler.
class Engine::Implementation {
 public:
  Implementation(EngineOptions options, std::unique_ptr<TrialScheduler> scheduler);

  void handle(Event&& event, Time now, std::vector<Command>& commands);
  void replay(const Event& event, Time now, const Decisions& decisions, bool asks_scheduler,
              std::vector<Command>& commands);
  void begin_replay(KeepEnded keep) { keep_ended_ = std::move(keep); }
  [[nodiscard]] Reopenable reopenable() const;
  [[nodiscard]] bool is_finished() const { return finished_; }
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] std::string waiting_reason() const;

  EngineOptions options_;
  std::unique_ptr<TrialScheduler> scheduler_;
  SchedulerContext context_;
  Placement placement_;
  DecisionTape tape_;

 private:
  // engine.cpp
  void on(const NodeJoined& event);
  void on(const NodeLeft& event);
  void on(const SuggestionReady& event);
  void on(TrialMessage& event);
  void on(const TimerFired& event);
  void on(const StopRequested& event);
  void cripple(TrialRecord& record, const std::string& reason);
  void run(Event&& event, Time now, std::vector<Command>& commands);
  void end_by_time();
  void begin_ending(const std::string& reason, const std::string& error = {});
  void break_off(const std::string& reason, const std::string& error);
  void interrupt(const std::string& reason);
  void settle();
  [[nodiscard]] bool is_waiting_for_nodes() const;
  [[nodiscard]] std::vector<TrialId> waiting_for_retry() const;
  void finish();

  // engine_session.cpp
  void on(const SessionStarted& event);
  void take_options(const SessionStarted& event);
  void go_on();
  void take_up(TrialId id, bool has_time);
  [[nodiscard]] static bool has_saved_last(const TrialRecord& record);
  void keep_clone(TrialRecord& record);
  void lose_all_nodes();
  void take_back(const std::vector<TrialId>& lost);
  void withdraw_ask();
  void reopen(TrialId id);
  void judge_untold(TrialId id);
  void restart(TrialId id);
  TrialRecord* revive(TrialId id);
  static void let_run(TrialRecord& record);
  [[nodiscard]] bool is_kept(const TrialRecord& record, TrialState state) const;

  // engine_adrift.cpp
  [[nodiscard]] bool may_come_back(const TrialRecord& record) const;
  void begin_driver_grace();
  void end_driver_grace();
  void adopt(const NodeJoined& event);
  /// False if it cannot be.
  [[nodiscard]] bool adopt(TrialRecord& record, NodeId node, const HeldRun& held);
  void give_up_adrift(TrialRecord& record);
  void interrupt_adrift();
  void begin_session_of(TrialRecord& record);
  [[nodiscard]] std::vector<TrialId> adrift() const;

  // engine_launch.cpp
  enum class Fill {
    no_room,  // until something is given back
    no_node,  // for some that wait; for the others as `idle`
    idle,
  };
  Fill fill_slots();
  std::optional<Fill> fill_slot();
  [[nodiscard]] bool is_full() const;
  std::optional<Fill> launch(TrialRecord& record);
  [[nodiscard]] SharedRequest request_of(TrialRecord& record);
  [[nodiscard]] ResourceRequest ask_for_resources(const Resources& resources, const Config& config);
  void check_bounded(const ResourceRequest& request) const;
  void refuse_request(TrialRecord& record, const std::string& error);
  void await_node(TrialRecord& record, const SharedRequest& request);
  void give_up_waiting(TrialRecord& record);
  void watch_infeasible();
  void end_infeasible();
  [[nodiscard]] std::string no_big_node_text(const ResourceRequest& request) const;
  [[nodiscard]] bool are_slots_lost() const;
  [[nodiscard]] const Config& config_of_next_start(const TrialRecord& record) const;
  [[nodiscard]] static core::SharedExploit exploit_of(const TrialRecord& record);
  void start(TrialRecord& record, const SharedRequest& request, Placement::Grant grant);
  [[nodiscard]] bool can_ask() const;
  [[nodiscard]] bool has_room_for_another() const;
  [[nodiscard]] bool may_have_more_trials() const;
  void ask();

  // engine_results.cpp
  void on(TrialRecord& record, const Started& report);
  void on(TrialRecord& record, Reported& report);
  void on(TrialRecord& record, const CheckpointFailed& report);
  void on(TrialRecord& record, const Warned& report);
  void on(TrialRecord& record, const Ended& report);
  void settle_end(TrialRecord& record, const Ended& report);
  void judge_again(TrialRecord& record, Result result);
  void set_last(TrialRecord& record, const Result& result);
  void judge(TrialRecord& record, Result result);
  /// What the scheduler needs of a result and does not find.
  struct Missing {
    std::string text;  // empty: nothing
    bool is_wrong_type = false;
  };
  [[nodiscard]] Missing missing_fields(const Result& result) const;
  [[nodiscard]] std::vector<std::string> needed_fields() const;
  [[nodiscard]] CriteriaAnswer ask_stop_criteria(TrialRecord& record, const Result& result);
  [[nodiscard]] bool has_progressed(TrialRecord& record, const Result& result);
  void tell_searcher(const TrialRecord& record, const Result& result);
  void continue_if_waiting(TrialRecord& record);
  [[nodiscard]] Horizon horizon_of(const TrialRecord& record) const;

  // engine_transitions.cpp
  void hold_state(TrialRecord& record, TrialState state);
  void set_state(TrialRecord& record, TrialState state, const std::string& reason,
                 const std::string& error = {});
  void carry_out(TrialRecord& record);
  void stop(TrialRecord& record, const std::string& reason);
  void fail_for_good(TrialRecord& record, const std::string& error);
  void pause(TrialRecord& record);
  void end_run(TrialRecord& record);
  void leave_unfinished(TrialRecord& record);
  void rest(TrialRecord& record);
  void retry_or_fail(TrialRecord& record, const std::string& error);
  void begin_retry_pause(TrialRecord& record);
  [[nodiscard]] Time retry_pause_after(std::int64_t failures) const;
  static void distrust_names(TrialRecord& record);
  void go_back_after_loss(TrialRecord& record, const std::string& reason);
  void make_pending(TrialRecord& record, const std::string& reason, const std::string& error = {});
  void terminate(TrialRecord& record, const std::string& reason);
  void fail(TrialRecord& record, const std::string& reason, const std::string& error,
            bool infeasible);
  void check_failure_limits(TrialId failed);
  void forget(TrialRecord& record, TrialState state);

  // engine_checkpoints.cpp
  void on(TrialRecord& record, const CheckpointStored& report);
  [[nodiscard]] double score_of(const TrialRecord& record, std::int64_t iteration) const;
  void cancel_exploit(TrialRecord& record);
  void end_adoption(Run& run);
  void record_exploit(TrialRecord& record);
  void pin(const CheckpointLocation& checkpoint);
  void unpin(TrialId owner, const CheckpointLocation& checkpoint);
  [[nodiscard]] std::vector<bool> kept_checkpoints(const TrialRecord& record) const;
  void trim_checkpoints(TrialRecord& record);
  void keep_orphans(const TrialRecord& record);
  [[nodiscard]] CheckpointLocation location(const TrialRecord& record,
                                            const StoredCheckpoint& checkpoint) const;
  [[nodiscard]] std::vector<TrialId> drop_damaged(TrialRecord& record, const std::string& message);
  void forget_damaged(TrialId owner, const CheckpointLocation& checkpoint,
                      const std::string& message);
  bool fail_if_lost(TrialRecord& record, const std::string& error = {});

  // engine_saves.cpp
  void on(TrialRecord& record, const Saved& report);
  void on(TrialRecord& record, const WentBack& report);
  void drop_later(TrialRecord& record, std::int64_t iteration);
  void drop_later_checkpoints(TrialRecord& record, std::int64_t iteration);
  void drop_saves(TrialRecord& record, const std::vector<SavedValue>& dropped);
  void delete_files(const TrialRecord& record, const SavedValue& saved);

  // engine_scheduler.cpp
  template <class Call>
  SchedulerAnswer ask_scheduler(const char* method, std::optional<TrialId> trial, Call call);
  void tell_added(TrialRecord& record);
  [[nodiscard]] Decision tell_result(TrialRecord& record, const Result& result);
  void tell_completed(TrialRecord& record);
  void tell_failed(TrialRecord& record);
  [[nodiscard]] NewTrials new_trials() const;
  /// What to run next: a trial, hold, or neither.
  [[nodiscard]] SchedulerAnswer choose();
  void carry_out_requests();
  void on(const StopTrial& request);
  void on(const PauseTrial& request);
  void on(const UnpauseTrial& request);
  void on(const SaveTrial& request);
  void on(const ExploitTrial& request);
  void on(const ChangeResources& request);
  void on(const DecisionHorizon& request);
  void on(const Explanation& request);
  void scheduler_fault(const std::string& text);

  template <class C>
  void emit(C&& command) {
    commands_->emplace_back(std::forward<C>(command));
  }
  [[nodiscard]] TrialRecord* find(TrialId id);
  [[nodiscard]] double target_of(const std::optional<Objective>& objective,
                                 const Result& result) const;

  std::optional<Objective> scheduler_objective_;
  std::optional<Objective> searcher_objective_;
  std::optional<Objective> checkpoint_objective_;  // by which the best checkpoints are kept
  SharedRequest request_;  // of each trial, where it is known beforehand; else null
  std::string time_attr_;
  std::string scheduler_name_;
  StopEvaluator stop_;
  TrialRecords records_;  // live trials
  KeepEnded keep_ended_;
  std::map<TrialId, EndedTrial> ended_;  // those that a replay keeps
  Counts counts_;
  std::vector<Command>* commands_ = nullptr;

  std::uint64_t next_trial_ = 0;
  bool has_own_requests_ = false;       // some trial was given other resources than the usual
  std::uint64_t refused_requests_ = 0;  // trials that failed for their resources
  bool searcher_exhausted_ = false;
  bool searcher_waits_ = false;     // no ask until it has learned something
  bool searcher_has_news_ = false;  // it was told something since it was asked
  bool resources_changed_ = true;   // something happened that may let a blocked start go ahead
  Fill last_fill_ = Fill::idle;
  std::map<TrialId, SharedRequest> waiting_for_node_;  // big enough: none is there
  std::optional<Time> infeasible_since_;  // nothing runs, and no node is big enough for `request_`

  std::set<NodeId> remote_nodes_;
  std::int64_t session_ = 0;
  Time adrift_until_{0};  // some trials wait for their node until then

  std::map<std::pair<std::string, std::string>, std::int64_t> pins_;
  std::set<std::pair<std::string, std::string>> orphans_;  // of ended trials, kept for their pins

  std::optional<SuggestionReady> late_suggestion_;  // came while the experiment ended

  bool started_ = false;
  bool scheduler_failed_ = false;
  bool ending_ = false;       // nothing starts any more
  bool interrupted_ = false;  // ending so that what runs is left unfinished
  bool is_time_up_ = false;   // and that is why
  bool finished_ = false;
  std::string end_reason_;
  std::string end_error_;
};

}  // namespace tune::engine
