#include <algorithm>
#include <set>
#include <system_error>

#include "fsck_journal.hpp"
#include "store/checkpoint_store.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

bool is_named_like_checkpoint(const std::string& name) {
  return name.starts_with("checkpoint_") || name.starts_with(".tmp-");
}

bool is_named_like_trial(const std::string& name) {
  return name.size() >= 5 && name.find_first_not_of("0123456789") >= 5 &&
         (name.find_first_not_of("0123456789") == std::string::npos ||
          name[name.find_first_not_of("0123456789")] == '_');
}

/// Of one trial.
class CheckpointCheck {
 public:
  CheckpointCheck(const store::JournalReader& reader, const JournalFacts& facts, bool reads_files,
                  FsckFindings& findings)
      : reader_(reader),
        facts_(facts),
        reads_files_(reads_files),
        findings_(findings),
        store_(findings.directory()) {}

  void check(const store::TrialRow& trial) {
    std::set<std::string> known;
    for (const store::CheckpointRow& row : reader_.checkpoints(trial.id)) {
      known.insert(row.directory);
      if (row.is_kept) check_kept(trial, row);
    }
    for (const store::SavedRow& row : reader_.saves(trial.id)) check_saved(trial, row);
    if (!findings_.is_running()) check_others(trial, known);
  }

 private:
  void check_kept(const store::TrialRow& trial, const store::CheckpointRow& row) {
    ++findings_.report().checkpoints;
    const Expected<void> found = look_at(trial, row.directory);
    if (found || (findings_.is_running() && is_gone(trial.id, row.directory))) return;
    findings_.fault(store_.path(trial.name, row.directory), found.error().message);
  }

  void check_saved(const store::TrialRow& trial, const store::SavedRow& row) {
    if (row.directory.empty()) return;
    const Expected<void> found = look_at(trial, row.directory);
    if (found || (findings_.is_running() && is_dropped(row))) return;
    findings_.fault(store_.path(trial.name, row.directory),
                    "saved value " + row.name + ": " + found.error().message);
  }

  [[nodiscard]] Expected<void> look_at(const store::TrialRow& trial,
                                       const std::string& directory) const {
    const auto manifest = facts_.manifests.find({trial.id, directory});
    const bool is_known = manifest != facts_.manifests.end() && manifest->second;
    if (!is_known || !reads_files_) return store_.require_directory(trial.name, directory);
    return store_.verify(trial.name, directory, *manifest->second);
  }

  /// Whether it was struck off while this looked at it.
  [[nodiscard]] bool is_dropped(const store::SavedRow& saved) const {
    const std::vector<store::SavedRow> rows = reader_.saves(saved.trial);
    return std::none_of(rows.begin(), rows.end(), [&](const store::SavedRow& row) {
      return row.directory == saved.directory;
    });
  }

  /// Whether it was struck off while this looked at it.
  [[nodiscard]] bool is_gone(TrialId id, const std::string& directory) const {
    for (const store::CheckpointRow& row : reader_.checkpoints(id)) {
      if (row.directory == directory) return !row.is_kept;
    }
    return true;
  }

  void check_others(const store::TrialRow& trial, const std::set<std::string>& known) {
    std::error_code absent;  // a trial that never started has no directory
    for (const auto& entry : fs::directory_iterator(findings_.directory() / trial.name, absent)) {
      const std::string name = entry.path().filename().string();
      if (!is_named_like_checkpoint(name) || known.contains(name)) continue;
      findings_.left_over(entry.path(), "left over of a checkpoint: it is not on record");
    }
  }

  const store::JournalReader& reader_;
  const JournalFacts& facts_;
  const bool reads_files_;
  FsckFindings& findings_;
  const store::CheckpointStore store_;
};

}  // namespace

void check_checkpoints(const store::JournalReader& reader, const JournalFacts& facts,
                       bool reads_files, FsckFindings& findings) {
  CheckpointCheck check(reader, facts, reads_files, findings);
  std::set<std::string> names;
  for (const TrialId id : reader.trial_ids()) {
    const store::TrialRow trial = reader.trial(id).value();
    names.insert(trial.name);
    findings.guarded(findings.directory() / trial.name, [&] { check.check(trial); });
  }
  if (findings.is_running()) return;
  for (const auto& entry : fs::directory_iterator(findings.directory())) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !is_named_like_trial(name) || names.contains(name)) continue;
    findings.left_over(entry.path(), "the directory of a trial that is not on record");
  }
}

}  // namespace tune::runtime
