#pragma once

namespace tune {

/// Registers "fifo", without options, and "asha", with the names of AshaOptions, for
/// make_scheduler(). Calling it again changes nothing.
void register_builtin_schedulers();

}  // namespace tune
