#pragma once

#include <chrono>
#include <memory>
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
#include "runtime/worker_times.hpp"

namespace tune::runtime {

/// An experiment that was found good, with all that is needed to run it.
struct ExperimentSetup {
  TrainableSpec trainable;
  ExperimentInfo info;
  std::unique_ptr<engine::Engine> engine;
  std::shared_ptr<engine::SuggestionSource> suggestions;  // with the searcher's actor
  std::shared_ptr<report::CallbackHub> hub;               // with the callbacks' actor
  ResourceAmounts capacity;                               ///< Of this machine.
  CheckpointOptions checkpoint;
  Isolation isolation = Isolation::processes;
  WorkerTimes times;
  bool reuse_workers = true;
  bool exit_on_signal = true;
  int verbosity = 1;
  bool show_output = false;
};

/// Sets the fields that the command line overrides, checks the definition, takes scheduler and
/// searcher, and makes the experiment's directory.
///
/// In their place the experiment keeps objects that a second run refuses; it keeps the overridden
/// fields, too.
/// @throws std::invalid_argument naming the field, its value and what is allowed. Nothing has
/// started then, and there is no directory; the scheduler is taken last.
[[nodiscard]] ExperimentSetup set_up(const TrainableSpec& trainable, Experiment& experiment,
                                     const std::vector<Override>& overrides = {});

}  // namespace tune::runtime
