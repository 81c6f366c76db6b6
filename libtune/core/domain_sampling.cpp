// Values of domains: by quantile, by number, and the test whether one lies inside.
#include <tune/domain.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <tune/search_space.hpp>

#include "core/quantised_steps.hpp"
#include "core/space_check.hpp"

namespace tune {
namespace {

using core::QuantisedSteps;
__extension__ using Wide = unsigned __int128;

constexpr double largest = std::numeric_limits<double>::max();

// floor(u * count), at most count - 1. Exact for multiples of 2^-64.
std::uint64_t index_at(double u, Wide count) {
  if (!(u > 0)) return 0;
  const auto bits = static_cast<std::uint64_t>(std::min(u, 1 - 0x1p-53) * 0x1p64);
  return static_cast<std::uint64_t>((count * bits) >> 64U);
}

double uniform_at(double u, double low, double high) {
  if (low == high) return low;
  const double width = high - low;
  const double value = std::isfinite(width) ? low + u * width : low * (1 - u) + high * u;
  // Rounding may reach high, which is excluded.
  return std::clamp(value, low, std::nextafter(high, low));
}

double loguniform_at(double u, double low, double high) {
  if (low == high) return low;
  const double log_low = std::log(low);
  const double value = std::exp(log_low + u * (std::log(high) - log_low));
  return std::clamp(value, low, std::nextafter(high, low));
}

double quniform_at(double u, const QuantisedSteps& steps) {
  return steps.value(steps.first() + static_cast<double>(index_at(u, steps.count())));
}

// The cell of step k is [(k - 1/2) q, (k + 1/2) q] also at the bounds: no step gets half a share.
double qloguniform_at(double u, const QuantisedSteps& steps) {
  const double log_low = std::log(steps.first() - 0.5);
  const double log_high = std::log(steps.last() + 0.5);
  const double k = std::floor(std::exp(log_low + u * (log_high - log_low)) + 0.5);
  return steps.value(std::clamp(k, steps.first(), steps.last()));
}

double normal_at(double u, double mean, double sd) {
  const double quantile = normal_quantile(std::clamp(u, 0x1p-54, 1 - 0x1p-53));
  return std::clamp(mean + sd * quantile, -largest, largest);
}

double qnormal_at(double u, double mean, double sd, double q) {
  const double value = normal_at(u, mean, sd);
  const double k = std::round(value / q);
  // Beyond 2^53 steps each double is a multiple as far as doubles can tell.
  return std::abs(k) < 0x1p53 ? core::multiple_of(k, q) : value;
}

std::int64_t lograndint_at(double u, std::int64_t low, std::int64_t high) {
  const double log_low = std::log(static_cast<double>(low));
  const double log_high = std::log(static_cast<double>(high));
  const double value = std::floor(std::exp(u * (log_high - log_low) + log_low));
  if (value >= static_cast<double>(high)) return high - 1;  // it may not fit an integer
  return std::clamp(static_cast<std::int64_t>(value), low, high - 1);
}

// high - low as an unsigned number, right for every pair of bounds.
std::uint64_t distance(std::int64_t low, std::int64_t high) {
  return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
}

std::int64_t advanced(std::int64_t low, std::uint64_t distance) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + distance);
}

// An integer that an int64 holds.
std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (!std::in_range<std::int64_t>(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

// A finite number, without the loss that an integer beyond 2^53 would have.
std::optional<double> as_finite_double(const Json& value) {
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
  }
  const auto integer = as_integer(value);
  if (!integer || std::abs(static_cast<double>(*integer)) > 0x1p53) return std::nullopt;
  return static_cast<double>(*integer);
}

std::optional<std::uint64_t> position_of(const Json& value, const std::vector<Json>& options) {
  const auto found = std::find_if(options.begin(), options.end(), [&value](const Json& option) {
    return is_identical(option, value);
  });
  if (found == options.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - options.begin());
}

std::optional<std::uint64_t> position_of(const Json& key,
                                         const std::vector<Domain::Branch>& branches) {
  for (std::size_t i = 0; i < branches.size(); ++i) {
    if (is_identical(branches[i].key, key)) return i;
  }
  return std::nullopt;
}

}  // namespace

Json Domain::from_unit(double u) const {
  switch (kind_) {
    case Kind::uniform:
      return uniform_at(u, low_, high_);
    case Kind::loguniform:
      return loguniform_at(u, low_, high_);
    case Kind::quniform:
      return quniform_at(u, QuantisedSteps(low_, high_, q_));
    case Kind::qloguniform:
      return qloguniform_at(u, QuantisedSteps(low_, high_, q_));
    case Kind::normal:
      return normal_at(u, low_, high_);
    case Kind::qnormal:
      return qnormal_at(u, low_, high_, q_);
    case Kind::randint:
      return advanced(low_integer_, index_at(u, distance(low_integer_, high_integer_)));
    case Kind::lograndint:
      return lograndint_at(u, low_integer_, high_integer_);
    case Kind::qrandint: {
      const std::int64_t first = core::first_multiple(low_integer_, q_integer_);
      const std::int64_t last = core::last_multiple(high_integer_, q_integer_);
      return advanced(first, index_at(u, Wide(distance(first, last)) + 1)) * q_integer_;
    }
    case Kind::choice:
    case Kind::ordinal:
    case Kind::grid_search:
    case Kind::constant:
      return options_[index_at(u, options_.size())];
    case Kind::branch:
      return (*branches_)[index_at(u, branches_->size())].key;
    case Kind::sample_from:
    case Kind::space:
      break;
  }
  throw std::logic_error(describe() + " has no value of its own to draw");
}

std::optional<std::uint64_t> Domain::count() const {
  switch (kind_) {
    case Kind::uniform:
    case Kind::loguniform:
      return low_ == high_ ? std::optional<std::uint64_t>(1) : std::nullopt;
    case Kind::quniform:
    case Kind::qloguniform:
      return QuantisedSteps(low_, high_, q_).count();
    case Kind::randint:
    case Kind::lograndint:
      return distance(low_integer_, high_integer_);
    case Kind::qrandint: {
      const std::uint64_t most = distance(core::first_multiple(low_integer_, q_integer_),
                                          core::last_multiple(high_integer_, q_integer_));
      if (most == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
      return most + 1;
    }
    case Kind::choice:
    case Kind::ordinal:
    case Kind::grid_search:
    case Kind::constant:
      return options_.size();
    case Kind::branch:
      return branches_->size();
    case Kind::space:
      return space_->count();
    case Kind::normal:
    case Kind::qnormal:
    case Kind::sample_from:
      break;
  }
  return std::nullopt;
}

Json Domain::value_at(std::uint64_t index) const {
  switch (kind_) {
    case Kind::uniform:
    case Kind::loguniform:
      return low_;
    case Kind::quniform:
    case Kind::qloguniform: {
      const QuantisedSteps steps(low_, high_, q_);
      return steps.value(steps.first() + static_cast<double>(index));
    }
    case Kind::randint:
    case Kind::lograndint:
      return advanced(low_integer_, index);
    case Kind::qrandint:
      return advanced(core::first_multiple(low_integer_, q_integer_), index) * q_integer_;
    case Kind::choice:
    case Kind::ordinal:
    case Kind::grid_search:
    case Kind::constant:
      return options_.at(index);
    case Kind::branch:
      return branches_->at(index).key;
    default:
      throw std::logic_error(describe() + " has no numbered values");
  }
}

std::optional<std::uint64_t> Domain::index_of(const Json& value) const {
  switch (kind_) {
    case Kind::uniform:
    case Kind::loguniform: {
      const auto number = as_finite_double(value);
      return low_ == high_ && number == low_ ? std::optional<std::uint64_t>(0) : std::nullopt;
    }
    case Kind::quniform:
    case Kind::qloguniform: {
      const auto number = as_finite_double(value);
      const QuantisedSteps steps(low_, high_, q_);
      const double k = number ? core::step_of(*number, q_) : largest;
      if (!(k >= steps.first() && k <= steps.last())) return std::nullopt;
      return static_cast<std::uint64_t>(k - steps.first());
    }
    case Kind::randint:
    case Kind::lograndint: {
      const auto number = as_integer(value);
      if (!number || *number < low_integer_ || *number >= high_integer_) return std::nullopt;
      return distance(low_integer_, *number);
    }
    case Kind::qrandint: {
      const auto number = as_integer(value);
      if (!number || *number < low_integer_ || *number > high_integer_ ||
          *number % q_integer_ != 0) {
        return std::nullopt;
      }
      return distance(core::first_multiple(low_integer_, q_integer_), *number / q_integer_);
    }
    case Kind::choice:
    case Kind::ordinal:
    case Kind::grid_search:
    case Kind::constant:
      return position_of(value, options_);
    case Kind::branch:
      return position_of(value, *branches_);
    default:
      return std::nullopt;
  }
}

std::optional<Json> Domain::normalised(const Json& value) const {
  switch (kind_) {
    case Kind::uniform:
    case Kind::loguniform: {
      const auto number = as_finite_double(value);
      const bool is_inside =
          number && *number >= low_ && (*number < high_ || (low_ == high_ && *number == low_));
      return is_inside ? std::optional<Json>(*number) : std::nullopt;
    }
    case Kind::normal: {
      const auto number = as_finite_double(value);
      return number ? std::optional<Json>(*number) : std::nullopt;
    }
    case Kind::qnormal: {
      const auto number = as_finite_double(value);
      if (!number) return std::nullopt;
      const double k = core::step_of(*number, q_);
      if (std::isnan(k)) return std::nullopt;
      return std::abs(k) < 0x1p53 ? core::multiple_of(k, q_) : *number;
    }
    case Kind::sample_from:
      return core::value_fault(value).empty() ? std::optional<Json>(value) : std::nullopt;
    case Kind::space:
      return std::nullopt;
    default: {
      const auto index = index_of(value);
      return index ? std::optional<Json>(value_at(*index)) : std::nullopt;
    }
  }
}

bool Domain::contains(const Json& value) const {
  if (!normalised(value)) return false;
  if (is_integer() || is_categorical() || kind_ == Kind::constant || kind_ == Kind::sample_from) {
    return true;
  }
  if (!value.is_number_float()) return false;
  if (kind_ != Kind::quniform && kind_ != Kind::qloguniform) return true;
  return value.get<double>() >= low_ && value.get<double>() <= high_;
}

}  // namespace tune
