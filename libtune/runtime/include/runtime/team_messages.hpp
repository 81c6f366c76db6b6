#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <tune/json.hpp>
#include <tune/trial_workers.hpp>

/// What a trial and its parallel workers say to each other, see WorkerTeam and TeamMember.
namespace tune::runtime {

// ---- To a worker ----

struct TeamCall {
  std::uint64_t call = 0;
  std::string function;
  Json argument;
};
/// All have met, or will not.
struct TeamRelease {
  std::uint64_t call = 0;
  std::string error;           ///< Empty: they have.
  std::vector<double> values;  ///< Of a reduction.
};
using TeamOrder = std::variant<TeamCall, TeamRelease>;

// ---- From a worker ----

struct TeamAnswer {
  std::uint64_t call = 0;
  Json answer;
};
/// The function threw, or cannot be called.
struct TeamFault {
  std::uint64_t call = 0;
  std::string text;
};
/// It waits for the others.
struct TeamArrival {
  std::uint64_t call = 0;
  bool is_reduction = false;  ///< Else a barrier.
  Reduction reduction = Reduction::sum;
  std::vector<double> values = {};
};
using TeamWord = std::variant<TeamAnswer, TeamFault, TeamArrival>;

[[nodiscard]] Json to_json(const TeamOrder& order);
[[nodiscard]] Json to_json(const TeamWord& word);
/// @throws std::exception for what is none.
[[nodiscard]] TeamOrder team_order_from_json(const Json& json);
[[nodiscard]] TeamWord team_word_from_json(const Json& json);

}  // namespace tune::runtime
