#pragma once

#include <any>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/metrics.hpp>
#include <tune/trainable.hpp>

namespace tune {

/// One start of a simulated trial.
struct SimulatedStart {
  TrialId trial;
  std::uint32_t incarnation = 0;  ///< Counts this trial's starts, from 1.
  std::uint64_t number = 0;       ///< Counts the starts of all trials, from 0 in their order.
  Config config = {};
  std::uint64_t seed = 0;                 ///< The trial's, as TrialContext::seed.
  std::int64_t start_iteration = 0;       ///< Iterations done before this start.
  std::optional<TrialId> clone_of = {};   ///< The trial whose checkpoint it takes over.
  std::optional<NodeId> node = {};        ///< Where it runs.
  ResourceGrant resources = {};           ///< What it was given itself,
  std::vector<WorkerGrant> workers = {};  ///< and each of its workers.
};

/// What one step would report, and how long it would take.
struct SimulatedStep {
  Metrics metrics = {};
  double seconds = 1;
  bool done = false;  ///< The trial ends with this step; without metrics it ends without a result.
  std::string failure = {};  ///< Not empty: the step fails with that text, after its time.
};

/// What a start costs beside the cluster's own costs.
struct SimulatedSetup {
  double seconds = 0;
  /// The start is lost once it has run so long, set-up included; empty: the workload loses none.
  std::optional<double> lost_after = {};
};

/// How a start of a simulated trial ended.
enum class SimulatedEnd { finished, stopped, paused, failed, lost_with_node };

/// The training code of a simulation: says what a step would bring and how long it would take.
///
/// All calls come from the thread of simulate(), one at a time. Of one start: begin(), load() if it
/// goes on from a checkpoint, then step() and save(), at last end(). An exception fails the start,
/// InvalidConfig ends the trial without a retry. For the same seed to give the same simulation,
/// all must be functions of their arguments and of what was loaded.
class Workload {
 public:
  virtual ~Workload();

  virtual SimulatedSetup begin(const SimulatedStart& start);
  /// The step that makes the trial's iteration `iteration`, which counts from 1 over restarts.
  virtual SimulatedStep step(const SimulatedStart& start, std::int64_t iteration) = 0;
  /// The state after `iteration`; empty (the default) where the steps are functions of
  /// configuration and iteration.
  virtual std::any save(const SimulatedStart& start, std::int64_t iteration);
  virtual void load(const SimulatedStart& start, const std::any& state);
  virtual void end(const SimulatedStart& start, SimulatedEnd end);
  /// False: what needs checkpoints is refused, and whoever fails begins anew.
  [[nodiscard]] virtual bool saves_checkpoints() const;
  /// For messages and the experiment's definition.
  [[nodiscard]] virtual std::string name() const;
};

/// A curve model: what a trial of that configuration reports at an iteration.
using CurveFunction = std::function<SimulatedStep(const Config&, std::int64_t iteration)>;
[[nodiscard]] std::unique_ptr<Workload> curve_model(CurveFunction curve);

/// Recorded learning curves.
///
/// Trial i follows curve i modulo the number of curves, whatever its configuration; or, if the
/// experiment's space has the parameter `curve_parameter`, the curve of that number. At the end of
/// its curve a trial ends by itself.
class CurveTable {
 public:
  struct Point {
    Metrics metrics = {};
    double seconds = 1;
  };
  using Curve = std::vector<Point>;  ///< By iteration, from 1.

  static constexpr std::string_view curve_parameter = "curve";

  void add(Curve curve) { curves_.push_back(std::move(curve)); }
  /// A row an iteration, in order for each trial. The column `trial_id` tells the curves apart
  /// (their order is that of appearance), `time_this_iter_s` are the seconds (default: 1), other
  /// columns are metrics. `training_iteration`, if it is there, must count from 1. An empty field
  /// is no value; a field that is no number is text. RFC 4180, so a trial's progress.csv can be
  /// read, too.
  /// @throws std::invalid_argument naming the line and what is wrong.
  [[nodiscard]] static CurveTable from_csv(std::istream& in);
  /// `[[{"loss": 0.9, "time_this_iter_s": 2}, ...], ...]`: a list of curves, each a list of points.
  /// @throws std::invalid_argument naming the curve and the point.
  [[nodiscard]] static CurveTable from_json(const Json& json);

  [[nodiscard]] std::size_t size() const { return curves_.size(); }
  [[nodiscard]] const Curve& operator[](std::size_t index) const { return curves_.at(index); }

 private:
  std::vector<Curve> curves_;
};
/// @throws std::invalid_argument if the table is empty.
[[nodiscard]] std::unique_ptr<Workload> curve_table(CurveTable table);

struct TrainableWorkloadOptions {
  /// The metric in which a step says how many seconds it would take; it is taken out of the result.
  std::string seconds_metric = "simulated_seconds";
  double default_seconds = 1;  ///< Of a step that does not say.
};
/// A real Trainable: its steps are run, at once, and take the time that they report. The objects of
/// all trials that are running live in this process at the same time. If it can save, its
/// checkpoints are written below the system's folder for temporary files, and removed at the end.
/// @throws std::invalid_argument if `trainable` is a train function or an option is out of range.
[[nodiscard]] std::unique_ptr<Workload> trainable_workload(
    const TrainableSpec& trainable, const TrainableWorkloadOptions& options = {});
template <std::derived_from<Trainable> T>
[[nodiscard]] std::unique_ptr<Workload> trainable_workload(
    const TrainableWorkloadOptions& options = {}) {
  return trainable_workload(trainable_spec<T>(detail::type_name<T>()), options);
}

}  // namespace tune
