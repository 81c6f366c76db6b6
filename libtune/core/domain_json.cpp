#include "core/domain_json.hpp"

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/number_text.hpp"
#include "core/option_reader.hpp"

namespace tune::core {
namespace {

/// Reads the members of a domain's object, each of which must be there.
class DomainMembers {
 public:
  DomainMembers(const std::string& owner, const Json& json)
      : owner_(owner), json_(json), reader_(owner, json) {}

  [[nodiscard]] std::string kind() { return read<std::string>("kind"); }
  [[nodiscard]] double number(std::string_view key) { return read<double>(key); }
  [[nodiscard]] std::int64_t integer(std::string_view key) { return read<std::int64_t>(key); }
  [[nodiscard]] Json any(std::string_view key) { return read<Json>(key); }
  [[nodiscard]] std::vector<Json> options() {
    const Json list = any("options");
    if (!list.is_array()) refuse("options is " + value_text(list) + ", want an array");
    return {list.begin(), list.end()};
  }
  void finish() const { reader_.finish(); }

  [[noreturn]] void refuse(const std::string& what) const {
    throw std::invalid_argument(owner_ + ": " + what);
  }

 private:
  template <class T>
  T read(std::string_view key) {
    if (!json_.contains(key)) refuse("has no " + std::string(key) + ": " + value_text(json_));
    T value{};
    reader_.read(key, value);
    return value;
  }

  const std::string& owner_;
  const Json& json_;
  OptionReader reader_;
};

Domain domain_of_kind(const std::string& kind, DomainMembers& members) {
  // In this order, since the calls below read members in an order that is not specified.
  const auto bounds = [&members] {
    const double low = members.number("low");
    return std::pair(low, members.number("high"));
  };
  const auto integers = [&members] {
    const std::int64_t low = members.integer("low");
    return std::pair(low, members.integer("high"));
  };
  const auto moments = [&members] {
    const double mean = members.number("mean");
    return std::pair(mean, members.number("sd"));
  };
  if (kind == "uniform" || kind == "loguniform") {
    const auto [low, high] = bounds();
    return kind == "uniform" ? uniform(low, high) : loguniform(low, high);
  }
  if (kind == "quniform" || kind == "qloguniform") {
    const auto [low, high] = bounds();
    const double q = members.number("q");
    return kind == "quniform" ? quniform(low, high, q) : qloguniform(low, high, q);
  }
  if (kind == "normal" || kind == "qnormal") {
    const auto [mean, sd] = moments();
    return kind == "normal" ? normal(mean, sd) : qnormal(mean, sd, members.number("q"));
  }
  if (kind == "randint" || kind == "lograndint") {
    const auto [low, high] = integers();
    return kind == "randint" ? randint(low, high) : lograndint(low, high);
  }
  if (kind == "qrandint") {
    const auto [low, high] = integers();
    return qrandint(low, high, members.integer("q"));
  }
  if (kind == "choice") return choice(members.options());
  if (kind == "ordinal") return ordinal(members.options());
  if (kind == "grid_search") return grid_search(members.options());
  if (kind == "constant") return constant(members.any("value"));
  members.refuse("kind is " + value_text(kind) +
                 ", want uniform, loguniform, quniform, qloguniform, normal, qnormal, randint, "
                 "lograndint, qrandint, choice, ordinal, grid_search or constant");
}

}  // namespace

Domain domain_from_json(const std::string& owner, const Json& json) {
  if (json.is_array()) return ordinal(std::vector<Json>(json.begin(), json.end()));
  DomainMembers members(owner, json);
  const std::string kind = members.kind();
  Domain domain = domain_of_kind(kind, members);
  members.finish();
  return domain;
}

namespace {

Domain recorded_domain(const std::string& name, const Json& json) {
  const std::string kind = json.at("kind").get<std::string>();
  if (kind == "space") return Domain(recorded_space(json.at("parameters")));
  if (kind == "sample_from") {
    throw std::invalid_argument("parameter " + value_text(name) +
                                " is a function, which is not on record");
  }
  if (kind != "branch") return domain_from_json(name, json);
  std::vector<Domain::Branch> branches;
  for (const Json& entry : json.at("branches")) {
    branches.emplace_back(entry.at("key"), recorded_space(entry.at("parameters")));
  }
  return branch(std::move(branches));
}

}  // namespace

SearchSpace recorded_space(const Json& json) {
  SearchSpace space;
  for (Json entry : json) {
    const std::string name = entry.at("name").get<std::string>();
    entry.erase("name");
    space.add(name, recorded_domain(name, entry));
  }
  return space;
}

SearchSpace space_from_json(const std::string& owner, const Json& json) {
  SearchSpace space;
  const auto add = [&](const std::string& name, const Json& domain) {
    const std::string whose = owner + "." + name;
    Domain read = domain_from_json(whose, domain);
    try {
      space.add(name, std::move(read));
    } catch (const std::invalid_argument& fault) {
      throw std::invalid_argument(owner + ": " + fault.what());
    }
  };
  if (json.is_object()) {
    for (const auto& [name, domain] : json.items()) add(name, domain);
    return space;
  }
  if (!json.is_array()) {
    throw std::invalid_argument(owner + " is " + value_text(json) +
                                ", want an object of names and domains");
  }
  for (const Json& entry : json) {
    if (!entry.is_object() || !entry.contains("name") || !entry.at("name").is_string()) {
      throw std::invalid_argument(owner + ": an entry is " + value_text(entry) +
                                  ", want a domain with its name");
    }
    Json domain = entry;
    domain.erase("name");
    add(entry.at("name").get<std::string>(), domain);
  }
  return space;
}

}  // namespace tune::core
