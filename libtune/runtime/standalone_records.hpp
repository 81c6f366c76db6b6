#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/track.hpp>

#include "engine/events.hpp"
#include "report/callback_hub.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::runtime {

/// The files of a run outside an experiment: those of an experiment of one trial, written by the
/// same recorder and exporters, in place. Not for several threads.
class StandaloneRecords {
 public:
  /// Checks `options` and makes the directory and the first files; none is left if it throws.
  /// @throws std::invalid_argument naming the field, its value and what is allowed, or the path;
  /// std::runtime_error naming the file that cannot be written.
  explicit StandaloneRecords(const track::Options& options);

  /// Writes what the trial told. When it returns the kernel has all of it.
  /// @throws std::runtime_error naming the path; from then on at each call.
  void write(const std::vector<engine::TrialMessage>& messages);
  /// @throws std::runtime_error if something could not be written before; nothing is written then.
  void require_storage() const;
  /// Writes the last that the trial told and how it ended, and closes the files.
  /// @throws std::runtime_error if not all could be written.
  void end(const std::vector<engine::TrialMessage>& last, const std::string& reason);

  [[nodiscard]] const ExperimentInfo& experiment() const { return experiment_; }
  [[nodiscard]] const TrialInfo& trial() const { return trial_; }

 private:
  void start();
  void write_each(const std::vector<engine::TrialMessage>& messages);
  void write_one(const engine::Reported& report);
  void write_one(const engine::CheckpointStored& report);
  void write_one(const engine::CheckpointFailed& report);
  void write_one(const engine::Warned& report);
  void write_one(const engine::Started&) {}
  void write_one(const engine::Ended&) {}
  void delete_checkpoints();

  ExperimentInfo experiment_;
  TrialInfo trial_;
  std::size_t keep_;
  std::unique_ptr<report::CallbackHub> hub_;  // null once it has ended
  store::CheckpointStore store_;
  std::deque<std::string> checkpoints_;  // oldest first; recorded as deleted are those beyond keep_
};

}  // namespace tune::runtime
