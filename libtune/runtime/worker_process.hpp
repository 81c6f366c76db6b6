#pragma once

namespace tune::runtime {

/// Serves as worker: runs the trials that come through the inherited socket, one at a time, until
/// it is told to end or the agent is gone.
[[noreturn]] void serve_worker();

}  // namespace tune::runtime
