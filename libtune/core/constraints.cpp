// Which configurations of a search space may be tried.
#include <algorithm>
#include <stdexcept>

#include <tune/search_space.hpp>

#include "core/number_text.hpp"

namespace tune {

void SearchSpace::require(std::string name, Constraint allows) {
  const std::string what = "constraint " + core::value_text(name);
  if (name.empty()) throw std::invalid_argument(what + ": the name is empty, must not be");
  if (!allows) throw std::invalid_argument(what + ": there is no function");
  const bool is_taken =
      std::any_of(constraints_.begin(), constraints_.end(),
                  [&name](const NamedConstraint& other) { return other.name == name; });
  if (is_taken) throw std::invalid_argument(what + ": the name is taken, must be there once");
  constraints_.push_back({std::move(name), std::move(allows)});
  note_constants();
}

void SearchSpace::note_constants() {
  constants_ = parameters();
  std::erase_if(constants_, [](const Parameter& parameter) {
    return parameter.domain.kind() != Domain::Kind::constant;
  });
}

bool SearchSpace::is_allowed(const Json& config) const {
  if (constraints_.empty()) return true;
  Json values = config;
  for (const Parameter& parameter : constants_) {
    if (!is_active(parameter, values)) continue;
    set_path(values, parameter.names, parameter.domain.options().front());
  }
  const Config whole(std::move(values));
  for (const NamedConstraint& constraint : constraints_) {
    std::string fault;
    try {
      if (!constraint.allows(whole)) return false;
      continue;
    } catch (const std::exception& error) {
      fault = error.what();
    } catch (...) {
      fault = "unknown exception";
    }
    throw std::runtime_error("constraint " + core::value_text(constraint.name) + " threw for " +
                             core::cut_json(whole.json(), 500) + ": " + fault);
  }
  return true;
}

std::vector<std::string> SearchSpace::constraints() const {
  std::vector<std::string> names;
  for (const NamedConstraint& constraint : constraints_) names.push_back(constraint.name);
  return names;
}

}  // namespace tune
