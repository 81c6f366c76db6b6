#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tune/tune.hpp>

#include "benchmarks/measurement.hpp"

namespace tune::bench {

/// What is measured, by the name under which --filter finds it.
struct BenchCase {
  std::string name;
  std::string what;  ///< One line, for --list.
  std::function<Measurement(const Options&)> measure;
  bool is_long = false;  ///< Only if it is asked for.
};

// What the machine gives to anybody, without a line of ours.
/// Messages a second from one thread to an actor, and back and forth between two actors.
[[nodiscard]] double raw_messages_per_second(std::int64_t count);
[[nodiscard]] double raw_round_trip_us(std::int64_t count);
/// Frames of 200 bytes a second through a pair of sockets.
[[nodiscard]] double raw_frames_per_second(std::int64_t count);
/// Processes a second that do nothing.
[[nodiscard]] double raw_processes_per_second(std::int64_t count);
/// Hand-overs a second from one thread to another and back, by a mutex and a condition.
[[nodiscard]] double raw_handovers_per_second(std::int64_t count);

[[nodiscard]] std::vector<BenchCase> limit_cases();
[[nodiscard]] std::vector<BenchCase> experiment_cases();
/// Ray Tune's scalability page; `shorter` is 10 for a quick look.
[[nodiscard]] std::vector<BenchCase> published_cases(double shorter);

/// An experiment without anything that is not asked for.
[[nodiscard]] Experiment plain_experiment(const std::filesystem::path& directory);

/// If this process was started to be measured as a whole: runs that, and true.
[[nodiscard]] bool run_if_measured(int argc, char** argv);

}  // namespace tune::bench
