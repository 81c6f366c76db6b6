#include "core/saved_number.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/number_text.hpp"

namespace tune::core {

Json saved_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(number_text(value));
}

double restored_number(const Json& json, const std::string& owner) {
  if (json.is_number()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::invalid_argument(owner + ": a number of the saved state is " + value_text(json) +
                              R"(, want a number, "nan", "inf" or "-inf")");
}

}  // namespace tune::core
