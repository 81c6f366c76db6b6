#pragma once

namespace tune {

/// Registers "random" and "grid", both without options, "tpe" and "bohb" for make_searcher().
/// Calling it again changes nothing.
void register_builtin_searchers();

}  // namespace tune
