#pragma once

#include <chrono>

namespace tune::runtime {

/// How long a trial may take before somebody ends it.
struct WorkerTimes {
  std::chrono::duration<double> stop_grace{0};    ///< From a stop message to SIGTERM.
  std::chrono::duration<double> kill_grace{0};    ///< From SIGTERM to SIGKILL.
  std::chrono::duration<double> step_timeout{0};  ///< From one report to the next; 0: for ever.
};

}  // namespace tune::runtime
