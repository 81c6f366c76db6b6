#include <tune/search_space.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>

#include "core/enumeration.hpp"
#include "core/number_text.hpp"
#include "core/space_check.hpp"

namespace tune {
namespace {

using core::value_text;
using Conditions = std::vector<std::pair<std::string, Json>>;

void append_parameters(const SearchSpace& space, const std::vector<std::string>& above,
                       const Conditions& conditions,
                       std::vector<SearchSpace::Parameter>& parameters) {
  for (const SpaceEntry& entry : space.entries()) {
    std::vector<std::string> names = above;
    names.push_back(entry.name);
    if (entry.domain.kind() == Domain::Kind::space) {
      append_parameters(entry.domain.space(), names, conditions, parameters);
      continue;
    }
    const std::string path = core::join_names(names);
    parameters.push_back({path, std::move(names), entry.domain, conditions});
    if (entry.domain.kind() != Domain::Kind::branch) continue;
    for (const Domain::Branch& branch : entry.domain.branches()) {
      Conditions inner = conditions;
      inner.emplace_back(path, branch.key);
      append_parameters(branch.space, above, inner, parameters);
    }
  }
}

enum class Activity { active, inactive, open };

// Whether the conditions hold in a point that may leave branch keys out.
Activity activity(const SearchSpace::Parameter& parameter, const Json& point) {
  for (const auto& [path, key] : parameter.conditions) {
    const Json* value = find_path(point, path);
    if (value == nullptr) return Activity::open;
    if (!is_identical(*value, key)) return Activity::inactive;
  }
  return Activity::active;
}

std::string conditions_text(const SearchSpace::Parameter& parameter) {
  std::string text;
  for (const auto& [path, key] : parameter.conditions) {
    text += (text.empty() ? "" : " and ") + value_text(path) + " is " + value_text(key);
  }
  return text;
}

// Parameters of one path: exclusive branches may have one each.
void check_value(const std::vector<const SearchSpace::Parameter*>& parameters, const Json& value,
                 const Json& point) {
  std::string where;
  for (const SearchSpace::Parameter* parameter : parameters) {
    if (activity(*parameter, point) == Activity::active) {
      if (parameter->domain.normalised(value)) return;
      throw std::invalid_argument("parameter " + value_text(parameter->path) + " is " +
                                  core::typed_text(value) + ", must be in " +
                                  parameter->domain.describe());
    }
    where += (where.empty() ? "" : ", or ") + conditions_text(*parameter);
  }
  throw std::invalid_argument("parameter " + value_text(parameters.front()->path) + " is " +
                              core::typed_text(value) + ", but exists only where " + where);
}

// True if what `point` has at `path` is a part of the value of one of `parameters`.
bool is_inside_value(const Json& point, const std::set<std::string>& parameters,
                     const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string above = path.substr(0, slash);
    if (parameters.contains(above) && find_path(point, above) != nullptr) return true;
  }
  return false;
}

}  // namespace

SearchSpace::SearchSpace(std::initializer_list<SpaceEntry> entries) : entries_(entries) {
  core::check_space(*this);
}

SearchSpace SearchSpace::unchecked(std::vector<SpaceEntry> entries) {
  SearchSpace space;
  space.entries_ = std::move(entries);
  return space;
}

void SearchSpace::add(std::string name, Domain domain) {
  SearchSpace larger = *this;
  larger.entries_.emplace_back(std::move(name), std::move(domain));
  core::check_space(larger);
  if (!constraints_.empty()) larger.note_constants();
  *this = std::move(larger);
}

std::vector<SearchSpace::Parameter> SearchSpace::parameters() const {
  std::vector<Parameter> parameters;
  append_parameters(*this, {}, {}, parameters);
  return parameters;
}

bool SearchSpace::is_active(const Parameter& parameter, const Json& config) {
  return activity(parameter, config) == Activity::active;
}

void SearchSpace::check_point(const Json& point) const {
  if (!point.is_object()) {
    throw std::invalid_argument("a point must be a JSON object, is " + core::typed_text(point));
  }
  const std::vector<Parameter> parameters = this->parameters();
  std::map<std::string, std::vector<const Parameter*>> by_path;
  std::set<std::string> paths;
  std::set<std::string> active;
  for (const Parameter& parameter : parameters) {
    by_path[parameter.path].push_back(&parameter);
    paths.insert(parameter.path);
    if (is_active(parameter, point)) active.insert(parameter.path);
  }
  // Exclusive branches may have a value and a space of one name: what is active tells them apart.
  std::set<std::string> known;
  for (const std::string& path : paths) {
    const bool is_space_here = !active.contains(path) && core::leads_below(active, path);
    if (!is_space_here && !is_inside_value(point, active, path)) known.insert(path);
  }
  const auto refuse_unknown = [&](const std::string& unknown) {
    throw std::invalid_argument("parameter " + value_text(unknown) +
                                " is not in the search space; it has: " + core::names_text(paths));
  };
  if (const std::string unknown = core::find_unknown(point, paths); !unknown.empty()) {
    refuse_unknown(unknown);
  }
  for (const auto& [path, alternatives] : by_path) {
    const Json* value = find_path(point, path);
    if (value == nullptr || is_inside_value(point, active, path)) continue;
    if (known.contains(path) || !value->is_object()) check_value(alternatives, *value, point);
  }
  if (const std::string unknown = core::find_unknown(point, known); !unknown.empty()) {
    refuse_unknown(unknown);
  }
}

std::optional<std::uint64_t> SearchSpace::count() const {
  const std::vector<Parameter> all = parameters();
  const bool has_chance = std::any_of(all.begin(), all.end(), [](const Parameter& parameter) {
    return parameter.domain.is_random_function();
  });
  if (has_chance) return std::nullopt;
  return core::Enumeration(*this, core::Enumeration::Axes::all).count();
}

Json SearchSpace::json() const {
  Json record = Json::array();  // the order is part of the definition
  for (const SpaceEntry& entry : entries_) {
    Json parameter = entry.domain.json();
    parameter["name"] = entry.name;
    record.push_back(std::move(parameter));
  }
  return record;
}

const Json* find_path(const Json& config, std::string_view path) {
  if (!config.is_object()) return nullptr;
  if (const auto whole = config.find(path); whole != config.end()) return &*whole;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    const auto inner = config.find(path.substr(0, slash));
    if (inner == config.end()) continue;
    if (const Json* value = find_path(*inner, path.substr(slash + 1))) return value;
  }
  return nullptr;
}

const Json* find_path(const Json& config, const std::vector<std::string>& names) {
  const Json* value = &config;
  for (const std::string& name : names) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(name);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value;
}

void set_path(Json& config, const std::vector<std::string>& names, Json value) {
  Json* place = &config;
  for (const std::string& name : names) place = &(*place)[name];
  *place = std::move(value);
}

}  // namespace tune
