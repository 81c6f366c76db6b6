#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tune/config.hpp>

namespace tune::runtime {

using PlainFunction = void (*)(const Config&);

/// A key under which another process of this program finds a function that nobody registered: its
/// place within the program, which is the same wherever the program is loaded. Empty for one that
/// is in a library.
[[nodiscard]] std::string program_function_key(PlainFunction function);
/// The function of such a key; empty for another kind of key.
[[nodiscard]] std::optional<PlainFunction> program_function(std::string_view key);

}  // namespace tune::runtime
