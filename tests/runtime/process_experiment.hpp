#pragma once

#include "run_support.hpp"

namespace tune::test {

/// A small experiment in worker processes.
inline Experiment process_experiment(const TemporaryFolder& folder) {
  Experiment experiment = small_experiment(folder);
  experiment.isolation = Isolation::processes;
  return experiment;
}

}  // namespace tune::test
