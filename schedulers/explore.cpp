#include "explore.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <tune/error.hpp>

#include "core/quantised_steps.hpp"

namespace tune::schedulers {
namespace {

using Kind = Domain::Kind;

// The step that `moved` belongs to, another one than `from` unless it lies at a bound.
double moved_step(double moved, double from, double factor, double first, double last) {
  double step = std::round(moved);
  if (step == std::round(from) && factor != 1 && from != 0) {
    step += (factor > 1) == (from > 0) ? 1 : -1;
  }
  return std::clamp(step, first, last);
}

double perturbed_number(const Domain& domain, double value, double factor) {
  const double moved = value * factor;
  switch (domain.kind()) {
    case Kind::quniform:
    case Kind::qloguniform: {
      const core::QuantisedSteps steps(domain.low(), domain.high(), domain.q());
      return steps.value(
          moved_step(moved / domain.q(), value / domain.q(), factor, steps.first(), steps.last()));
    }
    case Kind::qnormal: {
      constexpr double most = 0x1p53;  // beyond it doubles do not tell steps apart
      return core::multiple_of(
          moved_step(moved / domain.q(), value / domain.q(), factor, -most, most), domain.q());
    }
    case Kind::normal: {
      constexpr double most = std::numeric_limits<double>::max();
      return std::clamp(moved, -most, most);
    }
    default:
      // The upper bound is excluded, but for a domain of one point.
      return std::clamp(moved, domain.low(),
                        std::max(domain.low(), std::nextafter(domain.high(), domain.low())));
  }
}

std::int64_t perturbed_integer(const Domain& domain, double value, double factor) {
  const bool has_grid = domain.kind() == Kind::qrandint;
  const std::int64_t q = has_grid ? domain.q_integer() : 1;
  const std::int64_t first =
      has_grid ? core::first_multiple(domain.low_integer(), q) : domain.low_integer();
  const std::int64_t last =
      has_grid ? core::last_multiple(domain.high_integer(), q) : domain.high_integer() - 1;
  const auto width = static_cast<double>(q);
  const double step = moved_step(value * factor / width, value / width, factor,
                                 static_cast<double>(first), static_cast<double>(last));
  // A bound beyond 2^53 may be rounded up to what no integer holds.
  if (step >= static_cast<double>(last)) return last * q;
  if (step <= static_cast<double>(first)) return first * q;
  return static_cast<std::int64_t>(step) * q;
}

Json neighbour(const Domain& domain, const Json& value, Random& random) {
  const auto index = domain.index_of(value);
  if (!index) return domain.sample(random);
  const bool is_up = random.below(2) == 1;
  const std::uint64_t last = domain.options().size() - 1;
  if (is_up) return domain.value_at(std::min(*index + 1, last));
  return domain.value_at(*index == 0 ? 0 : *index - 1);
}

}  // namespace

bool is_explorable(const Domain& domain) {
  switch (domain.kind()) {
    case Kind::branch:
    case Kind::space:
    case Kind::sample_from:
    case Kind::constant:
      return false;
    default:
      return true;
  }
}

Json explored_value(const Domain& domain, const Json& value, const Exploration& exploration,
                    Random& random) {
  TUNE_ASSERT(is_explorable(domain));
  if (random.uniform() < exploration.resample_probability) return domain.sample(random);
  if (domain.kind() == Kind::ordinal) return neighbour(domain, value, random);
  if (domain.is_categorical() || !value.is_number()) return domain.sample(random);
  const auto number = value.get<double>();
  if (!std::isfinite(number)) return domain.sample(random);
  const double factor = exploration.factors[random.below(2)];
  if (domain.is_integer()) return perturbed_integer(domain, number, factor);
  return perturbed_number(domain, number, factor);
}

}  // namespace tune::schedulers
