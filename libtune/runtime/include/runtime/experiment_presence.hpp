#pragma once

namespace tune::runtime {

/// Says, as long as it lives, that this process runs an experiment or serves one: a `track` call on
/// a thread that belongs to no trial is then an error and starts no run of its own.
class ExperimentPresence {
 public:
  ExperimentPresence();
  ~ExperimentPresence();
  ExperimentPresence(const ExperimentPresence&) = delete;
  ExperimentPresence& operator=(const ExperimentPresence&) = delete;
};

}  // namespace tune::runtime
