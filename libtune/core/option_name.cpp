#include "core/option_name.hpp"

namespace tune::core {

std::string option_name(const Json& options, const std::string& otherwise) {
  const auto name = options.find("name");
  return name != options.end() && name->is_string() ? name->get<std::string>() : otherwise;
}

}  // namespace tune::core
