#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tune/objective.hpp>

#include "core/checkpoint_manifest.hpp"
#include "engine/saved_values.hpp"
#include "standalone_journal.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// A checkpoint that a run outside an experiment may go on from.
struct PastCheckpoint {
  std::string directory_name;
  std::int64_t training_iteration = 0;
  double time_total_s = 0;
  core::SharedManifest files;  ///< Null: not known.
  double score = 0;            ///< For CheckpointOptions::keep_best.
};

/// A run outside an experiment as its journal has it.
struct PastRun {
  store::ExperimentRow experiment;
  StandaloneJournal::Past journal;
  std::optional<store::TrialRow> trial;     ///< Empty if it died before it had one.
  std::vector<PastCheckpoint> checkpoints;  ///< Oldest first.
  std::vector<engine::SavedValue> saves;
  std::int64_t stored_until = -1;    ///< The largest iteration of all that there ever were.
  std::vector<std::string> damaged;  ///< Names of checkpoints that were found so now,
  std::vector<std::string> damages;  ///< and what is wrong with each of them.
};

/// True of a run outside an experiment: it has no search space.
[[nodiscard]] bool is_run_by_itself(const store::ExperimentRow& row);

/// Reads it, and leaves out the newest checkpoints if they are not as they were stored.
/// @throws std::invalid_argument if it is an experiment; std::runtime_error if none of its
/// checkpoints is as it was stored, or one cannot be read
[[nodiscard]] PastRun read_past_run(const store::JournalReader& reader,
                                    const std::filesystem::path& directory,
                                    const std::optional<Objective>& checkpoint_objective);

}  // namespace tune::runtime
