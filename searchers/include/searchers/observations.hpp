#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/objective.hpp>
#include <tune/result.hpp>

#include "searchers/encoded_space.hpp"

namespace tune::searchers {

/// What a searcher knows of one trial.
struct Observation {
  enum class State {
    running,        ///< Or paused, or not started yet.
    completed,      ///< By itself or by a criterion of the experiment.
    stopped_early,  ///< By the scheduler, which need not mean before its last iteration.
    failed,
    infeasible,  ///< It refused its configuration.
  };

  TrialId trial;
  Point point;
  State state = State::running;
  /// Of the newest result, always to be minimised; what is not finite is +infinity, the worst.
  /// NaN while there is none.
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t iteration = 0;  ///< Of the newest result; 0 while there is none.
  /// The loss at each level reached: at the first result of iteration reduction_factor^i or later.
  std::vector<double> levels;

  [[nodiscard]] bool has_loss() const { return iteration > 0; }
  [[nodiscard]] bool is_running() const { return state == State::running; }
  /// failed or infeasible: worse than any loss.
  [[nodiscard]] bool is_failure() const {
    return state == State::failed || state == State::infeasible;
  }
};

/// The trials of an experiment, in the order in which they were added, as model-based searchers see
/// them: the rules for values that are missing, not finite or of different fidelity stand here.
class Observations {
 public:
  Observations() = default;
  /// `space` must outlive this. @pre `reduction_factor >= 2`
  Observations(const EncodedSpace& space, const Objective& objective,
               std::int64_t reduction_factor = 3);

  // As a Searcher is told. A trial whose configuration has changed (an exploit) counts with the
  // newest one, and has no levels from before.
  void on_trial_added(TrialId id, const Config& config);
  void on_trial_result(TrialId id, const Config& config, const Result& result);
  void on_trial_completed(TrialId id, const Config& config, const Result& last);
  void on_trial_failed(TrialId id, const Config& config, bool infeasible);

  [[nodiscard]] const std::vector<Observation>& all() const { return all_; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// Those that have ended, failures included.
  [[nodiscard]] std::size_t ended() const { return ended_; }
  /// The number of an observation in all(); empty for a trial that is not known.
  [[nodiscard]] std::optional<std::size_t> find(TrialId id) const;

  /// The loss by which `observation` counts at `level`: that at the level where it went on beyond
  /// it, its last one where it ended there, or before by itself. Empty if it can only be compared
  /// at a lower level, has none or failed.
  [[nodiscard]] static std::optional<double> loss_at(const Observation& observation,
                                                     std::size_t level);
  /// The highest level at which at least `enough` observations count; the lowest, 0, if none has.
  /// Above all levels reached there is one more, at which those count that completed.
  [[nodiscard]] std::size_t highest_level(std::size_t enough) const;

  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  Observation& at(TrialId id, const Config& config);
  void take(Observation& observation, const Result& result);
  void end(Observation& observation, Observation::State state);

  const EncodedSpace* space_ = nullptr;
  double sign_ = 1;
  std::int64_t reduction_factor_ = 3;
  std::vector<Observation> all_;
  std::map<TrialId, std::size_t> numbers_;
  std::size_t ended_ = 0;
};

}  // namespace tune::searchers
