#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <tune/progress.hpp>

namespace tune::test {

inline TrialProgress sample_trial(std::uint64_t id, std::int64_t iteration, Metrics metrics) {
  TrialProgress trial;
  trial.id = TrialId(id);
  trial.name = "0000" + std::to_string(id);
  trial.config = Config(Json{{"lr", 0.00276912}, {"hidden", {128, 64}}, {"optimizer", "adam"}});
  trial.training_iteration = iteration;
  trial.time_total_s = 1.5 * static_cast<double>(iteration);
  trial.metrics = std::move(metrics);
  if (const MetricValue* acc = trial.metrics.find("val_acc")) trial.value = acc->as_double();
  return trial;
}

/// In the middle of a search: trials in each state, a failure, two rows.
inline Progress sample_progress() {
  Progress progress;
  progress.name = "fashion";
  progress.path = "/results/fashion";
  progress.objective = Objective{"val_acc", Mode::max};
  progress.counts = {.pending = 3, .running = 2, .paused = 1, .terminated = 11, .error = 1};
  progress.expected_trials = 27;
  progress.max_iterations = 9;
  progress.results = 60;
  progress.fraction = 0.4444;
  progress.elapsed = std::chrono::seconds(192);
  progress.remaining = std::chrono::seconds(245);
  progress.best = sample_trial(7, 9, {{"val_acc", 0.8912}, {"loss", 0.33}});
  progress.rows = {sample_trial(12, 3, {{"val_acc", 0.8712}, {"loss", 0.331}}),
                   sample_trial(13, 0, {})};
  progress.failures = {{TrialId(5), "00005", "on purpose", "/results/fashion/00005/error.txt"}};
  progress.failed_starts = 1;
  progress.reasons = {{"stopped by asha", 9}, {"stop criterion training_iteration >= 9", 2}};
  progress.resources.set("cpu", 2000);
  progress.resources.set("gpu", 1000);
  progress.resources.set("memory", std::int64_t{16} << 30);
  progress.resources_in_use.set("cpu", 2000);
  progress.resources_in_use.set("gpu", 500);
  progress.scheduler = "asha up to 9; rung 1: 12 values, cut-off 0.84";
  return progress;
}

}  // namespace tune::test
