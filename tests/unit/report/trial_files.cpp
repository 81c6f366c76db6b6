#include "trial_files.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace tune::test {

Result make_result(std::int64_t training_iteration, Metrics metrics) {
  Result result;
  result.metrics = std::move(metrics);
  result.training_iteration = training_iteration;
  result.time_this_iter_s = 0.5;
  result.time_total_s = 0.5 * static_cast<double>(training_iteration);
  result.timestamp = 1'700'000'000.75 + static_cast<double>(training_iteration);
  return result;
}

TrialFiles::TrialFiles(const std::vector<std::string>& exporters) {
  ExperimentInfo experiment;
  experiment.name = "exported";
  experiment.path = folder_.path();
  experiment.experiment_id = "e1d2";
  for (const std::string& name : exporters) {
    exporters_.push_back(report::make_exporter(name, pool_));
    exporters_.back()->on_experiment_start(experiment);
  }
  trial_.id = TrialId(3);
  trial_.name = "00003_a=1";
  trial_.path = folder_.path() / trial_.name;
  trial_.node = "host-7";
  trial_.node_ip = "10.0.0.7";
  trial_.pid = 4711;
  std::filesystem::create_directories(trial_.path);
}

void TrialFiles::start(const Json& config, std::int64_t start_iteration) {
  trial_.config = Config(config);
  trial_.start_iteration = start_iteration;
  ++trial_.incarnation;
  for (const auto& exporter : exporters_) exporter->on_trial_start(trial_);
}

void TrialFiles::report(std::int64_t training_iteration, Metrics metrics) {
  report(make_result(training_iteration, std::move(metrics)));
}

void TrialFiles::report(const Result& result) {
  for (const auto& exporter : exporters_) exporter->on_trial_result(trial_, result);
}

void TrialFiles::checkpoint(std::int64_t training_iteration, const std::string& directory_name) {
  const Checkpoint checkpoint{trial_.path / directory_name, training_iteration};
  for (const auto& exporter : exporters_) exporter->on_trial_checkpoint(trial_, checkpoint);
}

void TrialFiles::fail() {
  const TrialEnd end{TrialState::pending, "", "it broke"};
  for (const auto& exporter : exporters_) exporter->on_trial_failed(trial_, end, true);
}

void TrialFiles::complete() {
  const TrialEnd end{TrialState::terminated, "trainable finished", ""};
  for (const auto& exporter : exporters_) exporter->on_trial_completed(trial_, end);
}

void TrialFiles::end_with_error() {
  const TrialEnd end{TrialState::error, "", "it broke"};
  for (const auto& exporter : exporters_) exporter->on_trial_failed(trial_, end, false);
}

void TrialFiles::idle() {
  for (const auto& exporter : exporters_) exporter->on_idle();
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<Json> json_lines(const std::filesystem::path& path) {
  std::istringstream text(file_text(path));
  std::vector<Json> objects;
  for (std::string line; std::getline(text, line);) objects.push_back(Json::parse(line));
  return objects;
}

CsvTable::CsvTable(const std::filesystem::path& path) : CsvTable(file_text(path)) {}

CsvTable::CsvTable(const std::string& text) {
  std::vector<std::vector<std::string>> records;
  std::size_t i = 0;
  const auto next_is = [&](const char* expected) { return text.compare(i, 1, expected) == 0; };
  while (i < text.size()) {
    std::vector<std::string>& record = records.emplace_back();
    do {
      std::string& field = record.emplace_back();
      if (record.size() > 1) ++i;  // the comma
      if (next_is("\"")) {
        for (++i; !next_is("\"") || text.compare(i + 1, 1, "\"") == 0; ++i) {
          if (next_is("\"")) ++i;
          field += text.at(i);
        }
        ++i;
      } else {
        while (!next_is(",") && !next_is("\r")) field += text.at(i++);
      }
    } while (next_is(","));
    if (text.compare(i, 2, "\r\n") != 0) {
      throw std::runtime_error("no line break at byte " + std::to_string(i) + " of " + text);
    }
    i += 2;
  }
  if (records.empty()) return;
  header_ = records.front();
  rows_.assign(records.begin() + 1, records.end());
}

const std::string& CsvTable::cell(std::size_t row, const std::string& column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) throw std::out_of_range("no column " + column);
  const std::vector<std::string>& cells = rows_.at(row);
  if (cells.size() != header_.size()) {
    throw std::out_of_range("row " + std::to_string(row) + " has " + std::to_string(cells.size()) +
                            " cells, the header " + std::to_string(header_.size()));
  }
  return cells.at(static_cast<std::size_t>(found - header_.begin()));
}

std::vector<std::string> CsvTable::column(const std::string& name) const {
  std::vector<std::string> cells;
  for (std::size_t row = 0; row < rows(); ++row) cells.push_back(cell(row, name));
  return cells;
}

}  // namespace tune::test
