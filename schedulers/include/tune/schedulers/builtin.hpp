#pragma once

namespace tune {

/// Registers the schedulers of this folder for make_scheduler(), each under the name of the
/// function that makes it, with the names of its options. Calling it again changes nothing.
void register_builtin_schedulers();

}  // namespace tune
