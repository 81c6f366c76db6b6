#pragma once

#include <string>
#include <vector>

#include <tune/json.hpp>

#include "rung_model.hpp"

namespace tune::test {

/// A scheduler under test, by name.
struct Subject {
  std::string name;
  Json options = Json::object();
  RungRule rungs = RungRule::none;
};

/// Every scheduler there is, a line each, and more for options that change much. Registers them.
[[nodiscard]] std::vector<Subject> subjects();

[[nodiscard]] std::string describe(const Subject& subject);

}  // namespace tune::test
