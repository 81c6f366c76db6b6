#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/mode.hpp>
#include <tune/scheduler.hpp>

#include "halving_bracket.hpp"

namespace tune::schedulers {

/// What HyperBand, successive halving and BOHB's HyperBand say of the scheduler that they are.
struct HalvingPlan {
  Json options = {};  ///< As TrialScheduler::options() gives them.
  std::string name = {};
  std::string time_attr = {};
  std::string metric = {};
  std::optional<Mode> mode = {};
  double max_t = 0;
  double reduction_factor = 0;
  bool stop_last_trials = true;
  std::vector<BracketShape> shapes =
      {};                       ///< In the order in which brackets begin, then round again.
  bool waits_for_rung = false;  ///< A bracket begins when the one before has its first rung.
};

/// Makes the scheduler. Brackets begin one after the other: new trials go to the newest until it is
/// full or no more can come. A free slot goes to the best trial that has been promoted in the
/// oldest bracket that has one, else to a new trial.
[[nodiscard]] std::unique_ptr<TrialScheduler> synchronous_halving(HalvingPlan plan);

}  // namespace tune::schedulers
