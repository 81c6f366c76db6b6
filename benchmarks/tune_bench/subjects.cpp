#include "subjects.hpp"

#include <sys/resource.h>

#include <stdexcept>

namespace tune::bench {
namespace {

TUNE_REGISTER_TRAINABLE(Counting)

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Experiment plain_experiment(const std::filesystem::path& directory) {
  Experiment experiment;
  experiment.name = "bench";
  experiment.storage_path = directory.string();
  experiment.space = {{"lr", uniform(0.0, 1.0)}};
  experiment.metric = "loss";
  experiment.mode = Mode::min;
  experiment.seed = 1;
  experiment.searcher = random_search();
  experiment.isolation = Isolation::threads;
  experiment.exporters = {};
  experiment.verbosity = 0;
  return experiment;
}

std::string text_of(Isolation isolation) {
  return isolation == Isolation::threads ? "threads" : "processes";
}

Isolation isolation_of(const std::string& text) {
  if (text == "threads") return Isolation::threads;
  if (text == "processes") return Isolation::processes;
  throw std::invalid_argument("isolation " + text + ", must be threads or processes");
}

std::vector<std::string> all_exporters() { return {"json", "csv", "tensorboard"}; }

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

}  // namespace tune::bench
