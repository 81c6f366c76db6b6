#include <cerrno>
#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <stdlib.h>

#include <tune/workload.hpp>

#include "core/number_text.hpp"

namespace tune {
namespace {

/// A folder below that for temporary files, gone with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tune_sim_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error(name + ": " + std::generic_category().message(errno));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// One checkpoint on disk, as long as somebody may load it.
struct SavedFolder {
  explicit SavedFolder(std::filesystem::path folder) : path(std::move(folder)) {
    std::filesystem::create_directories(path);
  }
  ~SavedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  SavedFolder(const SavedFolder&) = delete;
  SavedFolder& operator=(const SavedFolder&) = delete;
  const std::filesystem::path path;
};

class TrainableWorkload final : public Workload {
 public:
  TrainableWorkload(TrainableSpec spec, TrainableWorkloadOptions options)
      : spec_(std::move(spec)), options_(std::move(options)) {}

  SimulatedSetup begin(const SimulatedStart& start) override {
    std::unique_ptr<Trainable> trainable = spec_.make();
    TrialContext context;
    context.trial_id = start.trial;
    context.resources = start.resources;
    context.seed = start.seed;
    context.incarnation = start.incarnation;
    context.start_iteration = start.start_iteration;
    trainable->set_context(std::move(context));
    trainable->setup(start.config);
    running_[start.trial] = std::move(trainable);
    return {};
  }

  SimulatedStep step(const SimulatedStart& start, std::int64_t) override {
    SimulatedStep step{.metrics = running_.at(start.trial)->step(),
                       .seconds = options_.default_seconds};
    if (const MetricValue* seconds = step.metrics.find(options_.seconds_metric)) {
      step.seconds = seconds->as_double();
      step.metrics.erase(options_.seconds_metric);
    }
    if (const MetricValue* done = step.metrics.find("done")) {
      step.done = done->is_number() && done->as_double() != 0;
      step.metrics.erase("done");
    }
    return step;
  }

  std::any save(const SimulatedStart& start, std::int64_t) override {
    if (!scratch_) scratch_ = std::make_unique<ScratchFolder>();
    auto saved =
        std::make_shared<const SavedFolder>(scratch_->path() / std::to_string(next_folder_++));
    running_.at(start.trial)->save_checkpoint(saved->path);
    return saved;
  }
  void load(const SimulatedStart& start, const std::any& state) override {
    const auto saved = std::any_cast<std::shared_ptr<const SavedFolder>>(state);
    running_.at(start.trial)->load_checkpoint(saved->path);
  }
  void end(const SimulatedStart& start, SimulatedEnd) override {
    const auto found = running_.find(start.trial);
    if (found == running_.end()) return;  // its setup threw
    const std::unique_ptr<Trainable> trainable = std::move(found->second);
    running_.erase(found);
    try {
      trainable->cleanup();
    } catch (...) {
      // It has ended all the same.
    }
  }
  [[nodiscard]] bool saves_checkpoints() const override { return spec_.checkpoints; }
  [[nodiscard]] std::string name() const override { return spec_.name; }

 private:
  TrainableSpec spec_;
  TrainableWorkloadOptions options_;
  std::map<TrialId, std::unique_ptr<Trainable>> running_;
  std::unique_ptr<ScratchFolder> scratch_;  // made when the first one saves
  std::uint64_t next_folder_ = 0;
};

}  // namespace

std::unique_ptr<Workload> trainable_workload(const TrainableSpec& trainable,
                                             const TrainableWorkloadOptions& options) {
  if (!trainable.make) {
    throw std::invalid_argument("trainable_workload: " + trainable.name +
                                " is no Trainable class; a train function keeps its loop to "
                                "itself and cannot be simulated");
  }
  if (!(options.default_seconds >= 0) || !std::isfinite(options.default_seconds)) {
    throw std::invalid_argument(
        "trainable_workload: default_seconds must be at least 0 and finite, is " +
        core::number_text(options.default_seconds));
  }
  return std::make_unique<TrainableWorkload>(trainable, options);
}

}  // namespace tune
