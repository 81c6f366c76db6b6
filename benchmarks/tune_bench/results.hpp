#pragma once

#include <string>

#include <tune/experiment.hpp>

namespace tune::bench {

/// Where the trials of an experiment run; nodes are two processes on loopback, and their trials in
/// worker processes of theirs.
enum class Stage { threads, processes, nodes };

[[nodiscard]] std::string to_string(Stage stage);

/// Runs the experiment with Counting there: seconds of tune_run, or since its first trial started
/// where nodes have to join first.
[[nodiscard]] double seconds_on(Stage stage, Experiment& experiment);

}  // namespace tune::bench
