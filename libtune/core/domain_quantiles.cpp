// From a value back to its quantiles: the inverse of Domain::from_unit().
#include <tune/domain.hpp>

#include <algorithm>
#include <cmath>

#include "core/quantised_steps.hpp"

namespace tune {
namespace {

using core::QuantisedSteps;

// Cell `index` of `count` equally likely ones.
UnitInterval equal_cell(double index, double count) {
  return {index / count, std::min((index + 1) / count, 1.0)};
}

UnitInterval point_at(double u) {
  const double inside = std::clamp(u, 0.0, 1.0);
  return {inside, inside};
}

UnitInterval log_cell(double first, double last, double low, double high) {
  const double log_low = std::log(low);
  const double width = std::log(high) - log_low;
  if (!(width > 0)) return {0, 1};
  return {std::clamp((std::log(first) - log_low) / width, 0.0, 1.0),
          std::clamp((std::log(last) - log_low) / width, 0.0, 1.0)};
}

double normal_probability(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace

std::optional<UnitInterval> Domain::to_unit(const Json& value) const {
  const std::optional<Json> inside = normalised(value);
  if (!inside) return std::nullopt;
  switch (kind_) {
    case Kind::uniform: {
      if (low_ == high_) return UnitInterval{0, 1};
      const double width = high_ - low_;
      const double v = inside->get<double>();
      if (std::isfinite(width)) return point_at((v - low_) / width);
      return point_at((v / 2 - low_ / 2) / (high_ / 2 - low_ / 2));
    }
    case Kind::loguniform: {
      if (low_ == high_) return UnitInterval{0, 1};
      const double log_low = std::log(low_);
      return point_at((std::log(inside->get<double>()) - log_low) / (std::log(high_) - log_low));
    }
    case Kind::qloguniform: {
      const QuantisedSteps steps(low_, high_, q_);
      const double k = steps.first() + static_cast<double>(index_of(*inside).value());
      return log_cell(k - 0.5, k + 0.5, steps.first() - 0.5, steps.last() + 0.5);
    }
    case Kind::lograndint: {
      const auto k = static_cast<double>(inside->get<std::int64_t>());
      return log_cell(k, k + 1, static_cast<double>(low_integer_),
                      static_cast<double>(high_integer_));
    }
    case Kind::normal:
      return point_at(normal_probability((inside->get<double>() - low_) / high_));
    case Kind::qnormal: {
      const double v = inside->get<double>();
      return UnitInterval{normal_probability((v - q_ / 2 - low_) / high_),
                          normal_probability((v + q_ / 2 - low_) / high_)};
    }
    case Kind::quniform:
    case Kind::randint:
    case Kind::qrandint:
    case Kind::choice:
    case Kind::ordinal:
    case Kind::grid_search:
    case Kind::constant:
    case Kind::branch: {
      // 2^64 values and more have no count; neighbours are one quantile then.
      const std::optional<std::uint64_t> count = this->count();
      return equal_cell(static_cast<double>(index_of(*inside).value()),
                        count ? static_cast<double>(*count) : 0x1p64);
    }
    case Kind::sample_from:
    case Kind::space:
      break;
  }
  return std::nullopt;
}

}  // namespace tune
