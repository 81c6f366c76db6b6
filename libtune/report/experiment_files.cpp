#include "experiment_files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <tune/mode.hpp>
#include <tune/trial.hpp>

#include "core/json_text.hpp"
#include "report/file_pool.hpp"

namespace tune::report {
namespace {

// Keeps the order of a row's metrics.
using OrderedJson = nlohmann::ordered_json;
using ReadLine = std::function<void(const OrderedJson&)>;

[[noreturn]] void refuse_file(const std::filesystem::path& file, std::size_t line,
                              const std::string& what) {
  throw std::runtime_error(file.string() + (line > 0 ? ":" + std::to_string(line) : "") + ": " +
                           what);
}

// Calls `read` for each line, and puts file and line before what it throws.
void for_each_line(std::string_view content, const std::filesystem::path& file, LastLine last_line,
                   const ReadLine& read) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < content.size();) {
    ++number;
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const bool is_last = end + 1 >= content.size();
    try {
      if (end == content.size()) throw std::runtime_error("the line is cut");
      read(OrderedJson::parse(content.begin() + static_cast<std::ptrdiff_t>(begin),
                              content.begin() + static_cast<std::ptrdiff_t>(end)));
    } catch (const std::exception& error) {
      if (!is_last || last_line == LastLine::must_be_whole) {
        refuse_file(file, number, error.what());
      }
    }
    begin = end + 1;
  }
}

MetricValue metric_value(const std::string& name, const OrderedJson& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  throw std::runtime_error("metric \"" + name + "\" is " + value.dump() +
                           ", not a number, boolean or text");
}

// The metrics among the members of `object`; `non_finite` has those that are null there.
Metrics read_metrics(const OrderedJson& object, const OrderedJson& non_finite) {
  Metrics metrics;
  for (const auto& [name, value] : object.items()) {
    if (is_reserved_field(name) || name == "done") continue;
    if (value.is_null() && non_finite.contains(name)) {
      metrics.set(name, core::non_finite_value(non_finite.at(name).get<std::string>()));
    } else {
      metrics.set(name, metric_value(name, value));
    }
  }
  return metrics;
}

OrderedJson non_finite_of(const OrderedJson& line) {
  return line.value("nonfinite", OrderedJson::object());
}

double read_seconds(const OrderedJson& line, const char* field) {
  const OrderedJson& value = line.at(field);
  if (!value.is_null()) return value.get<double>();
  return core::non_finite_value(non_finite_of(line).at(field).get<std::string>());
}

Result read_row(const OrderedJson& row) {
  Result result;
  result.metrics = read_metrics(row, non_finite_of(row));
  result.training_iteration = row.at("training_iteration").get<std::int64_t>();
  result.time_this_iter_s = read_seconds(row, "time_this_iter_s");
  result.time_total_s = read_seconds(row, "time_total_s");
  result.timestamp = read_seconds(row, "timestamp");
  result.done = row.at("done").get<bool>();
  return result;
}

Config read_config(const OrderedJson& line) {
  Json object = {{"config", Json::parse(line.at("config").dump())}};
  const OrderedJson non_finite = non_finite_of(line);
  for (const auto& [place, text] : non_finite.items()) {
    object.at(Json::json_pointer("/" + place)) = core::non_finite_value(text.get<std::string>());
  }
  return Config(std::move(object["config"]));
}

void read_checkpoint(TrialResult& trial, const OrderedJson& line, bool is_stored) {
  const auto directory = line.at("directory").get<std::string>();
  std::erase_if(trial.checkpoints, [&](const Checkpoint& checkpoint) {
    return checkpoint.path.filename() == directory;
  });
  if (is_stored) {
    trial.checkpoints.push_back(
        {trial.path / directory, line.at("training_iteration").get<std::int64_t>()});
  }
}

void read_state(TrialResult& trial, const OrderedJson& line) {
  trial.state = trial_state_from_string(line.at("state").get<std::string>());
  trial.reason = line.at("reason").get<std::string>();
  trial.error = line.at("error").get<std::string>();
  if (!line.contains("metrics")) return;
  trial.metrics = read_metrics(line.at("metrics"), non_finite_of(line));
  trial.training_iteration = line.at("training_iteration").get<std::int64_t>();
  trial.time_total_s = read_seconds(line, "time_total_s");
}

void read_trial_line(std::map<TrialId, TrialResult>& trials, const OrderedJson& line,
                     const std::filesystem::path& experiment) {
  const auto id_text = line.at("trial_id").get<std::string>();
  const TrialId id(std::stoull(id_text));
  const auto event = line.at("event").get<std::string>();
  if (event == "added") {
    TrialResult& trial = trials[id];
    trial.id = id;
    trial.name = line.at("name").get<std::string>();
    trial.path = experiment / trial.name;
    trial.config = read_config(line);
    return;
  }
  const auto found = trials.find(id);
  if (found == trials.end()) throw std::runtime_error("trial " + id_text + " was not added before");
  TrialResult& trial = found->second;
  if (event == "started") {
    trial.state = TrialState::running;
    if (line.contains("config")) trial.config = read_config(line);
  } else if (event == "state") {
    read_state(trial, line);
  } else if (event == "checkpoint" || event == "checkpoint_deleted") {
    read_checkpoint(trial, line, event == "checkpoint");
  }
}

std::string read_text_file(const std::filesystem::path& file) {
  try {
    return read_file(file);
  } catch (const std::system_error& error) {
    throw std::runtime_error(error.what());
  }
}

}  // namespace

Json experiment_json(const ExperimentInfo& info, const std::optional<ExperimentEnd>& end) {
  Json json = {{"name", info.name}, {"experiment_id", info.experiment_id},
               {"seed", info.seed}, {"metric", nullptr},
               {"mode", nullptr},   {"definition", info.definition}};
  if (info.objective) {
    json["metric"] = info.objective->metric;
    json["mode"] = to_string(info.objective->mode);
  }
  if (end) {
    json["end"] = {{"reason", end->reason},
                   {"error", end->error},
                   {"interrupted", end->interrupted},
                   {"terminated_trials", end->terminated_trials},
                   {"failed_trials", end->failed_trials},
                   {"unfinished_trials", end->unfinished_trials}};
  }
  return json;
}

ExperimentFile read_experiment_file(const std::filesystem::path& experiment) {
  const std::filesystem::path path = experiment / "experiment.json";
  const std::string text = read_text_file(path);
  try {
    const Json json = Json::parse(text);
    ExperimentFile file;
    file.info.path = experiment;
    file.info.name = json.at("name").get<std::string>();
    file.info.experiment_id = json.at("experiment_id").get<std::string>();
    file.info.seed = json.at("seed").get<std::uint64_t>();
    file.info.definition = json.at("definition");
    if (!json.at("metric").is_null()) {
      const auto mode = json.at("mode").get<std::string>();
      file.info.objective = {json.at("metric").get<std::string>(),
                             mode == to_string(Mode::max) ? Mode::max : Mode::min};
    }
    if (json.contains("end")) {
      const Json& end = json.at("end");
      file.end = ExperimentEnd{
          end.at("terminated_trials").get<std::int64_t>(),
          end.at("failed_trials").get<std::int64_t>(),
          end.at("unfinished_trials").get<std::int64_t>(),
          end.at("reason").get<std::string>(),
          end.at("error").get<std::string>(),
          end.value("interrupted", false),  // files of older versions have none
      };
    }
    return file;
  } catch (const Json::exception& error) {
    refuse_file(path, 0, error.what());
  }
}

std::vector<TrialResult> read_trials(std::string_view lines, const std::filesystem::path& file,
                                     const std::filesystem::path& experiment, LastLine last_line) {
  std::map<TrialId, TrialResult> trials;
  for_each_line(lines, file, last_line,
                [&](const OrderedJson& line) { read_trial_line(trials, line, experiment); });
  std::vector<TrialResult> results;
  results.reserve(trials.size());
  for (auto& [id, trial] : trials) {
    if (!trial.checkpoints.empty()) trial.checkpoint = trial.checkpoints.back();
    results.push_back(std::move(trial));
  }
  return results;
}

std::vector<Result> read_results(const std::filesystem::path& file, LastLine last_line) {
  std::vector<Result> results;
  for_each_line(read_text_file(file), file, last_line,
                [&](const OrderedJson& row) { results.push_back(read_row(row)); });
  return results;
}

std::optional<Result> read_last_result(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const std::string content = read_text_file(file);
  std::string_view rows = std::string_view(content).substr(0, content.rfind('\n') + 1);
  std::optional<Result> last;
  // The last row, or if that is damaged the one before.
  for (int tries = 0; tries < 2 && !rows.empty() && !last; ++tries) {
    rows.remove_suffix(1);
    const std::size_t begin = rows.rfind('\n') + 1;
    try {
      last = read_row(OrderedJson::parse(rows.begin() + begin, rows.end()));
    } catch (const std::exception&) {
      // history() says what is wrong with it
    }
    rows = rows.substr(0, begin);
  }
  return last;
}

}  // namespace tune::report
