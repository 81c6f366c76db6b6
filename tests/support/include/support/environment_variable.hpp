#pragma once

#include <optional>
#include <string>

namespace tune::test {

/// A variable of the environment that is set, or missing, as long as this lives; then it is as it
/// was before.
class EnvironmentVariable {
 public:
  EnvironmentVariable(std::string name, const std::optional<std::string>& value);
  ~EnvironmentVariable();
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const;

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace tune::test
