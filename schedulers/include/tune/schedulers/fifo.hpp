#pragma once

#include <memory>

#include <tune/scheduler.hpp>

namespace tune {

/// Makes the scheduler that runs every trial to its end, in order.
[[nodiscard]] std::unique_ptr<TrialScheduler> fifo();

}  // namespace tune
