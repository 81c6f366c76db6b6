#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/callback.hpp>
#include <tune/checkpoint.hpp>
#include <tune/config.hpp>
#include <tune/mode.hpp>
#include <tune/resources.hpp>
#include <tune/resume.hpp>
#include <tune/scheduler.hpp>
#include <tune/search_space.hpp>
#include <tune/searcher.hpp>
#include <tune/stop.hpp>

namespace tune {

/// Where the training code runs.
enum class Isolation {
  /// In processes of their own, for which this program is started anew: see tune::init(). Whatever
  /// the training code does there costs one start of one trial.
  processes,
  /// On threads of this process: for debugging and very short trials. A crash ends all, a step that
  /// hangs cannot be killed, and output is not captured.
  threads,
};

/// What becomes of trials that fail, and of the experiment with them.
struct FailureOptions {
  std::int64_t max_failures = 0;  ///< Retries of a trial from its last checkpoint; -1: no limit.
  /// Before the first retry of a trial; doubles with each further failure of that trial. 0: none.
  /// Its slot is free meanwhile. Not after the loss of a node, which is no failure of the trial.
  std::chrono::duration<double> retry_pause = std::chrono::seconds(1);
  std::chrono::duration<double> max_retry_pause = std::chrono::seconds(60);
  /// So many nodes in a row may be lost with a trial, without a new result of it in between; one
  /// more ends it as `error`, since it may be what takes them down. -1: no limit. The loss of a
  /// node counts for nothing else.
  std::int64_t max_node_failures = 3;
  /// So many trials may end as `error`, for whatever reason; one more interrupts the experiment:
  /// what runs is saved and left unfinished, nothing new starts. -1: no limit.
  std::int64_t max_experiment_failures = -1;
  bool fail_fast = false;  ///< The first trial that ends as `error` interrupts the experiment.
};

/// How other machines take part. Each runs the same program, with `--tune-join HOST:PORT`.
struct ClusterOptions {
  /// "HOST:PORT" where nodes may join, at any time; port 0 lets the system choose. Empty: none may,
  /// and no port is opened.
  std::string listen = {};
  /// Lets `listen` be an address that other machines reach, though whoever reaches it can run code
  /// here.
  bool insecure = false;
  /// Files in PEM: a private CA, and a certificate of it with its key, without a passphrase. All or
  /// none. With them connections are encrypted, and a node without a certificate of that CA is
  /// refused; then `listen` may be any address.
  std::string ca = {};
  std::string cert = {};
  std::string key = {};
};

/// A hyperparameter search: everything that tune_run() needs to know, with its defaults.
struct Experiment {
  std::string name = {};          ///< Default: <trainable>_<time>_<random>, shown.
  std::string storage_path = {};  ///< Default: $TUNE_STORAGE_PATH, or ~/tune_results.
  SearchSpace space = {};
  std::string metric = {};        ///< Optional; without it only FIFO, random and grid can work.
  std::optional<Mode> mode = {};  ///< Required with a metric.
  std::int64_t num_samples = 1;   ///< Multiplies the grid axes; -1: until something else ends it.
  std::int64_t max_trials = -1;   ///< Bounds the total; -1: no bound.
  /// Loaded before all else is looked at: paths, or names in TUNE_PLUGIN_PATH; see load_plugin().
  std::vector<std::string> plugins = {};
  std::unique_ptr<Searcher> searcher = {};         ///< Default: automatic().
  std::unique_ptr<TrialScheduler> scheduler = {};  ///< Default: FIFO.
  // `= {}` makes g++ 12 warn of uninitialised members at -O2, wherever an Experiment is made.
  Resources resources = Resources();  ///< For each trial.
  StopCriteria stop = {};
  CheckpointOptions checkpoint = CheckpointOptions();
  FailureOptions failure = {};
  std::optional<std::uint64_t> seed = {};  ///< For everything; drawn and recorded if not given.
  std::int64_t max_concurrent = 0;         ///< Bounds running trials; 0: resources alone do.
  std::optional<std::chrono::duration<double>> time_budget = {};  ///< Of the whole experiment.
  /// Longest time from one report of a trial to the next, saving included, and from its start to
  /// the first; then its process is killed. 0: for ever. Refused with Isolation::threads.
  std::chrono::duration<double> step_timeout = std::chrono::seconds(0);
  std::vector<Json> points_to_evaluate = {};  ///< First, in order; they count as samples.
  bool avoid_duplicates = true;
  bool strict_metric = true;  ///< A first result without the metric is an error of its trial.
  Isolation isolation = Isolation::processes;
  bool reuse_workers = true;  ///< False: a fresh process for each start of a trial.
  Resume resume = Resume::automatic;
  /// The directory of a checkpoint with which each trial starts, as long as it has none of its own.
  std::string resume_from = {};
  /// Let an experiment that goes on have another search space. Its trials on record stay as they
  /// are.
  bool accept_new_space = false;
  LocalResources local = LocalResources();  ///< What this machine offers.
  std::vector<std::string> exporters = {"json", "csv", "tensorboard"};
  std::vector<std::shared_ptr<Callback>> callbacks = {};  ///< Shared with the caller.
  /// What tune prints on stderr: 0 nothing; 1 a live display and a summary at the end; 2 also a
  /// line for each trial that starts or ends. A ProgressReporter among the callbacks takes the
  /// place of all that, and is told at 0 too.
  int verbosity = 1;
  /// Each line that a trial prints is also shown on stderr, behind "(00003) ", or "(00003 stderr)
  /// ". It stands in the files stdout and stderr of the trial's directory in any case.
  bool show_output = false;
  /// After SIGINT or SIGTERM tune_run() saves and ends the running trials, as an interrupt does,
  /// and then ends the program, with exit code 130 or 143. False: it returns; see
  /// ResultGrid::interrupted(). A second signal ends the program at once.
  bool exit_on_signal = true;
  /// The longest time that the searcher may think about one trial; then its values are drawn at
  /// random, which is recorded with it. Not set: as long as it wants, while its slot is idle.
  std::optional<std::chrono::duration<double>> suggest_budget = {};
  /// How long a step may go on after its trial was told to stop. Then its process gets SIGTERM.
  std::chrono::duration<double> stop_grace = std::chrono::seconds(30);
  /// How long after that it gets SIGKILL.
  std::chrono::duration<double> kill_grace = std::chrono::seconds(5);
  /// How long a trial waits for a node that is big enough, where nodes may join; then it fails.
  std::chrono::duration<double> infeasible_timeout = std::chrono::minutes(10);
  /// A node that is silent for so long is lost: its trials go on elsewhere from their checkpoints.
  std::chrono::duration<double> node_timeout = std::chrono::seconds(15);
  /// If the driver dies, so long nodes on other machines hold on to what runs there, and the driver
  /// of the resumed experiment waits for them. 0: all of it goes back to its last checkpoint.
  std::chrono::duration<double> driver_grace{0};
  ClusterOptions cluster = {};
};

}  // namespace tune
