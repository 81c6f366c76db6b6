#include "tensorboard_exporter.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "report/config_parameters.hpp"
#include "tensorboard_event_tail.hpp"

namespace tune::report {
namespace {

constexpr std::string_view tag_prefix = "ray/tune/";
constexpr std::string_view name_start = "events.out.tfevents.";
constexpr std::size_t created_digits = 10;
constexpr std::size_t number_digits = 5;

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

/// One of our files in a trial's directory.
struct EventFile {
  std::filesystem::path path;
  std::int64_t created_s = 0;
  int number = 0;
};

bool has_digits_only(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Empty for files of others; those that writers of the training code make end in another way.
std::optional<EventFile> parse_event_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const std::string_view text = name;
  if (!text.starts_with(name_start)) return std::nullopt;
  const std::string_view created = text.substr(name_start.size(), created_digits);
  const std::string_view number = text.substr(text.rfind('.') + 1);
  if (created.size() != created_digits || number.size() != number_digits) return std::nullopt;
  if (!has_digits_only(created) || !has_digits_only(number)) return std::nullopt;
  return EventFile{path, std::stoll(std::string(created)), std::stoi(std::string(number))};
}

std::vector<EventFile> event_files_of(const TrialInfo& trial) {
  std::vector<EventFile> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(trial.path, absent)) {
    if (auto file = parse_event_file(entry.path())) files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace

// The newest file has the last result in any case, and its number tells how many there are.
bool TensorboardExporter::is_whole(const TrialInfo& trial, const LastRow& last) const {
  const std::vector<EventFile> files = event_files_of(trial);
  const auto newest =
      std::max_element(files.begin(), files.end(),
                       [](const EventFile& a, const EventFile& b) { return a.number < b.number; });
  if (newest == files.end() || files.size() != static_cast<std::size_t>(newest->number) + 1) {
    return false;
  }
  const std::vector<std::string> events = last_events(newest->path, 2);
  return events.size() == 2 && is_session_end(events[0]) &&
         step_of_event(events[1]) == last.training_iteration;
}

void TensorboardExporter::begin_anew(const TrialInfo& trial) {
  for (const EventFile& older : event_files_of(trial)) {
    TrialFile& file = trials_[trial.id];
    file.replaces_older = true;
    file.created_s = std::max(file.created_s, older.created_s + 1);
    std::filesystem::remove(older.path);
  }
}

void TensorboardExporter::on_trial_start(const TrialInfo& trial) {
  TrialFile& file = trials_[trial.id];
  file.since_restore.start(trial);
  if (file.events) return;
  open_file(file, trial);
  record_.clear();
  if (file.replaces_older) append_session_start(record_, wall_time_s(), 1);
  append_hyperparameters(record_, wall_time_s(), without_large_parameters(trial.config.json()));
  file.events->append(record_);
}

void TensorboardExporter::open_file(TrialFile& file, const TrialInfo& trial) {
  const double now_s = wall_time_s();
  // Later than the one before, even within a second: the host's name comes before the number.
  if (file.files > 0) ++file.created_s;
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
