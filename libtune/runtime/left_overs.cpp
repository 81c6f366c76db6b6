#include "runtime/left_overs.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>

#include "store/checkpoint_store.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

// Empty for what is not named as the directory of a trial: its id, and mostly a configuration.
std::optional<TrialId> trial_named(const std::string& directory) {
  constexpr std::size_t fewest_digits = 5;
  constexpr std::size_t most_digits = 18;
  const std::size_t digits = std::min(directory.find_first_not_of("0123456789"), directory.size());
  if (digits < fewest_digits || digits > most_digits) return std::nullopt;
  if (digits < directory.size() && directory[digits] != '_') return std::nullopt;
  return TrialId(std::stoull(directory));
}

class LeftOvers {
 public:
  LeftOvers(const store::JournalReader& reader, const fs::path& experiment, OfRunning of_running)
      : reader_(reader),
        experiment_(experiment),
        checkpoints_(experiment),
        of_running_(of_running) {}

  std::vector<std::string> clean() {
    reader_.for_each_trial([&](const store::TrialRow& trial) {
      known_.insert(trial.id);
      sets_aside_ = sets_aside_ || is_behind(trial);
    });
    reader_.for_each_trial([&](const store::TrialRow& trial) {
      if (sets_aside_) return set_checkpoints_aside(trial);
      if (of_running_ == OfRunning::keep && trial.state == TrialState::running) return;
      remove_checkpoints(trial);
    });
    for (const fs::path& trial : unknown_trials()) {
      sets_aside_ ? set_aside(trial) : remove_trial(trial);
    }
    return std::move(lines_);
  }

 private:
  [[nodiscard]] std::set<std::string> recorded(const store::TrialRow& trial) const {
    std::set<std::string> names;
    for (const store::CheckpointRow& row : reader_.checkpoints(trial.id)) {
      names.insert(row.directory);
    }
    return names;
  }

  [[nodiscard]] std::vector<std::string> unrecorded(const store::TrialRow& trial) const {
    const Expected<std::vector<std::string>> listed = checkpoints_.list(trial.name);
    std::vector<std::string> names = listed ? listed.value() : std::vector<std::string>();
    std::erase_if(names, [on_record = recorded(trial)](const std::string& name) {
      return on_record.contains(name);
    });
    return names;
  }

  /// Whether the journal is older than the trial's files.
  [[nodiscard]] bool is_behind(const store::TrialRow& trial) {
    std::string gone;
    for (const store::CheckpointRow& row : reader_.checkpoints(trial.id)) {
      const fs::path place = checkpoints_.path(trial.name, row.directory);
      std::error_code error;
      if (row.is_kept && !fs::exists(place, error) && !error) gone = row.directory;
    }
    if (gone.empty()) return false;
    const std::vector<std::string> others = unrecorded(trial);
    if (others.empty()) return false;
    lines_.push_back(trial.name + ": " + gone + " is on record and gone, " + others.back() +
                     " is there and not on record: the journal is older than the files");
    return true;
  }

  void remove_checkpoints(const store::TrialRow& trial) {
    const Expected<std::vector<std::string>> removed =
        checkpoints_.clean(trial.name, recorded(trial));
    if (!removed) {
      lines_.push_back(removed.error().message);
      return;
    }
    for (const std::string& name : removed.value()) {
      lines_.push_back("removed " + trial.name + "/" + name + ", which is not on record");
    }
  }

  void set_checkpoints_aside(const store::TrialRow& trial) {
    for (const std::string& name : unrecorded(trial)) {
      set_aside(checkpoints_.path(trial.name, name));
    }
  }

  // Trials that were started an instant before the driver was killed, and whose suggestion was not
  // committed. They are suggested anew, and perhaps otherwise.
  [[nodiscard]] std::vector<fs::path> unknown_trials() const {
    std::vector<fs::path> unknown;
    std::error_code error;
    for (fs::directory_iterator it(experiment_, error), end; !error && it != end;
         it.increment(error)) {
      const auto id = trial_named(it->path().filename().string());
      std::error_code ignored;
      if (id && !known_.contains(*id) && it->is_directory(ignored)) unknown.push_back(it->path());
    }
    std::sort(unknown.begin(), unknown.end());
    return unknown;
  }

  void remove_trial(const fs::path& path) {
    std::error_code error;
    fs::remove_all(path, error);
    lines_.push_back(error ? "cannot remove " + path.string() + ": " + error.message()
                           : "removed " + name_within(path) + ", which is not on record");
  }

  void set_aside(const fs::path& path) {
    const std::string name = "left_over_" + path.filename().string();
    fs::path aside = path.parent_path() / name;
    std::error_code error;
    for (int i = 2; fs::exists(aside, error); ++i) {
      aside = path.parent_path() / (name + "_" + std::to_string(i));
    }
    fs::rename(path, aside, error);
    lines_.push_back(error ? "cannot set " + path.string() + " aside: " + error.message()
                           : name_within(path) + " is not on record: it is now " +
                                 aside.filename().string());
  }

  [[nodiscard]] std::string name_within(const fs::path& path) const {
    return path.lexically_relative(experiment_).string();
  }

  const store::JournalReader& reader_;
  const fs::path& experiment_;
  const store::CheckpointStore checkpoints_;
  std::set<TrialId> known_;
  const OfRunning of_running_;
  bool sets_aside_ = false;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> clean_directories(const store::JournalReader& reader,
                                           const fs::path& experiment, OfRunning of_running) {
  return LeftOvers(reader, experiment, of_running).clean();
}

}  // namespace tune::runtime
