#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/resources.hpp>

#include "engine/engine.hpp"
#include "support/engine_checker.hpp"

namespace tune::test {

/// What the script scheduler does when a trial reports an iteration.
struct ScriptedCall {
  TrialId trial;
  std::int64_t iteration = 0;
  std::string action;  ///< pause, stop, unpause, exploit
  TrialId target;
  TrialId source;
  Config config;
};

/// What a script says of one trial's training code.
struct ScriptedTrial {
  std::map<std::string, std::vector<std::string>>
      metrics;  ///< Values by iteration, the last stays.
  std::optional<std::int64_t> ends_after;
  struct Failure {
    std::int64_t iteration = 0;
    std::string message;
    std::int64_t times = 1;
  };
  std::vector<Failure> failures;
  std::string invalid;            ///< Not empty: setup refuses the configuration so.
  std::string unloadable;         ///< Not empty: the first checkpoint cannot be loaded.
  std::set<std::string> damaged;  ///< Checkpoints that it finds damaged.
  int deaf_for_steps = 0;         ///< Steps that it makes before it heeds an order.
};

struct ScriptedEvent {
  double time_s = 0;
  std::string action;  ///< join, leave, stop, interrupt
  std::string name;    ///< Of a node; or the reason.
  ResourceAmounts capacity;
};

/// One line that begins with `expect`.
struct Expectation {
  std::string place;  ///< file:line
  std::vector<std::string> words;
};

/// A whole search under faults, as a person writes it down; see tests/sim/README.md for the words.
struct Scenario {
  engine::EngineOptions engine;
  std::string scheduler = "fifo";  ///< A registered name, or "script".
  Json scheduler_options = Json::object();
  std::vector<ScriptedCall> calls;
  std::map<std::string, NodeId> nodes;
  std::vector<ScriptedEvent> events;
  ScriptedTrial every_trial;
  std::map<TrialId, ScriptedTrial> trials;
  double late_s = 0;  ///< Messages of a node that left come this much later; 0: not at all.
  std::vector<Expectation> expectations;

  [[nodiscard]] const ScriptedTrial& of(TrialId id) const;
};

/// @throws std::invalid_argument with file:line at a word that it does not know.
[[nodiscard]] Scenario read_scenario(const std::filesystem::path& file);

/// What went otherwise than expected, a line each with its place; empty if nothing did.
/// `trace` gets a line an event and command. @throws BrokenInvariant, see EngineWorld.
[[nodiscard]] std::string run_scenario(const Scenario& scenario,
                                       std::function<void(const std::string&)> trace);

}  // namespace tune::test
