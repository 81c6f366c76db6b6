#pragma once

#include <cstdint>
#include <set>
#include <string>
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

/// Each as JSON text.
inline std::vector<std::string> dumped(const std::vector<Config>& configs) {
  std::vector<std::string> lines;
  for (const Config& config : configs) lines.push_back(config.dump());
  return lines;
}

/// The same, sorted and each once.
inline std::vector<std::string> distinct(const std::vector<Config>& configs) {
  const std::vector<std::string> lines = dumped(configs);
  const std::set<std::string> sorted(lines.begin(), lines.end());
  return {sorted.begin(), sorted.end()};
}

}  // namespace tune::test
