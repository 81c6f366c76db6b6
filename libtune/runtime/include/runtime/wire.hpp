#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include <tune/json.hpp>

#include "engine/events.hpp"
#include "runtime/messages.hpp"
#include "runtime/trial_run.hpp"

/// What an agent and a worker process tell each other, as the JSON that frames hold. Doubles keep
/// their bits, infinities and negative zero too, and NaN stays NaN.
namespace tune::runtime {

/// Both must be of the same build; a worker says so first.
inline constexpr int wire_version = 4;

// ---- An agent to a worker ----

/// Run this start of a trial.
struct StartTrial {
  std::string trainable;  ///< Its TrainableSpec::key.
  TrialRun run;
  std::vector<std::string> plugins = {};  ///< Files to load before, in this order.
};
/// Between a trial and one of its parallel workers, through their agents. The body is a TeamOrder
/// to the worker or a TeamWord from it, or {"died": text}.
struct TeamLetter {
  std::size_t rank = 0;
  Json body;
};
/// No trial comes any more: clean up and end.
struct EndWorker {};
using WorkerCommand = std::variant<StartTrial, TrialOrder, EndWorker, TeamLetter>;

// ---- A worker to its agent ----

struct WorkerHello {
  int version = 0;
};
struct WorkerNews {
  std::vector<engine::TrialMessage> messages;  ///< What the trial told.
  bool is_ending = false;                      ///< TrialLink::is_ending().
  bool is_reusable = false;  ///< With its end: another trial may follow in this process.
};
/// The worker ends; `fault`: what cleanup() threw, if it did.
struct WorkerBye {
  std::string fault;
};
using WorkerReport = std::variant<WorkerHello, WorkerNews, WorkerBye, TeamLetter>;

[[nodiscard]] Json to_json(const WorkerCommand& command);
[[nodiscard]] Json to_json(const WorkerReport& report);
/// @throws std::exception for what is none, saying what is wrong.
[[nodiscard]] WorkerCommand command_from_json(const Json& json);
[[nodiscard]] WorkerReport report_from_json(const Json& json);

}  // namespace tune::runtime
