#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <tune/callback.hpp>
#include <tune/ids.hpp>

#include "engine/commands.hpp"
#include "engine/decisions.hpp"
#include "engine/events.hpp"
#include "report/progress_tracker.hpp"
#include "runtime/node_mail.hpp"
#include "runtime/transfer_messages.hpp"
#include "store/journal.hpp"

/// What the actors of an experiment tell each other: plain values, so that an agent may as well be
/// on another machine. Each turn of an actor sends at most one message to each other one.
namespace tune::runtime {

// ---- The driver to a node's agent ----

/// All messages of a trial's start with a sequence below `count` have reached their end.
struct Acknowledgement {
  NodeId node;
  TrialId trial;
  std::uint32_t incarnation = 0;
  std::uint64_t count = 0;
};
using NodeCommand = std::variant<engine::Launch, engine::Proceed, engine::Save, engine::Pause,
                                 engine::Stop, engine::DeleteCheckpoint>;
struct NodeTurn {
  std::vector<NodeCommand> commands;
  std::vector<Acknowledgement> acknowledgements;
};
/// The answer to NodeHello: the node's id from now on, and what goes on of NodeHello::held.
struct NodeWelcome {
  NodeId node;
  std::vector<engine::Adopt> adopted = {};
};
/// Another node is lost. Before anything that it held is granted anew.
struct NodeGone {
  NodeId node;
};
/// End all trials and then yourself.
struct EndNode {};
/// Have all trials save and end, pass on what they tell, and then end yourself. For the driver they
/// have not ended: they go on elsewhere.
struct LeaveNode {};

/// Another trial may run in this worker process.
struct WorkerIdle {
  std::uint64_t worker = 0;
};
/// A worker process died while a trial ran there; what it was saving is unfinished.
struct WorkerDied {
  std::string trial_name;
  std::int64_t pid = 0;
};
/// This worker process is no more. If `trials` is not the number of those that it was told to run,
/// one is on its way, and a new process will be started for it.
struct WorkerGone {
  std::uint64_t worker = 0;
  std::uint64_t trials = 0;
  std::int64_t pid = 0;  ///< 0 if it never was there.
};
/// No GPU has memory of this worker's process any more, or there is no sense in waiting longer.
struct GpusFree {
  std::uint64_t worker = 0;
  std::string warning;
};

/// Are you there? The agent itself answers.
struct NodePing {
  std::uint64_t number = 0;
};
struct NodePong {
  std::uint64_t number = 0;
};

/// A node, as the driver knows it: its agent, or who stands for one on another machine.
using NodeActor = caf::typed_actor<caf::reacts_to<NodeWelcome>, caf::reacts_to<NodeTurn>,
                                   caf::reacts_to<NodeLetter>, caf::reacts_to<NodeGone>>;
using AgentActor =
    NodeActor::extend<caf::reacts_to<struct TrialNews>, caf::reacts_to<struct FlushNews>,
                      caf::reacts_to<WorkerIdle>, caf::reacts_to<WorkerDied>,
                      caf::reacts_to<WorkerGone>, caf::reacts_to<GpusFree>,
                      caf::reacts_to<struct TeamMail>, caf::reacts_to<struct NodeNote>,
                      caf::replies_to<NodePing>::with<NodePong>, caf::reacts_to<EndNode>,
                      caf::reacts_to<LeaveNode>, caf::reacts_to<FilesAt>>;

/// The actor of a node that does what may take long on its disk. EndNode ends it, behind all that
/// it was told before.
using DiskActor = caf::typed_actor<caf::reacts_to<engine::DeleteCheckpoint>,
                                   caf::reacts_to<WorkerDied>, caf::reacts_to<EndNode>>;

// ---- An agent to the driver ----

/// A node offers itself.
struct NodeHello {
  std::string name;  ///< Host name.
  std::string ip;
  std::int64_t pid = 0;
  ResourceAmounts capacity;
  NodeActor agent;
  Labels labels = {};
  bool is_local = true;      ///< In the driver's process.
  bool takes_part = true;    ///< False: it runs no trials.
  bool shares_files = true;  ///< It sees the experiment's directory; else it has checkpoints too.
  std::vector<engine::HeldRun> held = {};  ///< What it has kept since its last driver died.
};
/// A node is gone for good, and with it all that ran there.
struct NodeLost {
  NodeId node;
  std::string reason;
};
/// What trials of a node told, in order for each trial.
struct NodeNews {
  NodeId node;
  std::vector<engine::TrialMessage> messages;
};
/// Something went wrong at a node that ends nothing.
struct NodeWarning {
  std::string text;
};
/// Something worth knowing about a node.
struct NodeNote {
  std::string text;
};

/// Whom an agent serves: the driver, or who stands for it on another machine.
using UpstreamActor = caf::typed_actor<caf::reacts_to<NodeHello>, caf::reacts_to<NodeNews>,
                                       caf::reacts_to<NodeWarning>, caf::reacts_to<NodeNote>,
                                       caf::reacts_to<NodeLetter>>;

// ---- An agent and the actor of each running trial ----

using TrialOrder =
    std::variant<engine::Proceed, engine::Save, engine::Pause, engine::Stop, Acknowledgement>;
struct TrialOrders {
  std::vector<TrialOrder> orders;
};
/// What one trial told, or one of its parallel workers.
struct TrialNews {
  std::vector<engine::TrialMessage> messages;
  std::optional<std::size_t> rank = {};  ///< The worker's.
};
/// What the process of a trial says to one of its parallel workers, or the other way round.
struct TeamMail {
  TrialId trial;
  std::uint32_t incarnation = 0;
  bool to_worker = true;
  std::size_t rank = 0;  ///< The worker's.
  Json body;             ///< See TeamLetter.
};
/// The agent to itself: pass on what has come in.
struct FlushNews {};

/// Whoever runs a trial for its agent.
using OrdersActor = caf::typed_actor<caf::reacts_to<TrialOrders>>;

/// The state of scheduler or searcher after an event.
struct SnapshotTaken {
  std::string what;  ///< "scheduler" or "searcher".
  store::EventNumber event = 0;
  Json state;
};

// ---- The driver and the searcher ----

using SearcherCommand = std::variant<engine::AskSearcher, engine::TellSearcherResult,
                                     engine::TellSearcherCompleted, engine::TellSearcherFailed>;
struct SearcherTurn {
  std::vector<SearcherCommand> commands;
  /// If not 0: tell the state after these commands, which is that after this event.
  store::EventNumber snapshot_after = 0;
};
/// The searcher is through with a turn of `commands` commands.
struct SearcherTurnDone {
  std::uint64_t commands = 0;
  std::vector<engine::SuggestionReady> suggestions;
  std::string fault;  ///< It threw where it was told something; empty if not.
  std::optional<SnapshotTaken> snapshot = {};
};

using SearcherActor = caf::typed_actor<caf::replies_to<SearcherTurn>::with<SearcherTurnDone>>;

// ---- The driver and the journal, the journal and the callbacks ----

/// An event as the engine saw it; before the records that came of it.
struct JournalEvent {
  store::EventNumber number = 0;
  Time time{0};
  engine::Event event;
  engine::Decisions decisions;
  /// The event is a result, and all of it but `done` stands in the one record that came of it.
  bool is_plain_result = false;
};

/// A start that is on record goes on in this session.
struct TrialAdopted {
  TrialInfo trial;
};

using Record =
    std::variant<JournalEvent, SnapshotTaken, engine::RecordTrialAdded, TrialInfo, TrialAdopted,
                 engine::RecordResult, engine::RecordCheckpoint, engine::RecordCheckpointDamaged,
                 engine::DeleteCheckpoint, engine::RecordTrialState, engine::RecordSaved,
                 engine::RecordSavedDropped, engine::RecordRestarted, engine::RecordExploit,
                 engine::RecordExploitsDropped, engine::RecordExplanation, engine::RecordWarning,
                 NodeNote>;
struct RecordTurn {
  std::vector<Record> records;
  std::vector<Acknowledgement> acknowledgements;  ///< Due once the records are in the journal.
  std::optional<report::RunStatus> status = {};   ///< For displays, now and then.
};
/// `records` records are in the journal.
struct TurnCommitted {
  std::uint64_t records = 0;
  std::vector<Acknowledgement> acknowledgements;
  /// Once there is one, in every answer; then no records go to the callbacks.
  std::string storage_error;
};
/// The callbacks are through with a turn of `records` records.
struct RecordTurnDone {
  std::uint64_t records = 0;
  /// Checkpoints that may go now: no callback will hear of them any more.
  std::vector<engine::DeleteCheckpoint> deletions;
  std::string storage_error;  ///< Once there is one, in every answer.
};
/// The journal to itself, behind all that waits: what was put in makes a transaction.
struct CommitDue {};
/// The last that the journal hears: how it ended. It closes the file.
struct EndJournal {
  ExperimentEnd end;
};

/// The last that the callbacks hear: how it ended, and what went wrong on the way there.
struct EndRecords {
  ExperimentEnd end;
  std::vector<std::string> warnings;
};

/// The callbacks to themselves, behind all that waits: a good moment to flush.
struct WritingPause {};

/// The callbacks to themselves: time for the next report of the progress.
struct ProgressDue {};

using CallbackActor = caf::typed_actor<caf::replies_to<RecordTurn>::with<RecordTurnDone>,
                                       caf::reacts_to<WritingPause>, caf::reacts_to<ProgressDue>,
                                       caf::reacts_to<EndRecords>>;

/// Puts turns into the journal and passes them on to the callbacks, which so hear of nothing that
/// could be lost.
using JournalActor = caf::typed_actor<caf::reacts_to<RecordTurn>, caf::reacts_to<CommitDue>,
                                      caf::reacts_to<RecordTurnDone>, caf::reacts_to<EndJournal>>;

// ---- The driver ----

/// The driver to itself: something has changed since it last told its status.
struct StatusDue {};
/// The driver to itself: time to send records that wait for others.
struct RecordsDue {};

using DriverActor =
    UpstreamActor::extend<caf::reacts_to<NodeLost>, caf::reacts_to<SearcherTurnDone>,
                          caf::reacts_to<TurnCommitted>, caf::reacts_to<RecordTurnDone>,
                          caf::reacts_to<engine::TimerFired>, caf::reacts_to<StatusDue>,
                          caf::reacts_to<RecordsDue>, caf::reacts_to<engine::StopRequested>>;

/// The driver to the one who runs the experiment: it is over.
struct ExperimentOver {
  ExperimentEnd end;
};

}  // namespace tune::runtime

// They stay within the process: CAF must not put them on a wire (it would damage doubles that are
// not finite). See runtime/node_messages.hpp for what crosses it.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeTurn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeWelcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeLetter)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeGone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::EndNode)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::LeaveNode)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeHello)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeLost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodePing)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodePong)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeNews)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeWarning)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::NodeNote)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::TrialOrders)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::TrialNews)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::TeamMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::FlushNews)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::WorkerIdle)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::WorkerDied)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::WorkerGone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::GpusFree)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SearcherTurn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SearcherTurnDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::RecordTurn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::RecordTurnDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::TurnCommitted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::CommitDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::EndJournal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::EndRecords)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::ExperimentOver)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::WritingPause)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::ProgressDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::StatusDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::RecordsDue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::engine::DeleteCheckpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::engine::TimerFired)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::engine::StopRequested)
