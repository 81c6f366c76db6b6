#include <tune/result_grid.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/json_text.hpp"
#include "csv_text.hpp"
#include "experiment_files.hpp"
#include "report/file_pool.hpp"
#include "row_file.hpp"

namespace tune {
namespace {

using report::append_csv_text;

// Why there is no best trial.
std::string no_best_text(const ResultGrid& grid, std::string_view metric) {
  const std::string quoted = "\"" + std::string(metric) + "\"";
  if (grid.empty()) return "there is no best trial by " + quoted + ": the experiment has no trials";
  std::string text = "no trial has a finite value of " + quoted;
  const auto errors = grid.errors();
  if (!errors.empty()) {
    const TrialResult& first = errors.front();
    text += ": " + std::to_string(errors.size()) + " of " + std::to_string(grid.size()) +
            " trials failed, trial " + std::to_string(first.id.value()) +
            " first with: " + (first.error.empty() ? first.reason : first.error);
  }
  const auto with_metrics = std::find_if(
      grid.begin(), grid.end(), [](const TrialResult& trial) { return !trial.metrics.empty(); });
  if (with_metrics != grid.end() && !with_metrics->metrics.contains(metric)) {
    text += "; the results have: " + with_metrics->metrics.names();
  }
  return text;
}

ExperimentEnd end_so_far(const std::vector<TrialResult>& trials) {
  ExperimentEnd end;
  for (const TrialResult& trial : trials) {
    if (trial.state == TrialState::terminated) {
      ++end.terminated_trials;
    } else if (trial.state == TrialState::error) {
      ++end.failed_trials;
    } else {
      ++end.unfinished_trials;
    }
  }
  return end;
}

// What a running trial reported since its last line in trials.jsonl stands in its own file.
void add_last_result(TrialResult& trial) {
  if (trial.state == TrialState::terminated || trial.state == TrialState::error) return;
  std::optional<Result> last = report::read_last_result(trial.path / "result.json");
  if (!last) return;
  trial.metrics = std::move(last->metrics);
  trial.training_iteration = last->training_iteration;
  trial.time_total_s = last->time_total_s;
}

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

ResultGrid::ResultGrid(ExperimentInfo info, ExperimentEnd end, std::vector<TrialResult> trials)
    : info_(std::move(info)), end_(std::move(end)), trials_(std::move(trials)) {
  std::sort(trials_.begin(), trials_.end(),
            [](const TrialResult& a, const TrialResult& b) { return a.id < b.id; });
}

ResultGrid ResultGrid::open(const std::filesystem::path& path) {
  const std::filesystem::path directory = std::filesystem::absolute(path).lexically_normal();
  report::ExperimentFile experiment = report::read_experiment_file(directory);
  const std::filesystem::path file = directory / "trials.jsonl";
  std::string lines;
  try {
    lines = report::read_file(file);
  } catch (const std::system_error& error) {
    throw std::runtime_error(error.what());
  }
  std::vector<TrialResult> trials = report::read_trials(
      lines, file, directory,
      experiment.end ? report::LastLine::must_be_whole : report::LastLine::may_be_cut);
  if (!experiment.end) {
    for (TrialResult& trial : trials) add_last_result(trial);
    experiment.end = end_so_far(trials);
  }
  return {std::move(experiment.info), std::move(*experiment.end), std::move(trials)};
}

const TrialResult& ResultGrid::best(Scope scope) const {
  if (!info_.objective) {
    throw std::runtime_error("the experiment \"" + info_.name +
                             "\" has no metric: give one and its mode to best()");
  }
  return best(info_.objective->metric, info_.objective->mode, scope);
}

const TrialResult& ResultGrid::best(std::string_view metric, Mode mode, Scope scope) const {
  const TrialResult* best = nullptr;
  double best_value = worst_value();
  for (const TrialResult& trial : trials_) {
    const std::optional<double> value = trial.value(metric, mode, scope);
    if (value && std::isfinite(*value) && is_better(mode, *value, best_value)) {
      best = &trial;
      best_value = *value;
    }
  }
  if (best == nullptr) throw std::runtime_error(no_best_text(*this, metric));
  return *best;
}

std::vector<std::reference_wrapper<const TrialResult>> ResultGrid::errors() const {
  std::vector<std::reference_wrapper<const TrialResult>> errors;
  for (const TrialResult& trial : trials_) {
    if (trial.state == TrialState::error) errors.emplace_back(trial);
  }
  return errors;
}

void ResultGrid::write_csv(std::ostream& out) const {
  std::vector<std::string> parameters;
  std::vector<std::string> metrics;
  std::set<std::string> known_parameters;
  std::set<std::string> known_metrics;
  for (const TrialResult& trial : trials_) {
    add_names(parameters, known_parameters, report::flat_parameters(trial.config.json()));
    add_names(metrics, known_metrics, trial.metrics);
  }
  std::string line = "trial_id,name,state,training_iteration,time_total_s,reason,error,checkpoint";
  for (const std::string& name : parameters) append_csv_text(line += ',', "config/" + name);
  for (const std::string& name : metrics) append_csv_text(line += ',', name);
  out << line << "\r\n";
  for (const TrialResult& trial : trials_) {
    line.clear();
    append_trial_cells(line, trial);
    const auto flat = report::flat_parameters(trial.config.json());
    for (const std::string& name : parameters) {
      line += ',';
      const auto found = std::find_if(flat.begin(), flat.end(),
                                      [&](const auto& pair) { return pair.first == name; });
      if (found != flat.end()) report::append_csv_value(line, *found->second);
    }
    for (const std::string& name : metrics) {
      line += ',';
      if (const MetricValue* value = trial.metrics.find(name))
        report::append_csv_metric(line, *value);
    }
    out << line << "\r\n";
  }
}

Json ResultGrid::json() const {
  Json trials = Json::array();
  for (const TrialResult& trial : trials_) trials.push_back(trial_json(trial));
  Json json = report::experiment_json(info_, end_);
  json.erase("definition");
  json["trials"] = std::move(trials);
  return json;
}

}  // namespace tune
