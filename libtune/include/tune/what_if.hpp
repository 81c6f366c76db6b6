#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/result_grid.hpp>
#include <tune/scheduler.hpp>
#include <tune/simulate.hpp>

namespace tune {

/// One other way in which a recorded experiment could have been run.
struct Alternative {
  std::string name = {};  ///< For the table; no two alike.
  /// Default: the recorded one, made anew by its name and options.
  std::unique_ptr<TrialScheduler> scheduler = {};
  /// Default: one node on which as many trials run side by side as ever did, without costs of its
  /// own. On a cluster that is given, a trial asks for what it asked for then.
  std::optional<Cluster> cluster = {};
  /// Of the cluster's faults, and of the order in which the configurations come. Default: the
  /// recorded order.
  std::optional<std::uint64_t> seed = {};
};

/// What a trial would have reported after the end of its recorded curve.
enum class Extrapolation {
  last_value,  ///< The last value of each metric, again and again: nobody becomes better unseen.
  /// The experiment's metric by y = a + b t^-c, least squares over the trial's finite values (c out
  /// of 0.1, 0.2, ..., 3). Other metrics, and trials with fewer than 4 values: the last value.
  power_law,
};

/// "last_value" or "power_law".
[[nodiscard]] std::string_view to_string(Extrapolation extrapolation);

struct WhatIfOptions {
  Extrapolation extrapolation = Extrapolation::last_value;
  /// The iteration at which a trial ends whose curve was cut off. Default: the longest curve on
  /// record.
  std::optional<std::int64_t> length = {};
  Scope scope = Scope::last;  ///< Which value of a trial counts for the best, as in a ResultGrid.
};

/// A trial that went on after the end of what is known of it.
struct ExtrapolatedTrial {
  TrialId trial;              ///< Of the recorded experiment.
  std::int64_t recorded = 0;  ///< Iterations on record.
  std::int64_t reached = 0;   ///< The last one in the alternative.
};

/// How one alternative went; the first row of a table is the recorded experiment.
struct WhatIfRow {
  std::string name = {};
  std::string scheduler = {};              ///< Its options as JSON.
  std::optional<double> best = {};         ///< Empty: no trial had a finite value.
  std::optional<TrialId> best_trial = {};  ///< Of the recorded experiment.
  bool is_same_best = false;               ///< The best trial of the record is the best here.
  bool is_best_extrapolated = false;       ///< Its value was never seen.
  /// Seconds that trials held their slots; of the record, that its steps took.
  double compute_s = 0;
  double compute_share = 0;  ///< Of the record's.
  /// Until all had ended; of the record, the time in which at least one step was running.
  double wall_s = 0;
  std::int64_t trials = 0;
  std::int64_t stopped_early = 0;  ///< Ended well, and before their curves did.
  std::int64_t failed = 0;
  std::vector<ExtrapolatedTrial> extrapolated = {};

  [[nodiscard]] std::int64_t extrapolated_steps() const;
};

/// A table of alternatives.
struct WhatIf {
  std::string metric = {};
  Mode mode = Mode::min;
  WhatIfRow recorded = {};
  std::vector<WhatIfRow> alternatives = {};  ///< In the order given.
  std::vector<std::string> notes =
      {};  ///< What to know of it: how it was extrapolated, who failed.

  /// For people: a line a row, then where it was extrapolated, then the notes.
  void print(std::ostream& out) const;
  /// A row each: name, best, best_trial, is_same_best, is_best_extrapolated, compute_s,
  /// compute_share, wall_s, trials, stopped_early, failed, extrapolated_trials, extrapolated_steps.
  void write_csv(std::ostream& out) const;
  /// The same, with the scheduler's options, the trials that were extrapolated, and the notes.
  [[nodiscard]] Json json() const;
};

/// Asks the learning curves of an experiment, ended, killed or still running, what would have
/// become of it otherwise. Each alternative is a simulation (<tune/simulate.hpp>) in which a trial
/// reports what it reported then, in the time that it took then.
///
/// The configurations are the recorded ones: no searcher is asked, as nobody knows the curve of
/// another configuration. A trial whose training ended by itself or by a stop criterion ends there
/// again, and one that failed fails there again. One that was stopped by the scheduler or left
/// unfinished has a curve that is too short for a more patient scheduler: it is extrapolated up to
/// `length`, and the row says which trials were, and by how many steps. A step that is extrapolated
/// takes the mean time of that trial's steps. Trials without a result that did not fail are left
/// out.
///
/// Curves do not tell what becomes of a trial that takes over the weights of another. So an
/// experiment whose trials changed their configurations is refused, and so is an alternative whose
/// scheduler lets them (population-based training).
///
/// Costs a simulation for each alternative; holds all curves in memory.
/// @throws std::invalid_argument naming what is wrong, for: an experiment without a metric, without
/// curves, or with changed configurations; alternatives without a name or with the same one; a
/// `length` below 1; a scheduler that is not registered; and what simulate() refuses.
/// std::runtime_error if the journal cannot be read.
[[nodiscard]] WhatIf what_if(const ResultGrid& recorded, std::vector<Alternative> alternatives,
                             const WhatIfOptions& options = {});
[[nodiscard]] inline WhatIf what_if(const std::filesystem::path& experiment,
                                    std::vector<Alternative> alternatives,
                                    const WhatIfOptions& options = {}) {
  return what_if(ResultGrid::open(experiment), std::move(alternatives), options);
}

}  // namespace tune
