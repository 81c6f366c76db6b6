#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tune/config.hpp>
#include <tune/json.hpp>
#include <tune/search_space.hpp>

namespace tune::bench {

[[nodiscard]] inline double square(double x) { return x * x; }

[[nodiscard]] double number(const Config& config, std::string_view name);
[[nodiscard]] std::string text(const Config& config, std::string_view name);

// Parameters x0, x1, ...: their values, the configuration with these values, and spaces of them.
[[nodiscard]] std::vector<double> numbers(const Config& config, std::size_t count);
[[nodiscard]] Json point(const std::vector<double>& values);
[[nodiscard]] SearchSpace repeated(std::size_t count, const Domain& domain);
[[nodiscard]] SearchSpace floats(std::size_t count, double low, double high);

}  // namespace tune::bench
