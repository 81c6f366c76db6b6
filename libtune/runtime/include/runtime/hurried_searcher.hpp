#pragma once

#include <chrono>
#include <memory>

#include <tune/searcher.hpp>

namespace tune::runtime {

/// A searcher that answers within `budget`: `searcher` thinks on a thread of its own, and where it
/// takes longer the values are drawn at random, which is said in take_note().
///
/// What it is told meanwhile waits until it has thought; an answer that comes late is dropped, and
/// it learns of the configuration that was tried instead by on_trial_added(). While it still thinks
/// of an earlier trial it is not asked, and has no state to save(). An exception of what it was
/// told comes out of the next call.
[[nodiscard]] std::unique_ptr<Searcher> hurried(std::unique_ptr<Searcher> searcher,
                                                std::chrono::duration<double> budget);

}  // namespace tune::runtime
