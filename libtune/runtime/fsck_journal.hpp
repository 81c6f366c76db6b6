#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint_manifest.hpp"
#include "fsck_findings.hpp"
#include "store/journal_reader.hpp"

namespace tune::runtime {

/// What the other checks need of a journal's events.
struct JournalFacts {
  /// A result that a trial reported, refused or not.
  struct ReportedResult {
    std::uint32_t incarnation = 0;
    std::int64_t training_iteration = 0;
    store::EventNumber event = 0;
    auto operator<=>(const ReportedResult&) const = default;
  };
  std::map<TrialId, std::vector<ReportedResult>> reported;  ///< Sorted.
  std::set<TrialId> suggested;
  bool is_run = false;  ///< A run outside an experiment: no engine took part, nothing suggested it.
  /// By trial and start: the smallest iteration to which its code went back of its own wish.
  std::map<std::pair<TrialId, std::uint32_t>, std::int64_t> went_back;
  std::set<TrialId> reopened;  ///< Went on, or started anew, though they had ended.
  /// Of kept checkpoints and saved values, by trial and directory. Null: not known.
  std::map<std::pair<TrialId, std::string>, core::SharedManifest> manifests;

  /// The last event that brought such a result; 0 if none did.
  [[nodiscard]] store::EventNumber event_of(TrialId trial, std::uint32_t incarnation,
                                            std::int64_t training_iteration) const;
};

/// Reads all events and checks them, and the sessions.
[[nodiscard]] JournalFacts check_events(const store::JournalReader& reader, FsckFindings& findings);
/// Checks every trial's line, its checkpoints on record, the states and the best trial.
void check_trials(const store::JournalReader& reader, const JournalFacts& facts,
                  FsckFindings& findings);
/// Takes all events through a fresh engine.
void check_replay(const store::JournalReader& reader, FsckFindings& findings);
/// Compares the checkpoints on the disk, and the files of saved values, with those on record.
void check_checkpoints(const store::JournalReader& reader, const JournalFacts& facts,
                       bool reads_files, FsckFindings& findings);

}  // namespace tune::runtime
