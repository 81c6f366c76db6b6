#pragma once

namespace tune::runtime {

/// Registers all that tune brings along. Calling it again changes nothing.
void register_builtins();

}  // namespace tune::runtime
