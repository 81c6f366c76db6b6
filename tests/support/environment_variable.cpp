#include "support/environment_variable.hpp"

#include <cstdlib>
#include <utility>

namespace tune::test {

EnvironmentVariable::EnvironmentVariable(std::string name, const std::optional<std::string>& value)
    : name_(std::move(name)) {
  if (const char* const before = std::getenv(name_.c_str())) before_ = before;
  set(value);
}

EnvironmentVariable::~EnvironmentVariable() { set(before_); }

void EnvironmentVariable::set(const std::optional<std::string>& value) const {
  if (value) {
    ::setenv(name_.c_str(), value->c_str(), 1);
  } else {
    ::unsetenv(name_.c_str());
  }
}

}  // namespace tune::test
