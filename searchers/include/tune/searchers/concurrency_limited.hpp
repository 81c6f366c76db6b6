#pragma once

#include <cstdint>
#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// Makes a searcher that proposes as `searcher` does, but says Wait while `max_concurrent` of its
/// trials have not ended, so that the searcher knows more before it proposes again.
///
/// Ray Tune's ConcurrencyLimiter. Every trial counts from its suggestion to its end: one that is
/// paused or waits for a retry too, and so do points of the user. Experiment::max_concurrent bounds
/// what runs instead, whoever proposed it. With a scheduler that pauses trials until others have
/// caught up, take at least as many as it compares. Everything else, saving too, is the searcher's.
/// O(log max_concurrent) a call.
/// @throws std::invalid_argument without a searcher, or if `max_concurrent` is below 1.
[[nodiscard]] std::unique_ptr<Searcher> concurrency_limited(std::unique_ptr<Searcher> searcher,
                                                            std::int64_t max_concurrent);

}  // namespace tune
