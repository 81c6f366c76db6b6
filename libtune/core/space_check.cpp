#include "core/space_check.hpp"

#include <cmath>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/number_text.hpp"

namespace tune::core {
namespace {

enum class NodeKind { parameter, space };
// What the configurations of a scope may hold, by path.
using Nodes = std::map<std::string, NodeKind>;

// Where a check stands: the names above, and the branch keys that hold there, for messages.
struct Place {
  std::vector<std::string> names;
  std::string conditions;
};

// A member that params.json has beside the parameters.
constexpr std::string_view non_finite_member = "nonfinite";

[[noreturn]] void refuse(const std::string& path, const std::string& conditions,
                         const std::string& fault) {
  throw std::invalid_argument("parameter " + value_text(path) +
                              (conditions.empty() ? "" : " (where " + conditions + ")") + ": " +
                              fault);
}

[[noreturn]] void refuse_collision(const std::string& path, const std::string& conditions,
                                   const std::string& other) {
  const std::string joined = " (nested names are joined by '/')";
  if (path == other) {
    refuse(path, conditions,
           "the name occurs twice, must be there once" +
               (path.find('/') == std::string::npos ? "" : joined));
  }
  refuse(path, conditions, "the name collides with parameter " + value_text(other) + joined);
}

// A constraint looks at whole configurations.
void refuse_constraints(const std::string& path, const std::string& conditions,
                        const SearchSpace& inner) {
  if (inner.constraints().empty()) return;
  refuse(path, conditions,
         "the space inside has the constraint " + value_text(inner.constraints().front()) +
             ", must be required of the outermost space");
}

// Refuses what cannot stand beside all that is in `nodes`.
void check_beside(const Nodes& nodes, const std::string& path, NodeKind kind,
                  const std::string& conditions) {
  if (nodes.contains(path)) refuse_collision(path, conditions, path);
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const auto above = nodes.find(path.substr(0, slash));
    if (above != nodes.end() && above->second == NodeKind::parameter) {
      refuse_collision(path, conditions, above->first);
    }
  }
  if (kind == NodeKind::parameter) {
    const auto below = nodes.lower_bound(path + "/");
    if (below != nodes.end() && below->first.starts_with(path + "/")) {
      refuse_collision(path, conditions, below->first);
    }
  }
}

// What is a parameter in one branch and a space in another counts as a parameter, beside which less
// may stand.
void merge(Nodes& nodes, const Nodes& others) {
  for (const auto& [path, kind] : others) {
    const auto [node, is_new] = nodes.emplace(path, kind);
    if (!is_new && kind == NodeKind::parameter) node->second = kind;
  }
}

Nodes nodes_of(const SearchSpace& space, const Place& place);

// Branches exclude each other, so what they hold is compared only with what stands around them.
Nodes nodes_of_branches(const std::string& path, const Domain& domain, const Place& place) {
  Nodes nodes;
  for (const Domain::Branch& branch : domain.branches()) {
    const std::string condition = value_text(path) + " is " + value_text(branch.key);
    refuse_constraints(path, place.conditions, branch.space);
    const Place inner{
        place.names, place.conditions.empty() ? condition : place.conditions + " and " + condition};
    merge(nodes, nodes_of(branch.space, inner));
  }
  return nodes;
}

Nodes nodes_of(const SearchSpace& space, const Place& place) {
  Nodes nodes;
  for (const SpaceEntry& entry : space.entries()) {
    const Domain& domain = entry.domain;
    Place inner = place;
    inner.names.push_back(entry.name);
    const std::string path = join_names(inner.names);
    if (entry.name.empty()) refuse(path, place.conditions, "a name is empty, must not be");
    try {
      (void)Json(entry.name).dump();
    } catch (const Json::type_error&) {
      refuse(path, place.conditions, "the name is not valid UTF-8");
    }
    if (path == non_finite_member) {
      refuse(path, place.conditions,
             "the name is reserved, params.json lists there which values are not finite");
    }
    if (const std::string fault = domain.check(); !fault.empty()) {
      refuse(path, place.conditions, domain.describe() + ": " + fault);
    }
    const bool is_space = domain.kind() == Domain::Kind::space;
    if (is_space) refuse_constraints(path, place.conditions, domain.space());
    const NodeKind kind = is_space ? NodeKind::space : NodeKind::parameter;
    check_beside(nodes, path, kind, place.conditions);
    nodes.emplace(path, kind);
    Nodes below;
    if (is_space) below = nodes_of(domain.space(), inner);
    if (domain.kind() == Domain::Kind::branch) below = nodes_of_branches(path, domain, place);
    for (const auto& [name, kind_below] : below) {
      check_beside(nodes, name, kind_below, place.conditions);
    }
    merge(nodes, below);
  }
  return nodes;
}

std::string find_unknown_below(const Json& object, const std::string& above,
                               const std::set<std::string>& paths) {
  for (const auto& [name, value] : object.items()) {
    const std::string path = above + name;
    if (paths.contains(path)) continue;
    if (!leads_below(paths, path) || !value.is_object()) return path;
    if (std::string unknown = find_unknown_below(value, path + "/", paths); !unknown.empty()) {
      return unknown;
    }
  }
  return "";
}

std::string type_text(const Json& value) {
  if (value.is_number_float()) return "a double";
  if (value.is_number()) return "an integer";
  if (value.is_boolean()) return "a boolean";
  if (value.is_string()) return "text";
  if (value.is_null()) return "null";
  return value.is_array() ? "an array" : "an object";
}

}  // namespace

void check_space(const SearchSpace& space) { (void)nodes_of(space, {}); }

std::string join_names(const std::vector<std::string>& names) {
  std::string path;
  for (std::size_t i = 0; i < names.size(); ++i) path += (i == 0 ? "" : "/") + names[i];
  return path;
}

std::string find_unknown(const Json& object, const std::set<std::string>& paths) {
  return find_unknown_below(object, "", paths);
}

std::string must_be_finite(std::string_view name, double value) {
  if (std::isfinite(value)) return "";
  return std::string(name) + " is " + number_text(value) + ", must be finite";
}

std::string value_fault(const Json& value) {
  if (value.is_number_float()) return must_be_finite("the value", value.get<double>());
  if (value.is_structured()) {
    for (const Json& element : value) {
      if (std::string fault = value_fault(element); !fault.empty()) return fault;
    }
  }
  if (value.is_binary() || value.is_discarded()) return "the value is not JSON text can hold";
  try {
    (void)value.dump();
  } catch (const Json::type_error&) {
    return "the text " + value_text(value) + " is not valid UTF-8";
  }
  return "";
}

bool leads_below(const std::set<std::string>& paths, const std::string& path) {
  const auto inside = paths.lower_bound(path + "/");
  return inside != paths.end() && inside->starts_with(path + "/");
}

std::string names_text(const std::set<std::string>& names) {
  constexpr std::size_t limit = 10;
  if (names.empty()) return "no parameters";
  std::string text;
  std::size_t listed = 0;
  for (const std::string& name : names) {
    if (listed++ == limit) return text + ", and " + std::to_string(names.size() - limit) + " more";
    text += (text.empty() ? "" : ", ") + value_text(name);
  }
  return text;
}

std::string typed_text(const Json& value) {
  return value_text(value) + " (" + type_text(value) + ")";
}

}  // namespace tune::core
