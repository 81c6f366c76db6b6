#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/checkpoint.hpp>
#include <tune/experiment.hpp>
#include <tune/trainable.hpp>

#include "engine/engine.hpp"
#include "engine/suggestion_source.hpp"
#include "report/callback_hub.hpp"
#include "runtime/command_line.hpp"
#include "runtime/driver_actor.hpp"
#include "runtime/host.hpp"
#include "runtime/worker_times.hpp"
#include "store/directory_lock.hpp"
#include "store/journal.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// An experiment that was found good, with all that is needed to run it.
struct ExperimentSetup {
  std::optional<store::DirectoryLock> lock;  ///< Held until all else is gone.
  TrainableSpec trainable;
  std::vector<std::string> plugins;  ///< Files of those that are loaded, in their order.
  ExperimentInfo info;
  std::unique_ptr<engine::Engine> engine;
  std::shared_ptr<engine::SuggestionSource> suggestions;  // with the searcher's actor
  std::shared_ptr<report::CallbackHub> hub;               // with the callbacks' actor
  LocalMachine machine;
  Labels labels;  ///< Of this machine.
  ClusterOptions cluster;
  std::chrono::duration<double> node_timeout{0};
  std::chrono::duration<double> driver_grace{0};
  CheckpointOptions checkpoint;
  Isolation isolation = Isolation::processes;
  WorkerTimes times;
  bool reuse_workers = true;
  bool exit_on_signal = true;
  int verbosity = 1;
  bool show_output = false;
  Resume resume = Resume::automatic;
  std::filesystem::path resume_from;        ///< Absolute, or empty.
  std::shared_ptr<store::Journal> journal;  // with the journal's actor
  std::shared_ptr<const store::JournalReader>
      past;                    ///< With the callbacks' actor; null: it is new.
  std::set<TrialId> reopened;  ///< Trials that go on though they had ended.
  SessionBegin begin;
  std::vector<std::string> notes;  ///< For the log.
  std::string greeting;            ///< What to tell the user before it begins; often empty.
  bool is_complete = false;        ///< It is on record to its end, and there is nothing to do.
};

/// Sets the fields that the command line overrides, checks the definition, takes scheduler and
/// searcher, and makes the experiment's directory and journal; or, where the experiment is on
/// record, brings all of it to where the journal ends.
///
/// In their place the experiment keeps objects that a second run refuses; it keeps the overridden
/// fields, too.
/// @throws std::invalid_argument naming the field, its value and what is allowed, or how it differs
/// from the experiment on record; std::runtime_error if the journal cannot be read or written.
/// Nothing has started then, and what was on the disk is as it was; the scheduler is taken last.
[[nodiscard]] ExperimentSetup set_up(const TrainableSpec& trainable, Experiment& experiment,
                                     const std::vector<Override>& overrides = {});

}  // namespace tune::runtime
