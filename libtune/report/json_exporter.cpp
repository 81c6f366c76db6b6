#include "json_exporter.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <utility>

#include <tune/error.hpp>
#include <tune/json.hpp>

#include "file_tail.hpp"
#include "report/config_parameters.hpp"

namespace tune::report {
namespace {

constexpr const char* params_file = "params.json";
constexpr const char* rows_file = "result.json";
// As a row has it after another member; within a string the quotes would be escaped.
constexpr std::string_view iteration_member = ",\"training_iteration\":";
constexpr std::string_view checkpoint_member = "\"checkpoint_dir_name\":";
constexpr std::string_view no_checkpoint = "null";

// Of a row that was not cut.
std::int64_t iteration_of_row(std::string_view row) {
  const std::size_t member = row.find(iteration_member);
  TUNE_ASSERT(member != std::string_view::npos);
  std::int64_t iteration = 0;
  std::from_chars(row.data() + member + iteration_member.size(), row.data() + row.size(),
                  iteration);
  return iteration;
}

std::size_t find_json_row(std::string_view content, std::int64_t training_iteration) {
  std::size_t begin = 0;
  while (begin < content.size()) {
    const std::size_t end = content.find('\n', begin);
    if (iteration_of_row(content.substr(begin, end - begin)) >= training_iteration) break;
    begin = end + 1;
  }
  return begin;
}

void append_text_member(std::string& out, std::string_view name, std::string_view text) {
  out += '"';
  out += name;
  out += "\":";
  core::append_json_text(out, text);
}

void append_integer_member(std::string& out, std::string_view name, std::int64_t value) {
  out += '"';
  out += name;
  out += "\":";
  core::append_json_integer(out, value);
  out += ',';
}

void append_seconds_member(std::string& out, std::string_view name, double seconds,
                           core::NonFinite& non_finite) {
  out += '"';
  out += name;
  out += "\":";
  core::append_json_metric(out, name, seconds, non_finite);
  out += ',';
}

// The last line of a file with its line end; empty if that is missing.
std::string last_line_of(const std::filesystem::path& path) {
  FileTail tail(path);
  for (std::size_t size_bytes = 4096; tail.read(size_bytes); size_bytes *= 2) {
    const std::string_view text = tail.text();
    if (!text.ends_with('\n')) return {};
    const std::size_t before = text.substr(0, text.size() - 1).rfind('\n');
    if (before != std::string_view::npos) return std::string(text.substr(before + 1));
    if (tail.is_all()) return std::string(text);
  }
  return {};
}

bool is_json_row(std::string_view line, const LastRow& expected) {
  if (!Json::accept(line) || line.find(iteration_member) == std::string_view::npos) return false;
  if (iteration_of_row(line) != expected.training_iteration) return false;
  if (expected.checkpoint.empty()) return true;
  std::string member(checkpoint_member);
  core::append_json_text(member, expected.checkpoint);
  return line.find(member) != std::string_view::npos;
}

}  // namespace

bool JsonExporter::is_whole(const TrialInfo& trial, const LastRow& last) const {
  if (!Json::accept(last_line_of(trial.path / params_file))) return false;
  const std::filesystem::path rows = trial.path / rows_file;
  return last.training_iteration == 0 ? is_empty_file(rows) : is_json_row(last_line_of(rows), last);
}

void JsonExporter::begin_anew(const TrialInfo& trial) {
  std::filesystem::remove(trial.path / rows_file);
}

void JsonExporter::on_experiment_start(const ExperimentInfo& experiment) {
  experiment_id_ = experiment.experiment_id;
}

void JsonExporter::on_trial_start(const TrialInfo& trial) {
  TrialFile& file = trials_[trial.id];
  if (!file.rows) {
    file.rows = std::make_unique<RowFile>(files_->create(trial.path / rows_file), &find_json_row);
  }
  file.since_restore.start(trial);

  file.id_member.clear();
  append_text_member(file.id_member, "trial_id", trial_id_text(trial.id));
  file.id_member += ',';

  std::string& start = file.start_members;
  start.clear();
  append_integer_member(start, "pid", trial.pid);
  append_text_member(start, "hostname", trial.node);
  start += ',';
  append_text_member(start, "node_ip", trial.node_ip);
  start += ",\"config\":";
  file.config_non_finite.clear();
  core::append_json(start, without_large_parameters(trial.config.json()), "config",
                    file.config_non_finite);
  start += ',';

  file.last_members.clear();
  append_text_member(file.last_members, "experiment_tag", trial.name);
  file.last_members += ',';
  append_text_member(file.last_members, "experiment_id", experiment_id_);

  std::string params;
  core::NonFinite non_finite;
  core::append_json(params, trial.config.json(), "", non_finite);
  if (!non_finite.empty()) {
    params.pop_back();
    non_finite.append_member(params);
    params += '}';
  }
  write_file(trial.path / params_file, params += '\n');
}

void JsonExporter::on_trial_result(const TrialInfo& trial, const Result& result) {
  const auto found = trials_.find(trial.id);
  if (found == trials_.end()) return;  // its files could not be made
  found->second.since_restore.add(result);
  write_row(found->second, result);
}

void JsonExporter::write_row(TrialFile& file, const Result& result) {
  core::NonFinite non_finite = file.config_non_finite;
  const auto timestamp = static_cast<std::int64_t>(std::floor(result.timestamp));
  std::string& out = row_.text;
  out = '{';
  for (const auto& [name, value] : result.metrics) {
    core::append_json_text(out, name);
    out += ':';
    core::append_json_metric(out, name, value, non_finite);
    out += ',';
  }
  append_integer_member(out, "timestamp", timestamp);
  out += checkpoint_member;
  row_.checkpoint_begin = out.size();
  row_.checkpoint_bytes = no_checkpoint.size();
  out += no_checkpoint;
  out += result.done ? ",\"done\":true" : ",\"done\":false";
  out += iteration_member;
  core::append_json_integer(out, result.training_iteration);
  out += ',';
  out += file.id_member;
  append_text_member(out, "date", date_.text(timestamp));
  out += ',';
  append_seconds_member(out, "time_this_iter_s", result.time_this_iter_s, non_finite);
  append_seconds_member(out, "time_total_s", result.time_total_s, non_finite);
  out += file.start_members;
  append_seconds_member(out, "time_since_restore", file.since_restore.time_s(), non_finite);
  append_integer_member(out, "iterations_since_restore", file.since_restore.iterations());
  out += file.last_members;
  non_finite.append_member(out);
  out += "}\n";
  file.rows->append(result.training_iteration, row_);
}

void JsonExporter::on_trial_checkpoint(const TrialInfo& trial, const Checkpoint& checkpoint) {
  const auto found = trials_.find(trial.id);
  if (found == trials_.end()) return;
  std::string name;
  core::append_json_text(name, checkpoint.path.filename().string());
  found->second.rows->set_checkpoint(checkpoint.training_iteration, name);
}

void JsonExporter::on_trial_completed(const TrialInfo& trial, const TrialEnd&) {
  end_trial(trial.id);
}

void JsonExporter::on_trial_failed(const TrialInfo& trial, const TrialEnd&, bool will_retry) {
  if (!will_retry) end_trial(trial.id);
}

void JsonExporter::end_trial(TrialId id) {
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  found->second.rows->flush();
  trials_.erase(found);
}

}  // namespace tune::report
