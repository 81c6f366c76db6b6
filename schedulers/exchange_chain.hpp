#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tune/json.hpp>

namespace tune::schedulers {

/// A trial went on from a donor's checkpoint, as a policy log has it.
struct LoggedExchange {
  std::string trial;
  std::string donor;
  std::int64_t step = 0;        ///< The trial's counter then.
  std::int64_t checkpoint = 0;  ///< The donor's counter when that was saved.
  Json donor_config = {};
  Json config = {};
};

/// The configurations behind the weights that `trial` has after all `exchanges`, which are in their
/// order: `[{"step": 0, "config": {...}}, ...]`, steps in iterations that these weights were
/// trained. Empty if the trial never exchanged.
[[nodiscard]] Json policy_behind(const std::vector<LoggedExchange>& exchanges,
                                 const std::string& trial);

/// Of the trial in the last line of a policy log, whose lines are JSON lists `[trial, donor, step,
/// step of the checkpoint, configuration of the donor, configuration]`.
/// @throws std::invalid_argument naming `place` and the line that is none, or that there is no line
[[nodiscard]] Json policy_of_log(const std::string& text, const std::string& place);

}  // namespace tune::schedulers
