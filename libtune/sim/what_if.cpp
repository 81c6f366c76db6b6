#include <tune/what_if.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include <tune/registry.hpp>
#include <tune/schedulers/builtin.hpp>
#include <tune/searcher.hpp>

#include "core/number_text.hpp"
#include "core/resources_json.hpp"
#include "recorded_curves.hpp"

namespace tune {
namespace {

// Two parameters that stand in the configuration beside the recorded ones.
constexpr std::string_view curve_index = "recorded_trial";
constexpr std::string_view config_shape = "recorded_shape";

using Curves = std::vector<sim::RecordedCurve>;

/// By which names their configurations have, since a space says that for all trials alike.
std::vector<std::vector<std::string>> shapes_of(const Curves& curves) {
  std::set<std::vector<std::string>> shapes;
  for (const sim::RecordedCurve& curve : curves) {
    std::vector<std::string> names;
    for (const auto& [name, value] : curve.config.json().items()) names.push_back(name);
    shapes.insert(std::move(names));
  }
  return {shapes.begin(), shapes.end()};
}

std::int64_t shape_of(const std::vector<std::vector<std::string>>& shapes, const Config& config) {
  std::vector<std::string> names;
  for (const auto& [name, value] : config.json().items()) names.push_back(name);
  return std::lower_bound(shapes.begin(), shapes.end(), names) - shapes.begin();
}

/// The recorded configurations as a space: which of them, and what then follows from that.
SearchSpace recorded_space(const Curves& curves) {
  const std::string index(curve_index);
  std::vector<Domain::Branch> branches;
  for (const std::vector<std::string>& names : shapes_of(curves)) {
    SearchSpace space;
    for (const std::string& name : names) {
      space.add(name, sample_from([&curves, index, name](const Config& so_far) {
                  return curves[so_far[index].get<std::size_t>()].config.json().at(name);
                }));
    }
    branches.emplace_back(static_cast<std::int64_t>(branches.size()), std::move(space));
  }
  SearchSpace space;
  space.add(index, randint(0, static_cast<std::int64_t>(curves.size())));
  space.add(std::string(config_shape), branch(std::move(branches)));
  return space;
}

/// Suggests the recorded configurations, one after the other.
class RecordedConfigurations final : public Searcher {
 public:
  RecordedConfigurations(const Curves& curves, std::optional<std::uint64_t> seed)
      : curves_(curves), shapes_(shapes_of(curves)) {
    for (std::size_t i = 0; i < curves.size(); ++i) order_.push_back(i);
    if (!seed) return;
    Random random(*seed, "what_if order", 0);
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[random.below(i)]);
  }

  void setup(const SearcherSetup&) override {}
  Suggestion suggest(const SuggestionRequest& request) override {
    if (request.trial.value() >= order_.size()) return Exhausted{};
    const std::size_t index = order_[request.trial.value()];
    return Config(
        Json{{curve_index, index}, {config_shape, shape_of(shapes_, curves_[index].config)}});
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] Json options() const override { return {{"name", "recorded"}}; }

 private:
  const Curves& curves_;
  std::vector<std::vector<std::string>> shapes_;
  std::vector<std::size_t> order_;
};

std::size_t index_of(const Config& config) { return config[curve_index].get<std::size_t>(); }

/// Trains along the recorded curves.
class RecordedWorkload final : public Workload {
 public:
  explicit RecordedWorkload(const sim::RecordedCurves& recorded) : recorded_(recorded) {}

  SimulatedSetup begin(const SimulatedStart& start) override {
    const auto [first, is_new] = configs_.emplace(start.trial, start.config);
    if (start.clone_of || first->second != start.config) {
      if (!exploiter_) exploiter_ = index_of(first->second);
      throw InvalidConfig("nobody knows the curve of that");
    }
    return {};
  }
  SimulatedStep step(const SimulatedStart& start, std::int64_t iteration) override {
    return recorded_.curves[index_of(start.config)].step(iteration, recorded_.objective.metric);
  }
  [[nodiscard]] std::string name() const override { return "recorded curves"; }
  /// The first trial, if any, that went on as another one.
  [[nodiscard]] std::optional<TrialId> exploiter() const {
    return exploiter_ ? std::optional(recorded_.curves[*exploiter_].trial) : std::nullopt;
  }

 private:
  const sim::RecordedCurves& recorded_;
  std::map<TrialId, Config> configs_;
  std::optional<std::size_t> exploiter_;
};

void check_names(const std::vector<Alternative>& alternatives) {
  std::set<std::string> names = {"recorded"};
  for (const Alternative& alternative : alternatives) {
    if (alternative.name.empty())
      throw std::invalid_argument("what_if: an alternative has no name");
    if (names.insert(alternative.name).second) continue;
    throw std::invalid_argument("what_if: two rows have the name " +
                                core::value_text(alternative.name));
  }
}

/// Without the member that names it.
std::unique_ptr<TrialScheduler> recorded_scheduler(const Json& definition) {
  Json options = definition.at("scheduler");
  const std::string name = options.value("name", "");
  options.erase("name");
  return make_scheduler(name, options);
}

/// What each trial asked for; one CPU if a function said that, or nothing is on record.
Resources requested_then(const Json& definition) {
  const auto given = definition.find("resources");
  if (given == definition.end() || !given->is_object()) return {};
  return core::resources_from_json(*given);
}

void find_best(const ResultGrid& grid, Scope scope, const sim::RecordedCurves& recorded,
               WhatIfRow& row) {
  try {
    const TrialResult best = grid.best(scope);
    const sim::RecordedCurve& curve = recorded.curves[index_of(best.config)];
    row.best = best.value(recorded.objective.metric, recorded.objective.mode, scope);
    row.best_trial = curve.trial;
    row.is_best_extrapolated = best.training_iteration > curve.recorded();
  } catch (const std::runtime_error&) {
    // None had a finite value.
  }
}

WhatIfRow recorded_row(const ResultGrid& grid, const sim::RecordedCurves& recorded, Scope scope) {
  WhatIfRow row{.name = "recorded"};
  row.scheduler = grid.experiment().definition.value("scheduler", Json()).dump();
  try {
    const TrialResult best = grid.best(scope);
    row.best = best.value(recorded.objective.metric, recorded.objective.mode, scope);
    row.best_trial = best.id;
    row.is_same_best = true;
  } catch (const std::runtime_error&) {
    // None had a finite value.
  }
  row.compute_s = recorded.compute_s;
  row.compute_share = 1;
  row.wall_s = recorded.wall_s;
  row.trials = static_cast<std::int64_t>(grid.size());
  for (const sim::RecordedCurve& curve : recorded.curves) {
    if (curve.end == sim::RecordedCurve::End::failed) ++row.failed;
    if (curve.end == sim::RecordedCurve::End::stopped && curve.recorded() < curve.length) {
      ++row.stopped_early;
    }
  }
  return row;
}

void count_trials(const ResultGrid& grid, const sim::RecordedCurves& recorded, WhatIfRow& row) {
  row.trials = static_cast<std::int64_t>(grid.size());
  for (const TrialResult& trial : grid) {
    const sim::RecordedCurve& curve = recorded.curves[index_of(trial.config)];
    if (trial.state == TrialState::error) ++row.failed;
    if (trial.state == TrialState::terminated && trial.training_iteration < curve.length) {
      ++row.stopped_early;
    }
    if (trial.training_iteration > curve.recorded()) {
      row.extrapolated.push_back({curve.trial, curve.recorded(), trial.training_iteration});
    }
  }
  std::sort(row.extrapolated.begin(), row.extrapolated.end(),
            [](const auto& a, const auto& b) { return a.trial < b.trial; });
}

WhatIfRow run_alternative(Alternative& alternative, const Json& definition,
                          const sim::RecordedCurves& recorded, const WhatIfOptions& options,
                          const WhatIfRow& then) {
  Experiment experiment;
  experiment.name = alternative.name;
  experiment.space = recorded_space(recorded.curves);
  experiment.metric = recorded.objective.metric;
  experiment.mode = recorded.objective.mode;
  experiment.num_samples = static_cast<std::int64_t>(recorded.curves.size());
  experiment.avoid_duplicates = false;
  experiment.strict_metric = definition.value("strict_metric", true);
  experiment.seed = alternative.seed.value_or(0);
  experiment.searcher = std::make_unique<RecordedConfigurations>(recorded.curves, alternative.seed);
  experiment.scheduler =
      alternative.scheduler ? std::move(alternative.scheduler) : recorded_scheduler(definition);
  Cluster cluster;
  cluster.node.cpus = static_cast<double>(recorded.slots);
  if (alternative.cluster) {
    cluster = *alternative.cluster;
    experiment.resources = requested_then(definition);
  }
  WhatIfRow row{.name = alternative.name, .scheduler = experiment.scheduler->options().dump()};
  RecordedWorkload workload(recorded);
  const Simulation simulation = simulate(experiment, cluster, workload);
  if (const std::optional<TrialId> trial = workload.exploiter()) {
    throw std::invalid_argument("what_if: alternative " + core::value_text(row.name) +
                                " lets trial " + std::to_string(trial->value()) +
                                " go on with another one's weights or configuration: no recorded "
                                "curve tells what becomes of that");
  }
  if (!simulation.results.experiment_end().error.empty()) {
    throw std::invalid_argument("what_if: alternative " + core::value_text(row.name) +
                                " broke off: " + simulation.results.experiment_end().error);
  }
  find_best(simulation.results, options.scope, recorded, row);
  row.is_same_best = row.best_trial && row.best_trial == then.best_trial;
  row.compute_s = simulation.busy_s;
  row.compute_share = recorded.compute_s > 0 ? simulation.busy_s / recorded.compute_s : 0;
  row.wall_s = simulation.timeline.end_s;
  count_trials(simulation.results, recorded, row);
  return row;
}

std::string trial_list(const std::vector<TrialId>& trials) {
  std::string text;
  for (const TrialId trial : trials) {
    text += (text.empty() ? "" : ", ") + std::to_string(trial.value());
  }
  return text;
}

std::vector<std::string> notes_of(const WhatIf& table, const sim::RecordedCurves& recorded,
                                  const WhatIfOptions& options) {
  std::vector<std::string> notes;
  notes.push_back("slots where no cluster is given: " + std::to_string(recorded.slots) +
                  ", as many trials as ever ran side by side");
  if (std::any_of(table.alternatives.begin(), table.alternatives.end(),
                  [](const WhatIfRow& row) { return !row.extrapolated.empty(); })) {
    notes.push_back(
        options.extrapolation == Extrapolation::last_value
            ? "extrapolated: the last value again, so whoever was stopped early becomes no better"
            : "extrapolated: " + table.metric +
                  " by a + b t^-c, fitted to each trial by itself; with fewer than 4 values, and "
                  "other metrics, the last value again");
  }
  std::vector<TrialId> failed;
  for (const sim::RecordedCurve& curve : recorded.curves) {
    if (curve.end == sim::RecordedCurve::End::failed) failed.push_back(curve.trial);
  }
  if (!failed.empty())
    notes.push_back("fail again where they failed: trials " + trial_list(failed));
  if (!recorded.without_curve.empty()) {
    notes.push_back("left out, having no result: trials " + trial_list(recorded.without_curve));
  }
  return notes;
}

}  // namespace

WhatIf what_if(const ResultGrid& recorded, std::vector<Alternative> alternatives,
               const WhatIfOptions& options) {
  register_builtin_schedulers();
  check_names(alternatives);
  const sim::RecordedCurves curves = sim::RecordedCurves::read(recorded, options);
  WhatIf table{.metric = curves.objective.metric,
               .mode = curves.objective.mode,
               .recorded = recorded_row(recorded, curves, options.scope)};
  for (Alternative& alternative : alternatives) {
    table.alternatives.push_back(run_alternative(alternative, recorded.experiment().definition,
                                                 curves, options, table.recorded));
  }
  table.notes = notes_of(table, curves, options);
  return table;
}

}  // namespace tune
