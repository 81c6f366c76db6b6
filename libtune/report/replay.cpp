#include "replay.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include <tune/checkpoint.hpp>
#include <tune/result.hpp>

namespace tune::report {
namespace {

/// Calls exporters until each of them has failed.
class Audience {
 public:
  explicit Audience(std::vector<Exporter*> exporters) : exporters_(std::move(exporters)) {}

  void tell(const std::function<void(Exporter&)>& call) {
    std::erase_if(exporters_, [&](Exporter* exporter) {
      try {
        call(*exporter);
        return false;
      } catch (const std::exception&) {
        if (!first_error_) first_error_ = std::current_exception();
        return true;
      }
    });
  }
  void throw_first_error() const {
    if (first_error_) std::rethrow_exception(first_error_);
  }

 private:
  std::vector<Exporter*> exporters_;
  std::exception_ptr first_error_;
};

}  // namespace

void replay_trial(const RestoredTrial& restored, const TrialInfo& trial,
                  std::vector<Exporter*> exporters) {
  Audience audience(std::move(exporters));
  audience.tell([&](Exporter& exporter) { exporter.begin_anew(trial); });
  if (trial.incarnation == 0) return audience.throw_first_error();

  std::filesystem::create_directories(trial.path);
  std::vector<TrialInfo> starts = restored.starts();
  std::size_t begun = 0;
  TrialInfo current = trial;
  const auto begin_starts_up_to = [&](std::uint32_t incarnation) {
    for (; begun < starts.size() && starts[begun].incarnation <= incarnation; ++begun) {
      current = std::move(starts[begun]);
      current.name = trial.name;
      current.path = trial.path;
      audience.tell([&](Exporter& exporter) { exporter.on_trial_start(current); });
    }
  };
  restored.results(
      [&](std::uint32_t incarnation, const Result& result, const std::string& checkpoint) {
        begin_starts_up_to(incarnation);
        audience.tell([&](Exporter& exporter) { exporter.on_trial_result(current, result); });
        if (checkpoint.empty()) return;
        const Checkpoint stored{trial.path / checkpoint, result.training_iteration};
        audience.tell([&](Exporter& exporter) { exporter.on_trial_checkpoint(current, stored); });
      });
  begin_starts_up_to(trial.incarnation);

  const TrialEnd end{restored.state, restored.reason, restored.error};
  audience.tell([&](Exporter& exporter) {
    if (restored.state == TrialState::terminated) exporter.on_trial_completed(current, end);
    if (restored.state == TrialState::error) exporter.on_trial_failed(current, end, false);
  });
  audience.throw_first_error();
}

}  // namespace tune::report
