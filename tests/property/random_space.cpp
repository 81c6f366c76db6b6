#include "random_space.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <tune/config.hpp>

namespace tune::test {
namespace {

bool happens(Random& random, double probability) { return random.uniform() < probability; }

// From `low` to `high`, both included.
std::int64_t whole(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

// Of any size, and now and then a round one, as people write them.
double number(Random& random) {
  if (happens(random, 0.3)) return static_cast<double>(whole(random, -10, 10));
  const double size = std::pow(10.0, 12 * random.uniform() - 6);
  return happens(random, 0.5) ? size : -size;
}

double step(Random& random) {
  constexpr double steps[] = {0.1, 0.25, 1.0 / 3, 0.3, 0.7, 1, 2, 5, 32, 1e-3, 0.05};
  return steps[random.below(std::size(steps))];
}

Domain uncountable_domain(Random& random) {
  const double a = number(random);
  const double b = happens(random, 0.1) ? a : number(random);
  switch (random.below(4)) {
    case 0:
      return uniform(std::min(a, b), std::max(a, b));
    case 1:
      return loguniform(std::min(std::abs(a), std::abs(b)) + 1e-9,
                        std::max(std::abs(a), std::abs(b)) + 1e-9);
    case 2:
      return normal(a, std::abs(b) + 1e-9);
    default:
      return qnormal(a, std::abs(b) + 1e-9, step(random));
  }
}

Domain numeric_domain(Random& random) {
  const std::int64_t low = whole(random, -6, 6);
  const std::int64_t width = whole(random, 0, 5);
  const double q = step(random);
  switch (random.below(5)) {
    case 0:
      return randint(low, low + width + 1);
    case 1:
      return lograndint(std::abs(low) + 1, std::abs(low) + width + 2);
    case 2:
      return qrandint(low, low + width, whole(random, 1, 3));
    case 3:
      return quniform(double(low) * q, (double(low + width) + random.uniform()) * q, q);
    default:
      return qloguniform((std::abs(double(low)) + 0.5 * random.uniform() + 0.01) * q,
                         (std::abs(double(low)) + 1 + double(width)) * q, q);
  }
}

Domain optional_domain(Random& random, bool may_be_grid) {
  const std::vector<Json> all = {1, 1.0, "1", true, nullptr, -0.5, "text", Json::array({64, 32}),
                                 7};
  std::vector<Json> options;
  for (const Json& option : all) {
    if (options.empty() || happens(random, 0.3)) options.push_back(option);
  }
  switch (random.below(may_be_grid ? 3 : 2)) {
    case 0:
      return choice(options);
    case 1:
      return ordinal(options);
    default:
      return grid_search(options);
  }
}

// Draws until the definition is one that a space takes.
Domain plain_domain(Random& random, const RandomSpaceOptions& options) {
  while (true) {
    const double kind = random.uniform();
    const Domain domain = !options.countable && kind < 0.4 ? uncountable_domain(random)
                          : kind < 0.7                     ? numeric_domain(random)
                                       : optional_domain(random, options.grid_axes);
    if (domain.check().empty()) return domain;
  }
}

class SpaceMaker {
 public:
  SpaceMaker(Random& random, const RandomSpaceOptions& options)
      : random_(random), options_(options) {}

  SearchSpace make(int depth) {
    SearchSpace space;
    const std::int64_t parameters = whole(random_, 1, depth == 0 ? 4 : 2);
    for (std::int64_t i = 0; i < parameters; ++i) space.add(new_name(), parameter(depth));
    return space;
  }

 private:
  // Some hold the sign that joins nested names.
  std::string new_name() {
    const std::string name = "p" + std::to_string(names_++);
    return happens(random_, 0.1) ? name + "/x" : name;
  }

  Domain parameter(int depth) {
    const double kind = random_.uniform();
    if (depth < 3 && kind < 0.12) return make(depth + 1);
    if (depth < 3 && kind < 0.3) return branches(depth + 1);
    if (kind < 0.36) return Domain(Json("constant"));
    if (kind < 0.42 && options_.functions) {
      return sample_from([](const Config& so_far) { return Json(so_far.json().size()); });
    }
    return plain_domain(random_, options_);
  }

  Domain branches(int depth) {
    const std::vector<Json> keys = {"a", 1, true, "b"};
    const std::string shared = new_name();
    std::vector<Domain::Branch> branches;
    for (const Json& key : keys) {
      if (!branches.empty() && happens(random_, 0.5)) break;
      SearchSpace space;
      if (happens(random_, 0.7)) space = make(depth);
      // Branches exclude each other, so that a name may occur in several, as a value or a space.
      if (happens(random_, 0.5)) {
        space.add(shared, happens(random_, 0.2) ? Domain(make(depth + 1))
                                                : plain_domain(random_, options_));
      }
      branches.emplace_back(key, std::move(space));
    }
    return branch(std::move(branches));
  }

  Random& random_;
  RandomSpaceOptions options_;
  int names_ = 0;
};

bool is_one_of(const Json& value, const std::vector<Json>& options) {
  for (const Json& option : options) {
    if (is_identical(value, option)) return true;
  }
  return false;
}

bool is_multiple(double value, double q) {
  const double steps = value / q;
  return std::isinf(steps) ||
         std::abs(steps - std::round(steps)) <= 1e-9 * std::max(1.0, std::abs(steps));
}

bool is_right_integer(const Json& value, const Domain& domain) {
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  if (domain.kind() == Domain::Kind::qrandint) {
    return number >= domain.low_integer() && number <= domain.high_integer() &&
           number % domain.q_integer() == 0;
  }
  return number >= domain.low_integer() && number < domain.high_integer();
}

bool is_right_double(const Json& value, const Domain& domain) {
  if (!value.is_number_float() || !std::isfinite(value.get<double>())) return false;
  const auto number = value.get<double>();
  if (number == 0 && std::signbit(number)) return false;
  switch (domain.kind()) {
    case Domain::Kind::uniform:
    case Domain::Kind::loguniform:
      return domain.low() == domain.high() ? number == domain.low()
                                           : number >= domain.low() && number < domain.high();
    case Domain::Kind::quniform:
    case Domain::Kind::qloguniform:
      return number >= domain.low() && number <= domain.high() && is_multiple(number, domain.q());
    case Domain::Kind::qnormal:
      return is_multiple(number, domain.q());
    default:
      return true;
  }
}

bool is_right(const Json& value, const Domain& domain) {
  switch (domain.kind()) {
    case Domain::Kind::constant:
    case Domain::Kind::choice:
    case Domain::Kind::ordinal:
    case Domain::Kind::grid_search:
      return is_one_of(value, domain.options());
    case Domain::Kind::sample_from:
      return value.is_number_integer();
    default:
      return domain.is_integer() ? is_right_integer(value, domain) : is_right_double(value, domain);
  }
}

std::string fault_below(const SearchSpace& space, const Json& object, std::set<std::string>& known);

std::string fault_of(const Domain& domain, const Json& object, const Json& value,
                     std::set<std::string>& known) {
  if (domain.kind() == Domain::Kind::space) {
    return configuration_fault(domain.space(), value);
  }
  if (domain.kind() != Domain::Kind::branch) {
    return is_right(value, domain) ? "" : value.dump() + " is not of " + domain.describe();
  }
  for (const Domain::Branch& branch : domain.branches()) {
    if (is_identical(branch.key, value)) return fault_below(branch.space, object, known);
  }
  return value.dump() + " is no key of " + domain.describe();
}

std::string fault_below(const SearchSpace& space, const Json& object,
                        std::set<std::string>& known) {
  for (const SpaceEntry& entry : space.entries()) {
    known.insert(entry.name);
    const auto found = object.find(entry.name);
    if (found == object.end()) return entry.name + " is missing";
    const std::string fault = fault_of(entry.domain, object, *found, known);
    if (!fault.empty()) return entry.name + ": " + fault;
  }
  return "";
}

}  // namespace

SearchSpace random_space(Random& random, const RandomSpaceOptions& options) {
  return SpaceMaker(random, options).make(0);
}

std::string configuration_fault(const SearchSpace& space, const Json& config) {
  if (!config.is_object()) return config.dump() + " is no object";
  std::set<std::string> known;
  std::string fault = fault_below(space, config, known);
  if (!fault.empty()) return fault;
  for (const auto& [name, value] : config.items()) {
    if (!known.contains(name)) return name + " is too many";
  }
  return "";
}

}  // namespace tune::test
