#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <tune/checkpoint.hpp>
#include <tune/trainable.hpp>

#include "engine/commands.hpp"
#include "engine/events.hpp"
#include "runtime/trial_link.hpp"

namespace tune::runtime {

class WorkerTeam;

/// A place among the parallel workers of a trial.
struct TeamPlace {
  std::size_t rank = 0;
  std::size_t size = 0;
};

/// One start of a trial, as the thread that runs it needs it.
struct TrialRun {
  engine::Launch launch;
  std::string experiment_name;
  std::filesystem::path experiment_path;  ///< Absolute; the trial's directory is made in it.
  CheckpointOptions checkpoint;
  /// The checkpoint to start from where `launch` has none; empty: none.
  std::filesystem::path initial_checkpoint = {};
  bool warns_of_reserved_names = true;  ///< Once a trial: false if an earlier start did.
  /// To the driver's disk: one is stored at a time, so that few wait here for their way.
  bool checkpoints_travel = false;
  std::chrono::steady_clock::time_point (*now)() = &std::chrono::steady_clock::now;
  /// Its parallel workers; null: threads are made where `launch` grants some.
  std::shared_ptr<WorkerTeam> team = {};
  /// If set, this is no start of a trial but of one of its workers, which only `launch`'s trial,
  /// incarnation, node, name and grant say more of.
  std::optional<TeamPlace> place = {};
};

/// A Trainable that a thread keeps from one trial to the next, for reset_config().
struct KeptTrainable {
  std::unique_ptr<Trainable> object;
  std::string trial_name;  ///< The trial it served last.
};

/// Runs one start of a trial on the calling thread, until it has ended by itself, by a fault or by
/// an order that came through `link`. Never throws.
///
/// Tells `link` all that happens, save the end, which is returned: so the thread can be free for
/// another trial before anybody hears of it. `kept` is used for this trial if it takes the new
/// configuration, and holds the object after a good end of a reusable trainable.
[[nodiscard]] engine::Ended run_trial(const TrainableSpec& trainable, TrialRun run,
                                      std::shared_ptr<TrialLink> link, KeptTrainable& kept);

/// Cleans up and destroys what is kept. The text of a fault in cleanup(), if there was one.
[[nodiscard]] std::optional<std::string> discard(KeptTrainable& kept);

}  // namespace tune::runtime
