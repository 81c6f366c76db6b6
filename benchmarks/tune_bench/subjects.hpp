#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tune/tune.hpp>

// What is run in order to be measured.
namespace tune::bench {

/// Reports as fast as it is let.
class Counting final : public Trainable {
 public:
  Metrics step() override { return {{"loss", 1.0 / static_cast<double>(++steps_)}}; }
  bool reset_config(const Config&) override {
    steps_ = 0;
    return true;
  }

 private:
  std::int64_t steps_ = 0;
};

/// An experiment on threads, without anything that is not asked for.
[[nodiscard]] Experiment plain_experiment(const std::filesystem::path& directory);

/// "threads" or "processes".
[[nodiscard]] std::string text_of(Isolation isolation);
/// @throws std::invalid_argument
[[nodiscard]] Isolation isolation_of(const std::string& text);

/// All of them.
[[nodiscard]] std::vector<std::string> all_exporters();

/// CPU time of all threads of this process.
[[nodiscard]] double cpu_seconds();

}  // namespace tune::bench
