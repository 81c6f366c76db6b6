#include "report/recorder.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/json_text.hpp"
#include "experiment_files.hpp"
#include "row_file.hpp"

namespace tune::report {
namespace {

core::JsonLine begin_line(TrialId id, std::string_view event) {
  using namespace std::chrono;
  const auto now = floor<milliseconds>(system_clock::now());  // more digits would say nothing
  core::JsonLine line;
  line.add("time", duration<double>(now.time_since_epoch()).count());
  line.add("trial_id", trial_id_text(id));
  line.add("event", event);
  return line;
}

bool is_final(TrialState state) {
  return state == TrialState::terminated || state == TrialState::error;
}

}  // namespace

ExperimentRecorder::ExperimentRecorder(FilePool& pool, ExperimentInfo info, KeepHistory keep)
    : info_(std::move(info)), keep_(keep), trials_(pool.create(info_.path / "trials.jsonl")) {}

void ExperimentRecorder::experiment_started() {
  write_definition();
  write_file(trials_->path(), "");  // it is there from the beginning, even if there are no trials
}

void ExperimentRecorder::write_definition() const {
  const Json json = experiment_json(info_, end_);
  write_file(info_.path / "experiment.json",
             json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
}

ExperimentRecorder::LiveTrial* ExperimentRecorder::live(TrialId id) {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : &found->second;
}

void ExperimentRecorder::trial_added(TrialId id, const std::string& name, const Config& config) {
  LiveTrial& trial = live_[id];
  trial.name = name;
  trial.config = config;
  core::JsonLine line = begin_line(id, "added");
  line.add("name", name);
  line.add("config", config);
  trials_->append(line.finish());
}

void ExperimentRecorder::trial_started(const TrialInfo& info) {
  LiveTrial* const trial = live(info.id);
  if (trial == nullptr) return;
  trial->state = TrialState::running;
  trial->incarnation = info.incarnation;
  core::JsonLine line = begin_line(info.id, "started");
  line.add("incarnation", static_cast<std::int64_t>(info.incarnation));
  line.add("start_iteration", info.start_iteration);
  line.add("node", info.node);
  line.add("node_ip", info.node_ip);
  line.add("pid", info.pid);
  if (!(trial->config == info.config)) {
    trial->config = info.config;
    line.add("config", info.config);
  }
  trials_->append(line.finish());
}

void ExperimentRecorder::result(TrialId id, const Result& result) {
  LiveTrial* const trial = live(id);
  if (trial == nullptr) return;
  trial->last_result = result;
  trial->is_recorded = false;
  if (keep_ == KeepHistory::yes) keep_result(id, result);
}

void ExperimentRecorder::keep_result(TrialId id, const Result& result) {
  std::shared_ptr<std::vector<Result>>& history = histories_[id];
  if (!history) history = std::make_shared<std::vector<Result>>();
  // A trial that went back reports some iterations again.
  while (!history->empty() && history->back().training_iteration >= result.training_iteration) {
    history->pop_back();
  }
  history->push_back(result);
}

void ExperimentRecorder::checkpoint_stored(TrialId id, const std::string& directory_name,
                                           std::int64_t training_iteration) {
  core::JsonLine line = begin_line(id, "checkpoint");
  line.add("directory", directory_name);
  line.add("training_iteration", training_iteration);
  trials_->append(line.finish());
}

void ExperimentRecorder::checkpoint_deleted(TrialId id, const std::string& directory_name) {
  core::JsonLine line = begin_line(id, "checkpoint_deleted");
  line.add("directory", directory_name);
  trials_->append(line.finish());
}

void ExperimentRecorder::explanation(TrialId id, std::string_view text) {
  core::JsonLine line = begin_line(id, "explanation");
  line.add("text", text);
  trials_->append(line.finish());
}

void ExperimentRecorder::failed_start(TrialId id, std::uint32_t incarnation,
                                      const std::string& error) const {
  const auto found = live_.find(id);
  if (found == live_.end()) return;
  const LiveTrial& trial = found->second;
  const std::filesystem::path directory = info_.path / trial.name;
  std::filesystem::create_directories(directory);  // it may have failed before its first start
  const std::int64_t iteration = trial.last_result ? trial.last_result->training_iteration : 0;
  append_to_file(directory / "error.txt", "start " + std::to_string(incarnation) +
                                              " failed after iteration " +
                                              std::to_string(iteration) + ":\n" + error + "\n\n");
}

void ExperimentRecorder::trial_state(TrialId id, std::uint32_t incarnation, TrialState state,
                                     const std::string& reason, const std::string& error) {
  LiveTrial* const trial = live(id);
  if (trial == nullptr) return;
  trial->state = state;
  trial->incarnation = incarnation;
  trial->reason = reason;
  trial->error = error;
  const std::string line = state_line(id, *trial);
  if (is_final(state)) live_.erase(id);
  trials_->append(line);
}

// Also what was reported since the last line about this trial.
std::string ExperimentRecorder::state_line(TrialId id, LiveTrial& trial) {
  core::JsonLine line = begin_line(id, "state");
  line.add("name", trial.name);
  line.add("state", to_string(trial.state));
  line.add("incarnation", static_cast<std::int64_t>(trial.incarnation));
  line.add("reason", trial.reason);
  line.add("error", trial.error);
  line.add("training_iteration", trial.last_result ? trial.last_result->training_iteration : 0);
  if (trial.last_result && !trial.is_recorded) {
    line.add("time_total_s", trial.last_result->time_total_s);
    line.add("metrics", trial.last_result->metrics);
    trial.is_recorded = true;
  }
  return line.finish();
}

void ExperimentRecorder::record_unfinished() {
  std::string lines;
  for (auto& [id, trial] : live_) {
    if (!trial.is_recorded) lines += state_line(id, trial);
  }
  trials_->append(lines);
}

void ExperimentRecorder::experiment_ended(const ExperimentEnd& end) {
  end_ = end;
  record_unfinished();
  trials_->flush();
  write_definition();  // last: who reads the end may rely on the rest
}

ResultGrid ExperimentRecorder::results() {
  record_unfinished();
  std::vector<TrialResult> trials =
      read_trials(trials_->content(), trials_->path(), info_.path, LastLine::must_be_whole);
  for (TrialResult& trial : trials) {
    if (keep_ == KeepHistory::no) break;
    const auto found = histories_.find(trial.id);
    if (found != histories_.end()) trial.kept_history = found->second;
  }
  return {info_, end_.value_or(ExperimentEnd{}), std::move(trials)};
}

}  // namespace tune::report
