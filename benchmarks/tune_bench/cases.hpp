#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/measurement.hpp"

namespace tune::bench {

/// What is measured, by the name under which --filter finds it.
struct BenchCase {
  std::string name;
  std::string what;  ///< One line, for --list.
  std::function<std::vector<Measurement>(const Options&)> measure;
};

/// What the machine gives to anybody, without a line of ours.
[[nodiscard]] std::vector<BenchCase> limit_cases();
/// Engine and scheduler alone.
[[nodiscard]] std::vector<BenchCase> engine_cases();
/// Results through the driver: from threads, from worker processes, from nodes; with exporters.
[[nodiscard]] std::vector<BenchCase> result_cases();
/// What a trial costs: in time, in memory, with a large configuration.
[[nodiscard]] std::vector<BenchCase> trial_cases();
/// Ten thousand trials of one result.
[[nodiscard]] std::vector<BenchCase> short_trial_cases();
/// Whether a trial costs more, the more there were before.
[[nodiscard]] std::vector<BenchCase> growth_cases();
/// Start, first step, an idle driver.
[[nodiscard]] std::vector<BenchCase> program_cases();
/// Going on with an experiment.
[[nodiscard]] std::vector<BenchCase> resume_cases();
/// Ray Tune's scalability page, `shorter` times shorter.
[[nodiscard]] std::vector<BenchCase> published_cases(double shorter);
/// Its workloads with large checkpoints.
[[nodiscard]] std::vector<BenchCase> checkpoint_cases(double shorter);

}  // namespace tune::bench
