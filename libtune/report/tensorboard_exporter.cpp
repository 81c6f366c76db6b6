#include "tensorboard_exporter.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

namespace tune::report {
namespace {

constexpr std::string_view tag_prefix = "ray/tune/";

double wall_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads the files of a directory in the order of their names.
std::string event_file_name(std::int64_t created_s, std::string host, int number) {
  std::replace_if(
      host.begin(), host.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  host.resize(std::min<std::size_t>(host.size(), 64));
  std::array<char, 128> name{};
  std::snprintf(name.data(), name.size(), "events.out.tfevents.%010lld.%s.%05d",
                static_cast<long long>(created_s), host.c_str(), number);
  return name.data();
}

}  // namespace

void TensorboardExporter::on_trial_start(const TrialInfo& trial) {
  TrialFile& file = trials_[trial.id];
  file.since_restore.start(trial);
  if (file.events) return;
  open_file(file, trial);
  record_.clear();
  append_hyperparameters(record_, wall_time_s(), trial.config.json());
  file.events->append(record_);
}

void TensorboardExporter::open_file(TrialFile& file, const TrialInfo& trial) {
  const double now_s = wall_time_s();
  file.created_s = std::max(file.created_s, static_cast<std::int64_t>(now_s));
  if (file.events) file.events->flush();
  file.events =
      files_->create(trial.path / event_file_name(file.created_s, trial.node, file.files++));
  record_.clear();
  append_file_version(record_, now_s);
  file.events->append(record_);
}

void TensorboardExporter::on_trial_result(const TrialInfo& trial, const Result& result) {
  const auto found = trials_.find(trial.id);
  if (found == trials_.end() || !found->second.events) return;  // its file could not be made
  TrialFile& file = found->second;
  file.since_restore.add(result);
  if (result.training_iteration <= file.last_step) {
    open_file(file, trial);
    record_.clear();
    append_session_start(record_, result.timestamp, result.training_iteration);
    file.events->append(record_);
  }
  file.last_step = result.training_iteration;

  const auto add_scalar = [this](std::string_view name, double value) {
    tag_.assign(tag_prefix).append(name);
    scalars_.add(tag_, value);
  };
  scalars_.begin(result.timestamp, result.training_iteration);
  for (const auto& [name, value] : result.metrics) {
    if (value.is_number()) add_scalar(name, value.as_double());
  }
  add_scalar("done", result.done ? 1 : 0);
  add_scalar("time_this_iter_s", result.time_this_iter_s);
  add_scalar("time_since_restore", file.since_restore.time_s());
  add_scalar("iterations_since_restore", static_cast<double>(file.since_restore.iterations()));
  record_.clear();
  scalars_.append_to(record_);
  file.events->append(record_);
}

void TensorboardExporter::on_trial_completed(const TrialInfo& trial, const TrialEnd&) {
  end_trial(trial.id, SessionStatus::success);
}

void TensorboardExporter::on_trial_failed(const TrialInfo& trial, const TrialEnd&,
                                          bool will_retry) {
  if (!will_retry) end_trial(trial.id, SessionStatus::failure);
}

void TensorboardExporter::end_trial(TrialId id, SessionStatus status) {
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  const std::unique_ptr<AppendFile> events = std::move(found->second.events);
  trials_.erase(found);
  if (!events) return;  // it could not be made
  record_.clear();
  append_session_end(record_, wall_time_s(), status);
  events->append(record_);
  events->flush();
}

}  // namespace tune::report
