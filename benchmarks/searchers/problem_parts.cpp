#include "problem_parts.hpp"

namespace tune::bench {
namespace {

std::string name_of(std::size_t i) { return "x" + std::to_string(i); }

}  // namespace

double number(const Config& config, std::string_view name) { return config[name].get<double>(); }

std::string text(const Config& config, std::string_view name) {
  return config[name].get<std::string>();
}

std::vector<double> numbers(const Config& config, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(number(config, name_of(i)));
  return values;
}

Json point(const std::vector<double>& values) {
  Json config = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) config[name_of(i)] = values[i];
  return config;
}

SearchSpace repeated(std::size_t count, const Domain& domain) {
  SearchSpace space;
  for (std::size_t i = 0; i < count; ++i) space.add(name_of(i), domain);
  return space;
}

SearchSpace floats(std::size_t count, double low, double high) {
  return repeated(count, uniform(low, high));
}

}  // namespace tune::bench
