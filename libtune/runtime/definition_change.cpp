#include "definition_change.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/number_text.hpp"

namespace tune::runtime {
namespace {

// What an experiment is; all else may change from one session to the next.
constexpr std::array identity_fields = {
    "trainable", "metric", "mode", "searcher", "scheduler", "resources", "points_to_evaluate"};
constexpr std::array extension_fields = {"num_samples", "max_trials", "time_budget"};
constexpr std::array bound_names = {"at_least", "at_most"};

Json member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? Json() : *found;
}

// Typed: 1 is not 1.0.
bool is_same(const Json& a, const Json& b) { return a.dump() == b.dump(); }

std::string value_or_none(const Json& value) {
  return value.is_null() ? std::string("not set") : core::cut_json(value, 500);
}

std::string was_is(const std::string& what, const Json& was, const Json& is) {
  return what + ": was " + value_or_none(was) + ", is " + value_or_none(is);
}

// The members of two objects that differ, each by its name; two of other kinds as a whole.
void add_differences(const std::string& what, const Json& was, const Json& is,
                     std::vector<std::string>& differences) {
  if (is_same(was, is)) return;
  const bool are_alike =
      was.is_object() && is.is_object() && is_same(member(was, "name"), member(is, "name"));
  if (!are_alike) {
    differences.push_back(was_is(what, was, is));
    return;
  }
  Json names = was;
  names.update(is);
  for (const auto& [name, value] : names.items()) {
    add_differences(what + "." + name, member(was, name.c_str()), member(is, name.c_str()),
                    differences);
  }
}

std::map<std::string, Json> parameters_of(const Json& space) {
  std::map<std::string, Json> parameters;
  for (Json parameter : space) {
    const std::string name = parameter.value("name", "");
    parameter.erase("name");
    parameters[name] = std::move(parameter);
  }
  return parameters;
}

void compare_spaces(const Json& was, const Json& is, std::vector<std::string>& differences) {
  if (is_same(was, is)) return;
  const std::size_t before = differences.size();
  std::map<std::string, Json> recorded = parameters_of(was);
  for (const auto& [name, domain] : parameters_of(is)) {
    const auto found = recorded.find(name);
    const Json old = found == recorded.end() ? Json() : found->second;
    if (!is_same(old, domain)) {
      differences.push_back(was_is("space, parameter " + core::value_text(name), old, domain));
    }
    if (found != recorded.end()) recorded.erase(found);
  }
  for (const auto& [name, domain] : recorded) {
    differences.push_back(was_is("space, parameter " + core::value_text(name), domain, Json()));
  }
  if (differences.size() == before) differences.emplace_back("space: its order has changed");
}

// The bound of a rule; null if it has none.
Json take_bound(Json& rule) {
  for (const char* name : bound_names) {
    if (const auto found = rule.find(name); found != rule.end()) {
      return std::exchange(*found, nullptr);
    }
  }
  return {};
}

void compare_stop(const Json& was, const Json& is, DefinitionChange& change) {
  Json old_rules = was;
  Json new_rules = is;
  std::vector<std::string> bounds;
  for (std::size_t i = 0; i < std::min(was.size(), is.size()); ++i) {
    const Json old_bound = take_bound(old_rules[i]);
    const Json new_bound = take_bound(new_rules[i]);
    if (is_same(old_bound, new_bound)) continue;
    bounds.push_back("stop " + is[i].value("field", "") + " " + old_bound.dump() + " -> " +
                     new_bound.dump());
  }
  if (!is_same(old_rules, new_rules)) {
    change.refused.push_back(was_is("stop", was, is));
    return;
  }
  change.has_other_bounds = !bounds.empty();
  change.extended.insert(change.extended.end(), bounds.begin(), bounds.end());
}

}  // namespace

DefinitionChange compare_definitions(const Json& recorded, const Json& now, bool seed_is_given) {
  DefinitionChange change;
  for (const char* field : identity_fields) {
    add_differences(field, member(recorded, field), member(now, field), change.refused);
  }
  if (seed_is_given) {
    add_differences("seed", member(recorded, "seed"), member(now, "seed"), change.refused);
  }
  compare_spaces(member(recorded, "space"), member(now, "space"), change.space);
  add_differences("constraints", member(recorded, "constraints"), member(now, "constraints"),
                  change.space);
  for (const char* field : extension_fields) {
    const Json was = member(recorded, field);
    const Json is = member(now, field);
    if (is_same(was, is)) continue;
    change.extended.push_back(std::string(field) + " " + value_or_none(was) + " -> " +
                              value_or_none(is));
    if (std::string_view(field) == "time_budget") change.has_other_budget = true;
  }
  compare_stop(member(recorded, "stop"), member(now, "stop"), change);
  return change;
}

}  // namespace tune::runtime
