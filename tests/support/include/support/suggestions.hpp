#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>

#include "engine/suggestion_source.hpp"

namespace tune::test {

/// The configurations of the trials `first`, `first` + 1, ..., until the source gives something
/// else or there are `most`.
inline std::vector<Config> suggest_all(engine::SuggestionSource& source, std::uint64_t most = 1000,
                                       std::uint64_t first = 0) {
  std::vector<Config> configs;
  while (configs.size() < most) {
    Suggestion suggestion = source.suggest(TrialId(first + configs.size()));
    if (!std::holds_alternative<Config>(suggestion)) break;
    configs.push_back(std::get<Config>(std::move(suggestion)));
  }
  return configs;
}

}  // namespace tune::test
