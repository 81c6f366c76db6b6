#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/progress.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

#include "core/exploit.hpp"
#include "report/driver_log.hpp"
#include "report/exploit_history.hpp"
#include "report/exporter.hpp"
#include "report/file_pool.hpp"
#include "report/progress_tracker.hpp"
#include "report/restored_trial.hpp"

namespace tune::report {

class PolicyFiles;

/// Whether an experiment goes on that was begun before.
enum class Resumed { no, yes };

/// Passes the records of an experiment on: to the exporters, driver.log, error.txt, and then to the
/// user's callbacks.
///
/// Records come in the engine's order from one thread, one at a time; experiment_started() first,
/// on a resume then restore_trial() for each trial that there is. None of them throws for a fault
/// of a callback or of the storage: a user's callback that throws is switched off with a message in
/// driver.log and on stderr, and the others go on; where an exporter cannot write, storage_error()
/// says so, and the one who runs the experiment must end it. What was recorded is in the journal,
/// and a later resume makes the files whole. What comes of a trial after its end, or of an older
/// start, is ignored.
class CallbackHub {
 public:
  /// @throws std::invalid_argument for an unknown or repeated exporter, or a null callback.
  CallbackHub(const std::vector<std::string>& exporters,
              std::vector<std::shared_ptr<Callback>> callbacks);
  ~CallbackHub();

  /// Makes the experiment's directory if need be. On a resume driver.log goes on.
  void experiment_started(ExperimentInfo experiment, Resumed resumed = Resumed::no);
  /// A trial of a resumed experiment, as its line stands; user's callbacks are not told.
  ///
  /// The files of one that has ended are looked at, and only those that are missing or cut are made
  /// again. Those of one that goes on are made again in any case; from then on it is as if this hub
  /// had seen all of it.
  void restore_trial(const RestoredTrial& restored);
  /// A restored trial that goes on starts from nothing: its results are dropped. They stay in its
  /// files until its first new result takes their place.
  void trial_restarted(TrialId id);
  void trial_added(TrialId id, const std::string& name, const Config& config);
  /// Makes the trial's directory if need be and fills in `trial.path`.
  void trial_started(TrialInfo trial);
  void result(TrialId id, std::uint32_t incarnation, const Result& result);
  void checkpoint_stored(TrialId id, std::uint32_t incarnation, const std::string& directory_name,
                         std::int64_t training_iteration);
  /// `pending` with an error: a failed start that will be tried again.
  void trial_state(TrialId id, std::uint32_t incarnation, TrialState state,
                   const std::string& reason, const std::string& error);
  /// Goes into driver.log and, unless the scheduler's option `log_config` is false, into the policy
  /// files.
  void exploit(const core::Exploit& exploit);
  void exploits_dropped(TrialId id, std::uint64_t kept);
  /// All exploits of a resumed experiment. The policy files are made anew; driver.log gets what it
  /// lacks.
  void restore_exploits(ExploitHistory history);
  /// Goes into driver.log.
  void warning(std::optional<TrialId> id, const std::string& text);
  /// The same for what is no warning.
  void note(const std::string& text);
  void experiment_ended(const ExperimentEnd& end);
  /// Nothing waits: writes all that is buffered. Under steady load call it now and then, too (every
  /// 100 ms, say): until then nobody else sees the newest lines.
  void idle();

  /// True if a ProgressReporter is among the callbacks. The calls below are for those alone.
  [[nodiscard]] bool reports_progress() const { return !reporters_.empty(); }
  void expect(const ExpectedWork& work) { tracker_.expect(work); }
  void run_status(const RunStatus& status);
  /// Reports to those whose time has come; `now` counts from the start of the experiment.
  /// @return when to call again; empty if nobody wants another report.
  std::optional<Progress::Seconds> report_progress(Progress::Seconds now);
  /// The last reports. @pre experiment_ended()
  void report_end(Progress::Seconds now);

  /// The first fault of the storage, with the path; empty while all is well.
  [[nodiscard]] const std::optional<std::string>& storage_error() const { return storage_error_; }

 private:
  struct Listener {
    std::shared_ptr<Callback> callback;
    bool is_on = true;
  };
  struct LiveTrial {
    TrialInfo info;                       // of its newest start
    std::int64_t training_iteration = 0;  // of its last result
  };
  struct Reporter {
    std::shared_ptr<ProgressReporter> reporter;
    std::size_t listener = 0;  // which of them it is
    Progress::Seconds due{0};
  };

  void store(const std::function<void()>& write);
  void log(std::initializer_list<DriverLog::Pair> pairs);
  void tell(const std::function<void(Callback&)>& call);
  void tell_exporters(const std::function<void(Callback&)>& call);
  void tell_users_callbacks(const std::function<void(Callback&)>& call);
  void call_user(Listener& listener, const std::function<void(Callback&)>& call);
  void switch_off(Listener& listener, const std::string& what);
  LiveTrial* current(TrialId id, std::uint32_t incarnation);

  std::shared_ptr<FilePool> files_;  // shared with the exporters
  std::vector<std::shared_ptr<Exporter>> exporters_;
  std::vector<Listener> listeners_;  // the user's callbacks
  std::vector<Reporter> reporters_;
  ProgressTracker tracker_;  // told of all while there are reporters
  ExperimentInfo experiment_;
  std::unique_ptr<DriverLog> log_;
  std::unique_ptr<PolicyFiles> policy_files_;  // null if they are not wanted
  std::map<TrialId, LiveTrial> trials_;        // those that have not ended
  std::optional<std::string> storage_error_;
};

}  // namespace tune::report
