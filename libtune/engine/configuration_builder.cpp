#include "configuration_builder.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

#include <tune/random.hpp>

#include "core/number_text.hpp"
#include "core/space_check.hpp"

namespace tune::engine {
namespace {

bool is_function(const SearchSpace::Parameter& parameter) {
  return parameter.domain.kind() == Domain::Kind::sample_from;
}

bool is_constant(const SearchSpace::Parameter& parameter) {
  return parameter.domain.kind() == Domain::Kind::constant;
}

}  // namespace

ConfigurationBuilder::ConfigurationBuilder(const SearchSpace& space, std::uint64_t seed,
                                           std::string searcher)
    : parameters_(space.parameters()), seed_(seed), searcher_(std::move(searcher)) {
  for (const SearchSpace::Parameter& parameter : parameters_) {
    paths_.insert(parameter.path);
    has_functions_ = has_functions_ || is_function(parameter);
  }
}

Json ConfigurationBuilder::normalised(const Json& point) const {
  Json values = Json::object();
  for (const SearchSpace::Parameter& parameter : parameters_) {
    const Json* value = find_path(point, parameter.path);
    if (value == nullptr || !SearchSpace::is_active(parameter, values)) continue;
    set_path(values, parameter.names, parameter.domain.normalised(*value).value());
  }
  return values;
}

bool ConfigurationBuilder::leaves_choice(const Json& fixed) const {
  for (const SearchSpace::Parameter& parameter : parameters_) {
    if (is_function(parameter) || is_constant(parameter)) continue;
    // A parameter below a branch that is not fixed need not be asked: the branch itself is left.
    if (!SearchSpace::is_active(parameter, fixed)) continue;
    if (find_path(fixed, parameter.names) == nullptr) return true;
  }
  return false;
}

Json ConfigurationBuilder::assemble(const Json& fixed, const Json& answer) const {
  if (const std::string unknown = core::find_unknown(answer, paths_); !unknown.empty()) {
    throw std::runtime_error(
        "searcher " + searcher_ + " gave parameter " + core::value_text(unknown) +
        ", which is not in the search space; it has: " + core::names_text(paths_));
  }
  Json drawn = Json::object();
  for (const SearchSpace::Parameter& parameter : parameters_) {
    if (is_function(parameter) || !SearchSpace::is_active(parameter, drawn)) continue;
    const Json* given = find_path(fixed, parameter.names);
    if (given != nullptr) {
      set_path(drawn, parameter.names, *given);
    } else if (is_constant(parameter)) {
      set_path(drawn, parameter.names, parameter.domain.options().front());
    } else {
      set_path(drawn, parameter.names, chosen(parameter, answer));
    }
  }
  return drawn;
}

Json ConfigurationBuilder::drawn(const Json& fixed, Random& random) const {
  Json drawn = Json::object();
  for (const SearchSpace::Parameter& parameter : parameters_) {
    if (is_function(parameter) || !SearchSpace::is_active(parameter, drawn)) continue;
    const Json* given = find_path(fixed, parameter.names);
    set_path(drawn, parameter.names, given != nullptr ? *given : parameter.domain.sample(random));
  }
  return drawn;
}

Json ConfigurationBuilder::chosen(const SearchSpace::Parameter& parameter,
                                  const Json& answer) const {
  const Json* value = find_path(answer, parameter.names);
  if (value == nullptr) value = find_path(answer, parameter.path);
  if (value == nullptr) {
    throw std::runtime_error("searcher " + searcher_ + " gave no value for parameter " +
                             core::value_text(parameter.path) + ", which is " +
                             parameter.domain.describe());
  }
  if (!parameter.domain.contains(*value)) {
    throw std::runtime_error(
        "searcher " + searcher_ + " gave parameter " + core::value_text(parameter.path) +
        " the value " + core::typed_text(*value) + ", must be in " + parameter.domain.describe());
  }
  return parameter.domain.normalised(*value).value();
}

Json ConfigurationBuilder::drawn_part(const Json& config) const {
  Json drawn = Json::object();
  for (const SearchSpace::Parameter& parameter : parameters_) {
    if (is_function(parameter) || !SearchSpace::is_active(parameter, drawn)) continue;
    if (const Json* value = find_path(config, parameter.names)) {
      set_path(drawn, parameter.names, *value);
    }
  }
  return drawn;
}

bool ConfigurationBuilder::has_chance(const Json& drawn) const {
  for (const SearchSpace::Parameter& parameter : parameters_) {
    if (parameter.domain.is_random_function() && SearchSpace::is_active(parameter, drawn)) {
      return true;
    }
  }
  return false;
}

Config ConfigurationBuilder::complete(const Json& drawn, const Json& fixed, TrialId trial) const {
  if (!has_functions_) return Config(drawn);
  // In the order of the space, so that a function sees what stands before it and nothing else.
  Json config = Json::object();
  for (const SearchSpace::Parameter& parameter : parameters_) {
    if (!SearchSpace::is_active(parameter, config)) continue;
    if (const Json* given = find_path(fixed, parameter.names)) {
      set_path(config, parameter.names, *given);
    } else if (is_function(parameter)) {
      set_path(config, parameter.names, computed(parameter, config, trial));
    } else {
      set_path(config, parameter.names, *find_path(drawn, parameter.names));
    }
  }
  return Config(std::move(config));
}

Json ConfigurationBuilder::computed(const SearchSpace::Parameter& parameter, const Json& so_far,
                                    TrialId trial) const {
  Random random(seed_, "sample_from/" + parameter.path, trial.value());
  std::string fault;
  try {
    Json value = parameter.domain.function()(Config(so_far), random);
    fault = core::value_fault(value);
    if (fault.empty()) return value;
  } catch (const std::exception& error) {
    fault = error.what();
  } catch (...) {
    fault = "unknown exception";
  }
  throw std::runtime_error("parameter " + core::value_text(parameter.path) +
                           ": its sample_from function failed: " + fault);
}

}  // namespace tune::engine
