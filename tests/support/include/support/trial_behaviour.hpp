#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tune/metrics.hpp>

#include "engine/commands.hpp"

namespace tune::test {

/// What became of setup or of one step of the training code.
struct StepOutcome {
  enum class Kind {
    report,  ///< It worked; a step reports `metrics`.
    end,     ///< The training code ended by itself, without a result.
    fail,
    invalid,
  };
  Kind kind = Kind::report;
  Metrics metrics = {};
  bool done = false;         ///< The result says that it is the last.
  bool save = false;         ///< The training code saves of its own accord.
  bool is_silent = false;    ///< A start that fails before it can say that it started.
  std::string message = {};  ///< Of a failure.
  double seconds = 1;        ///< How long it takes.
};

/// The training code of all trials of an EngineWorld.
class TrialBehaviour {
 public:
  virtual ~TrialBehaviour() = default;

  /// Setup, before a checkpoint is loaded. @pre the outcome is not `end`
  virtual StepOutcome setup(const engine::Launch& launch) = 0;
  virtual StepOutcome step(const engine::Launch& launch, std::int64_t iteration) = 0;
  /// What is wrong with the checkpoint that the start is to load; empty if it is sound.
  virtual std::string damage(const engine::Launch&) { return {}; }
  /// Text of the failure to load; empty if it works.
  virtual std::string load(const engine::Launch&) { return {}; }
  /// Text of the failure to save; empty if it works.
  virtual std::string save(const engine::Launch&, std::int64_t /*iteration*/) { return {}; }
  /// How many further steps a busy trial makes before it heeds a Stop, Pause or Save.
  virtual int steps_before_it_obeys(const engine::Launch&) { return 0; }
  /// Seconds after which a trial that waits dies of another cause (its process is killed, say);
  /// empty: it does not.
  virtual std::optional<double> dies_waiting(const engine::Launch&, std::int64_t /*iteration*/) {
    return std::nullopt;
  }
  /// True if it never heeds Stop or Pause, so that its thread is given up.
  virtual bool ignores_stop(const engine::Launch&) { return false; }
};

}  // namespace tune::test
