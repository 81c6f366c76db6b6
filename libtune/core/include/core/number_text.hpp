#pragma once

#include <cstddef>
#include <string>

#include <tune/json.hpp>

namespace tune::core {

/// The decimal text with the fewest digits that reads back as exactly `value`, with a point in
/// every locale: "0.0001", "27", "1e-05"; "inf", "-inf" or "nan" for what is not finite.
[[nodiscard]] std::string number_text(double value);
/// At most `digits` significant digits, for people: "0.001235", "1.2e-05".
[[nodiscard]] std::string number_text(double value, int digits);

/// A value for a message: its JSON on one line, cut after about 100 bytes; bytes that are not UTF-8
/// are replaced.
[[nodiscard]] std::string value_text(const Json& value);
/// The same, cut after about so many bytes, and a double as JSON has it: 5.0.
[[nodiscard]] std::string cut_json(const Json& value, std::size_t bytes);

}  // namespace tune::core
