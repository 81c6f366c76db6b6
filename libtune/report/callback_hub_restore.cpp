#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiment_files.hpp"
#include "policy_files.hpp"
#include "replay.hpp"
#include "report/callback_hub.hpp"

namespace tune::report {
namespace {

// Those whose files of the trial have to be made again.
std::vector<Exporter*> exporters_to_replay(const std::vector<std::shared_ptr<Exporter>>& exporters,
                                           const RestoredTrial& restored, const TrialInfo& trial) {
  const LastRow last{restored.training_iteration(), restored.last_checkpoint};
  std::vector<Exporter*> chosen;
  for (const std::shared_ptr<Exporter>& exporter : exporters) {
    const bool has_no_files = trial.incarnation == 0 && restored.has_ended();
    const bool is_left_alone =
        has_no_files || (restored.has_ended() && exporter->is_whole(trial, last));
    if (!is_left_alone) chosen.push_back(exporter.get());
  }
  return chosen;
}

}  // namespace

void CallbackHub::restore_trial(const RestoredTrial& restored) {
  TrialInfo trial = restored.trial;
  trial.path = experiment_.path / trial.name;
  if (reports_progress()) tracker_.trial_restored(restored);
  store([&] {
    if (storage_error_) return;  // the experiment is about to end; the next resume has it all
    const std::vector<Exporter*> chosen = exporters_to_replay(exporters_, restored, trial);
    if (!chosen.empty()) replay_trial(restored, trial, chosen);
  });
  if (!restored.error.empty()) {
    store([&] {
      restore_failed_start(trial.path, trial.incarnation, restored.training_iteration(),
                           restored.error);
    });
  }
  if (restored.has_ended()) return;
  const TrialId id = trial.id;
  trials_[id] = {std::move(trial), restored.training_iteration()};
}

void CallbackHub::restore_exploits(ExploitHistory history) {
  store([&] {
    for (const core::Exploit* exploit :
         DriverLog::missing_exploits(experiment_.path / "driver.log", history.counting())) {
      log_->write_exploit(*exploit);
    }
  });
  if (policy_files_) store([&] { policy_files_->restore(std::move(history)); });
}

void CallbackHub::trial_restarted(TrialId id) {
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  found->second.training_iteration = 0;
  if (reports_progress()) tracker_.trial_restarted(id);
  log({{"trial", std::to_string(id.value())}, {"event", "restarted"}});
}

}  // namespace tune::report
