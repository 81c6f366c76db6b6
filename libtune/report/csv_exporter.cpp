#include "csv_exporter.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "core/json_text.hpp"
#include "file_tail.hpp"
#include "report/config_parameters.hpp"
#include "report/csv_text.hpp"

namespace tune::report {
namespace {

constexpr const char* table_file = "progress.csv";
constexpr std::string_view record_end = "\r\n";
constexpr std::string_view iteration_name = "training_iteration";
constexpr std::string_view checkpoint_name = "checkpoint_dir_name";
constexpr std::string_view automatic_names =
    "timestamp,checkpoint_dir_name,done,training_iteration,trial_id,date,time_this_iter_s,"
    "time_total_s,pid,hostname,node_ip,time_since_restore,iterations_since_restore,"
    "experiment_tag,experiment_id";

bool has_even_quotes(std::string_view text) {
  return std::count(text.begin(), text.end(), '"') % 2 == 0;
}

std::size_t column_of(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::int64_t iteration_of_cell(const std::string& text) {
  std::int64_t iteration = 0;
  std::from_chars(text.data(), text.data() + text.size(), iteration);
  return iteration;
}

std::size_t find_csv_row(std::string_view content, std::int64_t training_iteration) {
  std::size_t begin = csv_record_end(content, 0);
  const std::size_t column = column_of(csv_fields(content.substr(0, begin)), iteration_name);
  while (begin < content.size()) {
    const std::size_t end = csv_record_end(content, begin);
    const std::vector<std::string> cells = csv_fields(content.substr(begin, end - begin));
    if (iteration_of_cell(cells.at(column)) >= training_iteration) break;
    begin = end;
  }
  return begin;
}

// The names in the first record of a file; none if it is cut.
std::vector<std::string> header_names(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (std::string line; std::getline(file, line, '\n');) {
    text += line;
    text += '\n';
    const std::size_t end = csv_record_end(text, 0);
    if (!file.eof() && end == text.size() && text.ends_with(record_end) && has_even_quotes(text)) {
      return csv_fields(text);
    }
  }
  return {};
}

bool is_csv_row(const std::vector<std::string>& names, std::string_view record,
                const LastRow& expected) {
  const std::vector<std::string> cells = csv_fields(record);
  const std::size_t iteration = column_of(names, iteration_name);
  const std::size_t checkpoint = column_of(names, checkpoint_name);
  return cells.size() == names.size() && iteration < cells.size() && checkpoint < cells.size() &&
         iteration_of_cell(cells[iteration]) == expected.training_iteration &&
         (expected.checkpoint.empty() || cells[checkpoint] == expected.checkpoint);
}

// True if the file has such a row at its end. Where the last record begins cannot be seen from
// behind, for text may have line breaks: so it may be at any of them.
bool ends_with_row(const std::filesystem::path& path, const LastRow& expected) {
  const std::vector<std::string> names = header_names(path);
  FileTail tail(path);
  std::size_t tried_bytes = 0;
  for (std::size_t size_bytes = 4096; !names.empty() && tail.read(size_bytes); size_bytes *= 2) {
    const std::string_view text = tail.text();
    if (!text.ends_with(record_end)) return false;
    std::size_t begin = text.size() - std::max(tried_bytes, record_end.size());
    for (;;) {
      const std::size_t line_break = text.rfind(record_end, begin - 1);
      if (begin == 0 || line_break == std::string_view::npos) break;
      begin = line_break;
      const std::string_view record = text.substr(line_break + record_end.size());
      if (has_even_quotes(record) && is_csv_row(names, record, expected)) return true;
    }
    if (tail.is_all()) return false;
    tried_bytes = text.size() - begin;
  }
  return false;
}

void append_seconds_cell(std::string& out, double seconds) {
  append_csv_number(out, seconds);
  out += ',';
}

}  // namespace

void CsvExporter::on_experiment_start(const ExperimentInfo& experiment) {
  experiment_id_ = experiment.experiment_id;
}

bool CsvExporter::is_whole(const TrialInfo& trial, const LastRow& last) const {
  const std::filesystem::path table = trial.path / table_file;
  return last.training_iteration == 0 ? is_empty_file(table) : ends_with_row(table, last);
}

void CsvExporter::begin_anew(const TrialInfo& trial) {
  std::filesystem::remove(trial.path / table_file);
}

void CsvExporter::on_trial_start(const TrialInfo& trial) {
  TrialFile& file = trials_[trial.id];
  if (!file.rows) {
    file.rows = std::make_unique<RowFile>(files_->create(trial.path / table_file), &find_csv_row);
  }
  file.since_restore.start(trial);
  set_parameters(file, trial.config);

  file.id_cell = trial_id_text(trial.id);
  file.start_cells = std::to_string(trial.pid) + ',';
  append_csv_text(file.start_cells, trial.node);
  file.start_cells += ',';
  append_csv_text(file.start_cells, trial.node_ip);
  file.last_cells.clear();
  append_csv_text(file.last_cells, trial.name);
  file.last_cells += ',';
  append_csv_text(file.last_cells, experiment_id_);
}

void CsvExporter::on_trial_result(const TrialInfo& trial, const Result& result) {
  const auto found = trials_.find(trial.id);
  if (found == trials_.end()) return;  // its files could not be made
  TrialFile& file = found->second;
  file.since_restore.add(result);
  if (file.columns_in_rows == 0) write_header(file, result.metrics);
  const std::size_t metrics_written = build_row(file, result);
  if (metrics_written < result.metrics.size()) add_metrics(file, result.metrics);
  if (file.columns_in_rows < file.columns.size()) {
    // The rows before are made as wide only when the file is written: keys that keep appearing
    // would else have it rewritten for each of them.
    file.columns_in_rows = file.columns.size();
    file.rows->rewrite_when_written(
        [&file](std::string_view content) { return widen(file, content); });
    build_row(file, result);
  }
  file.rows->append(result.training_iteration, row_);
}

void CsvExporter::on_trial_checkpoint(const TrialInfo& trial, const Checkpoint& checkpoint) {
  const auto found = trials_.find(trial.id);
  if (found == trials_.end()) return;
  std::string name;
  append_csv_text(name, checkpoint.path.filename().string());
  found->second.rows->set_checkpoint(checkpoint.training_iteration, name);
}

void CsvExporter::on_trial_completed(const TrialInfo& trial, const TrialEnd&) {
  end_trial(trial.id);
}

void CsvExporter::on_trial_failed(const TrialInfo& trial, const TrialEnd&, bool will_retry) {
  if (!will_retry) end_trial(trial.id);
}

void CsvExporter::end_trial(TrialId id) {
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  found->second.rows->flush();
  trials_.erase(found);
}

std::vector<CsvExporter::Column>::iterator CsvExporter::find_column(std::vector<Column>& columns,
                                                                    Kind kind,
                                                                    const std::string& name) {
  return std::find_if(columns.begin(), columns.end(), [&](const Column& column) {
    return column.kind == kind && column.name == name;
  });
}

// Another start may come with another configuration, and so with other parameters.
void CsvExporter::set_parameters(TrialFile& file, const Config& config) {
  for (Column& column : file.columns) column.cell.clear();
  const Json kept = without_large_parameters(config.json());
  for (const auto& [name, value] : flat_parameters(kept)) {
    auto column = find_column(file.columns, Kind::parameter, name);
    if (column == file.columns.end()) {
      column = file.columns.insert(column, Column{Kind::parameter, name});
    }
    append_csv_value(column->cell, *value);
  }
}

void CsvExporter::write_header(TrialFile& file, const Metrics& metrics) {
  std::vector<Column> columns;
  for (const auto& [name, value] : metrics) columns.push_back({Kind::metric, name});
  columns.push_back({Kind::automatic});
  columns.insert(columns.end(), file.columns.begin(), file.columns.end());
  file.columns = std::move(columns);
  file.columns_in_rows = file.columns.size();
  file.rows->append_header(header(file));
}

std::string CsvExporter::header(const TrialFile& file) {
  std::string text;
  for (std::size_t i = 0; i < file.columns_in_rows; ++i) {
    const Column& column = file.columns[i];
    if (i > 0) text += ',';
    if (column.kind == Kind::automatic) {
      text += automatic_names;
    } else {
      append_csv_text(text, (column.kind == Kind::parameter ? "config/" : "") + column.name);
    }
  }
  text += record_end;
  return text;
}

// Writes `result` into row_ and returns how many of its metrics have a column.
std::size_t CsvExporter::build_row(const TrialFile& file, const Result& result) {
  std::size_t metrics_written = 0;
  auto expected = result.metrics.begin();  // mostly they come in the order of the columns
  row_.text.clear();
  for (std::size_t i = 0; i < file.columns.size(); ++i) {
    const Column& column = file.columns[i];
    if (i > 0) row_.text += ',';
    if (column.kind == Kind::automatic) {
      append_automatic(file, result);
    } else if (column.kind == Kind::parameter) {
      row_.text += column.cell;
    } else if (expected != result.metrics.end() && expected->first == column.name) {
      append_csv_metric(row_.text, expected->second);
      ++expected;
      ++metrics_written;
    } else if (const MetricValue* value = result.metrics.find(column.name)) {
      append_csv_metric(row_.text, *value);
      ++metrics_written;
    }
  }
  row_.text += record_end;
  return metrics_written;
}

void CsvExporter::append_automatic(const TrialFile& file, const Result& result) {
  const auto timestamp = static_cast<std::int64_t>(std::floor(result.timestamp));
  std::string& out = row_.text;
  core::append_json_integer(out, timestamp);
  out += ',';
  row_.checkpoint_begin = out.size();
  row_.checkpoint_bytes = 0;
  out += result.done ? ",True," : ",False,";
  core::append_json_integer(out, result.training_iteration);
  out += ',';
  out += file.id_cell;
  out += ',';
  out += date_.text(timestamp);
  out += ',';
  append_seconds_cell(out, result.time_this_iter_s);
  append_seconds_cell(out, result.time_total_s);
  out += file.start_cells;
  out += ',';
  append_seconds_cell(out, file.since_restore.time_s());
  core::append_json_integer(out, file.since_restore.iterations());
  out += ',';
  out += file.last_cells;
}

void CsvExporter::add_metrics(TrialFile& file, const Metrics& metrics) {
  for (const auto& [name, value] : metrics) {
    if (find_column(file.columns, Kind::metric, name) == file.columns.end()) {
      file.columns.push_back({Kind::metric, name});
    }
  }
}

// The content with all columns, blank at the end of the rows that are older than a column.
std::string CsvExporter::widen(const TrialFile& file, std::string_view content) {
  std::string wide = header(file);
  const std::size_t fields = csv_field_count(wide);
  for (std::size_t begin = csv_record_end(content, 0); begin < content.size();) {
    const std::size_t end = csv_record_end(content, begin);
    const std::string_view row = content.substr(begin, end - begin - record_end.size());
    wide += row;
    for (std::size_t field = csv_field_count(row); field < fields; ++field) wide += ',';
    wide += record_end;
    begin = end;
  }
  return wide;
}

}  // namespace tune::report
