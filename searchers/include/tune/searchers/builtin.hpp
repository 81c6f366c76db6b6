#pragma once

namespace tune {

/// Registers all searchers of this folder by their names for make_searcher(). Calling it again
/// changes nothing.
void register_builtin_searchers();

}  // namespace tune
