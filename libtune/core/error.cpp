#include <tune/error.hpp>

#include <stdexcept>
#include <string>

namespace tune {

InvalidConfig::~InvalidConfig() = default;

namespace detail {

void assertion_failed(std::string_view condition, std::string_view file, int line) {
  throw std::logic_error("assertion failed: " + std::string(condition) + " at " +
                         std::string(file) + ":" + std::to_string(line));
}

}  // namespace detail
}  // namespace tune
