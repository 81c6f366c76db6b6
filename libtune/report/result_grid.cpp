#include <tune/result_grid.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/json_text.hpp"
#include "experiment_files.hpp"
#include "report/config_parameters.hpp"
#include "report/csv_text.hpp"
#include "row_file.hpp"
#include "value_in_scope.hpp"

namespace tune {
namespace {

using report::append_csv_text;

/// The best of those that are offered; among equals the one with the lowest id.
class BestTrial {
 public:
  explicit BestTrial(Mode mode) : mode_(mode) {}

  void offer(TrialId id, std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return;
    const bool is_best =
        !id_ || is_better(mode_, *value, value_) || (*value == value_ && id < *id_);
    if (!is_best) return;
    id_ = id;
    value_ = *value;
  }
  [[nodiscard]] const std::optional<TrialId>& id() const { return id_; }

 private:
  Mode mode_;
  std::optional<TrialId> id_;
  double value_ = 0;
};

// The names in `row` that are not in `names` yet, in order of appearance.
template <class Row>
void add_names(std::vector<std::string>& names, std::set<std::string>& known, const Row& row) {
  for (const auto& [name, value] : row) {
    if (known.insert(name).second) names.push_back(name);
  }
}

void append_trial_cells(std::string& out, const TrialResult& trial) {
  out += report::trial_id_text(trial.id);
  out += ',';
  append_csv_text(out, trial.name);
  out += ',';
  out += to_string(trial.state);
  out += ',';
  core::append_json_integer(out, trial.training_iteration);
  out += ',';
  report::append_csv_number(out, trial.time_total_s);
  for (const std::string& text :
       {trial.reason, trial.error,
        trial.checkpoint ? trial.checkpoint->path.filename().string() : std::string()}) {
    out += ',';
    if (!text.empty()) append_csv_text(out, text);
  }
}

void append_parameter_cells(std::string& out, const Config& config,
                            const std::vector<std::string>& parameters) {
  const auto flat = report::flat_parameters(config.json());
  for (const std::string& name : parameters) {
    out += ',';
    const auto found = std::find_if(flat.begin(), flat.end(),
                                    [&](const auto& pair) { return pair.first == name; });
    if (found != flat.end()) report::append_csv_value(out, *found->second);
  }
}

Json trial_json(const TrialResult& trial) {
  core::JsonLine line;
  line.add("trial_id", report::trial_id_text(trial.id));
  line.add("name", trial.name);
  line.add("state", to_string(trial.state));
  line.add("training_iteration", trial.training_iteration);
  line.add("time_total_s", trial.time_total_s);
  line.add("reason", trial.reason);
  line.add("error", trial.error);
  // What is not finite in them is in one member "nonfinite", that of the configuration below
  // "config/" and that of metrics by their names alone. They cannot clash: "config", and all that
  // begins with "config/", is reserved, so no metric has such a name, nor that of "time_total_s".
  line.add("config", trial.config);
  line.add("metrics", trial.metrics);
  Json json = Json::parse(line.finish());
  json["checkpoint"] = nullptr;
  if (trial.checkpoint) json["checkpoint"] = trial.checkpoint->path.filename().string();
  return json;
}

}  // namespace

ResultSource::~ResultSource() = default;

ResultGrid::ResultGrid(ExperimentInfo info, ExperimentEnd end,
                       std::shared_ptr<const ResultSource> source)
    : info_(std::move(info)), end_(std::move(end)), source_(std::move(source)) {
  if (source_) ids_ = source_->ids();
}

TrialResult ResultGrid::operator[](std::size_t index) const {
  if (index >= ids_.size()) {
    throw std::out_of_range("trial at index " + std::to_string(index) + " of " +
                            std::to_string(ids_.size()));
  }
  return source_->trial(ids_[index]);
}

// Leaves out trials that came after the grid was made.
void ResultGrid::for_each(const std::function<void(const TrialResult&)>& take) const {
  if (ids_.empty()) return;
  source_->for_each([&](const TrialResult& trial) {
    if (std::binary_search(ids_.begin(), ids_.end(), trial.id)) take(trial);
  });
}

TrialResult ResultGrid::best(Scope scope) const {
  if (!info_.objective) {
    throw std::runtime_error("the experiment \"" + info_.name +
                             "\" has no metric: give one and its mode to best()");
  }
  return best(info_.objective->metric, info_.objective->mode, scope);
}

TrialResult ResultGrid::best(std::string_view metric, Mode mode, Scope scope) const {
  BestTrial best(mode);
  std::vector<TrialId> with_history = ids_;
  if (scope == Scope::last) {
    // Most often the last result has the metric, and no history need be read.
    with_history.clear();
    for_each([&](const TrialResult& trial) {
      const MetricValue* const last = trial.metrics.find(metric);
      if (last != nullptr && last->is_number()) {
        best.offer(trial.id, last->as_double());
      } else if (trial.training_iteration > 0) {
        with_history.push_back(trial.id);
      }
    });
  }
  for (const TrialId id : with_history) {
    best.offer(id, report::value_in_scope(source_->history(id), metric, mode, scope));
  }
  if (!best.id()) throw std::runtime_error(no_best_text(metric));
  return source_->trial(*best.id());
}

// Why there is no best trial.
std::string ResultGrid::no_best_text(std::string_view metric) const {
  const std::string quoted = "\"" + std::string(metric) + "\"";
  if (empty()) return "there is no best trial by " + quoted + ": the experiment has no trials";
  std::size_t failed = 0;
  std::string first_failure;
  std::optional<Metrics> metrics;  // the first that there are
  for_each([&](const TrialResult& trial) {
    if (trial.state == TrialState::error && ++failed == 1) {
      first_failure = "trial " + std::to_string(trial.id.value()) +
                      " first with: " + (trial.error.empty() ? trial.reason : trial.error);
    }
    if (!metrics && !trial.metrics.empty()) metrics = trial.metrics;
  });
  std::string text = "no trial has a finite value of " + quoted;
  if (failed > 0) {
    text += ": " + std::to_string(failed) + " of " + std::to_string(size()) + " trials failed, " +
            first_failure;
  }
  if (metrics && !metrics->contains(metric)) text += "; the results have: " + metrics->names();
  return text;
}

std::vector<TrialResult> ResultGrid::errors() const {
  std::vector<TrialResult> errors;
  for_each([&](const TrialResult& trial) {
    if (trial.state == TrialState::error) errors.push_back(trial);
  });
  return errors;
}

void ResultGrid::write_csv(std::ostream& out) const {
  std::vector<std::string> parameters;
  std::vector<std::string> metrics;
  std::set<std::string> known_parameters;
  std::set<std::string> known_metrics;
  for_each([&](const TrialResult& trial) {
    add_names(parameters, known_parameters, report::flat_parameters(trial.config.json()));
    add_names(metrics, known_metrics, trial.metrics);
  });
  std::string line = "trial_id,name,state,training_iteration,time_total_s,reason,error,checkpoint";
  for (const std::string& name : parameters) append_csv_text(line += ',', "config/" + name);
  for (const std::string& name : metrics) append_csv_text(line += ',', name);
  out << line << "\r\n";
  for_each([&](const TrialResult& trial) {
    line.clear();
    append_trial_cells(line, trial);
    append_parameter_cells(line, trial.config, parameters);
    for (const std::string& name : metrics) {
      line += ',';
      const MetricValue* const value = trial.metrics.find(name);
      if (value != nullptr) report::append_csv_metric(line, *value);
    }
    out << line << "\r\n";
  });
}

Json ResultGrid::json() const {
  Json trials = Json::array();
  for_each([&](const TrialResult& trial) { trials.push_back(trial_json(trial)); });
  Json json = report::experiment_json(info_, end_);
  json.erase("definition");
  json["trials"] = std::move(trials);
  return json;
}

}  // namespace tune
