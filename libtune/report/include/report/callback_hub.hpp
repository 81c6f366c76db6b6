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
#include <tune/result_grid.hpp>
#include <tune/trial.hpp>

#include "report/driver_log.hpp"
#include "report/file_pool.hpp"
#include "report/progress_tracker.hpp"
#include "report/recorder.hpp"

namespace tune::report {

/// Passes the records of an experiment on: to the recorder, the exporters, driver.log, and then to
/// the user's callbacks.
///
/// Records come in the engine's order from one thread, one at a time; experiment_started() first.
/// None of them throws for a fault of a callback or of the storage: a user's callback that throws
/// is switched off with a message in driver.log and on stderr, and the others go on; where the
/// recorder or an exporter cannot write, storage_error() says so, and the one who runs the
/// experiment must end it. What comes of a trial after its end, or of an older start, is ignored.
class CallbackHub {
 public:
  /// `without_json`: what becomes of the results where no "json" exporter writes them.
  /// @throws std::invalid_argument for an unknown or repeated exporter, or a null callback.
  CallbackHub(const std::vector<std::string>& exporters,
              std::vector<std::shared_ptr<Callback>> callbacks,
              KeepHistory without_json = KeepHistory::yes);
  ~CallbackHub();

  /// Makes the experiment's directory if need be.
  void experiment_started(ExperimentInfo experiment);
  void trial_added(TrialId id, const std::string& name, const Config& config);
  /// Makes the trial's directory if need be and fills in `trial.path`.
  void trial_started(TrialInfo trial);
  void result(TrialId id, std::uint32_t incarnation, const Result& result);
  void checkpoint_stored(TrialId id, std::uint32_t incarnation, const std::string& directory_name,
                         std::int64_t training_iteration);
  /// Also for trials that ended.
  void checkpoint_deleted(TrialId id, const std::string& directory_name);
  /// `pending` with an error: a failed start that will be tried again.
  void trial_state(TrialId id, std::uint32_t incarnation, TrialState state,
                   const std::string& reason, const std::string& error);
  /// Why the scheduler decided as it did; goes into trials.jsonl.
  void explanation(TrialId id, const std::string& text);
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
  /// All trials with what came of them. @pre experiment_started()
  [[nodiscard]] ResultGrid take_results();

 private:
  struct Listener {
    std::shared_ptr<Callback> callback;
    bool is_exporter = false;
    bool is_on = true;
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
  TrialInfo* current(TrialId id, std::uint32_t incarnation);

  std::shared_ptr<FilePool> files_;  // shared with the exporters
  std::vector<Listener> listeners_;  // exporters first
  std::vector<Reporter> reporters_;
  ProgressTracker tracker_;  // told of all while there are reporters
  KeepHistory keep_ = KeepHistory::yes;
  ExperimentInfo experiment_;
  std::unique_ptr<DriverLog> log_;
  std::unique_ptr<ExperimentRecorder> recorder_;
  std::map<TrialId, TrialInfo> trials_;  // those that have not ended
  std::optional<std::string> storage_error_;
};

}  // namespace tune::report
