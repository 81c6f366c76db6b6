#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tune/json.hpp>
#include <tune/mode.hpp>
#include <tune/result.hpp>
#include <tune/trial.hpp>

namespace tune {

/// Stops a trial once its metric has settled (as Ray Tune's TrialPlateauStopper).
struct PlateauOptions {
  std::string metric = {};  ///< Default: the experiment's.
  double std = 0.01;        ///< Settled: the standard deviation of the last values is below this.
  std::int64_t num_results = 4;   ///< How many last values; at least 2.
  std::int64_t grace_period = 4;  ///< How many values there must be for the first judgement.
};

/// Ends the experiment once its best trials have settled (as Ray Tune's ExperimentPlateauStopper).
struct ExperimentPlateauOptions {
  std::string metric = {};        ///< Default: the experiment's.
  std::optional<Mode> mode = {};  ///< Required with a metric other than the experiment's.
  double std = 0.001;     ///< Settled: the standard deviation of the best values is at most this.
  std::int64_t top = 10;  ///< How many best values are looked at; at least 2.
  std::int64_t patience = 0;  ///< Results in a row for which it must hold, beyond the first.
};

/// When a trial, or the experiment, has had enough: any of its rules stops it.
///
/// `{{"training_iteration", 27}, {"accuracy", 0.99}}` stops a trial at the first result with a
/// field at or above its bound; rules are joined by `|`. A value that is not finite meets no bound:
/// infinity counts as the worst value, whatever its sign.
class StopCriteria {
 public:
  /// A field and where it stops the trial: at or above `bound`, or (`below`) at or below it.
  struct Bound {
    std::string field;
    double bound = 0;
    bool below = false;
  };
  /// Called with each result; true stops the trial.
  struct Predicate {
    std::function<bool(const Trial&, const Result&)> stop;
  };
  using Rule = std::variant<Bound, Predicate, PlateauOptions, ExperimentPlateauOptions>;

  StopCriteria() = default;
  /// @throws std::invalid_argument if a bound is NaN or a field is empty.
  StopCriteria(std::initializer_list<std::pair<std::string, double>> bounds);
  explicit StopCriteria(Rule rule);

  friend StopCriteria operator|(StopCriteria a, const StopCriteria& b);
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  [[nodiscard]] bool empty() const { return rules_.empty(); }
  /// For the recorded definition: fields, bounds and options; predicates by their number only.
  [[nodiscard]] Json json() const;

 private:
  std::vector<Rule> rules_;
};

/// Stops a trial when `field` is at or below `bound`, as for a loss.
[[nodiscard]] StopCriteria below(std::string field, double bound);
/// Stops a trial when `stop` says so; it is asked at each result, on the driver's thread.
[[nodiscard]] StopCriteria stop_when(std::function<bool(const Trial&, const Result&)> stop);
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] StopCriteria plateau(const PlateauOptions& options = {});
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] StopCriteria experiment_plateau(const ExperimentPlateauOptions& options = {});

}  // namespace tune
