#include <system_error>
#include <utility>

#include <tune/result_grid.hpp>

#include "store/journal_reader.hpp"

namespace tune {
namespace store {
namespace {

namespace fs = std::filesystem;

/// What a ResultGrid reads: the trials of a journal as they stand, with paths below the directory
/// in which it lies now.
class JournalResults final : public ResultSource,
                             public std::enable_shared_from_this<JournalResults> {
 public:
  explicit JournalResults(fs::path directory)
      : directory_(std::move(directory)), reader_(directory_) {}

  [[nodiscard]] const JournalReader& reader() const { return reader_; }

  [[nodiscard]] std::vector<TrialId> ids() const override { return reader_.trial_ids(); }

  [[nodiscard]] TrialResult trial(TrialId id) const override {
    std::optional<TrialRow> row = reader_.trial(id);
    if (!row) {
      throw std::out_of_range(directory_.string() + ": there is no trial " +
                              std::to_string(id.value()));
    }
    return result_of(std::move(*row));
  }

  // One call after the other, so that a slow `take` keeps nobody from writing.
  void for_each(const std::function<void(const TrialResult&)>& take) const override {
    for (const TrialId id : ids()) take(trial(id));
  }

  [[nodiscard]] std::vector<Result> history(TrialId id) const override {
    std::vector<Result> results;
    reader_.for_each_result(id, [&](const LineResult& line) { results.push_back(line.result); });
    return results;
  }

 private:
  [[nodiscard]] TrialResult result_of(TrialRow row) const {
    TrialResult trial;
    trial.id = row.id;
    trial.path = directory_ / row.name;
    trial.name = std::move(row.name);
    trial.state = row.state;
    trial.config = std::move(row.last_config);
    trial.first_config = std::move(row.config);
    trial.reason = std::move(row.reason);
    trial.error = std::move(row.error);
    if (row.last) {
      trial.metrics = std::move(row.last->metrics);
      trial.training_iteration = row.last->training_iteration;
      trial.time_total_s = row.last->time_total_s;
    }
    for (const CheckpointRow& checkpoint : reader_.checkpoints(row.id)) {
      const fs::path path = trial.path / checkpoint.directory;
      std::error_code error;
      if (!checkpoint.is_kept || !fs::is_directory(path, error)) continue;
      trial.checkpoints.push_back(
          {.path = path, .training_iteration = checkpoint.training_iteration});
    }
    if (!trial.checkpoints.empty()) trial.checkpoint = trial.checkpoints.back();
    trial.source = shared_from_this();
    return trial;
  }

  fs::path directory_;
  JournalReader reader_;
};

// How it ended; if it runs, or was killed, how far it is.
ExperimentEnd end_or_state(const JournalReader& reader) {
  const std::vector<SessionRow> sessions = reader.sessions();
  if (!sessions.empty() && sessions.back().end) return *sessions.back().end;
  const TrialCounts counts = reader.trial_counts();
  ExperimentEnd end;
  end.terminated_trials = counts.terminated;
  end.failed_trials = counts.error;
  end.unfinished_trials = counts.total() - counts.ended();
  return end;
}

fs::path directory_of(const fs::path& path) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace
}  // namespace store

ResultGrid ResultGrid::open(const std::filesystem::path& path) {
  const std::filesystem::path directory = store::directory_of(path);
  std::error_code error;
  if (!std::filesystem::exists(directory / store::journal_file, error)) {
    throw std::runtime_error("no experiment in " + directory.string() + ": there is no " +
                             store::journal_file);
  }
  auto source = std::make_shared<const store::JournalResults>(directory);
  store::ExperimentRow row = source->reader().experiment();
  ExperimentInfo info;
  info.name = std::move(row.name);
  info.path = directory;
  info.experiment_id = std::move(row.experiment_id);
  info.objective = std::move(row.objective);
  info.seed = row.seed;
  info.definition = std::move(row.definition);
  ExperimentEnd end = store::end_or_state(source->reader());
  return {std::move(info), std::move(end), std::move(source)};
}

}  // namespace tune
