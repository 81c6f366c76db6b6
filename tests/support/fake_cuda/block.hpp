#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "cuda_runtime.h"

namespace fake_cuda {

/// Runs the threads of a block as fibers, in an order of chance.
class BlockRunner {
 public:
  using Chance = std::minstd_rand;

  /// Calls `thread` once for each thread of the block. False: some ended while others waited at a
  /// barrier for them, and the rest was not run.
  [[nodiscard]] bool run(const dim3& threads, const std::function<void()>& thread, Chance& chance);
  /// Of the thread that runs: goes on when all others came here, too.
  void wait();

 private:
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack;
    uint3 index{};
  };

  static void enter(unsigned upper, unsigned lower);
  void take_threads();
  [[nodiscard]] Fiber* idle_fiber();
  void prepare(Fiber& fiber);
  void resume(Fiber* fiber);

  const std::function<void()>* thread_ = nullptr;
  std::vector<unsigned> order_;  // of the threads
  std::size_t next_ = 0;         // of them
  std::size_t ended_ = 0;
  std::vector<Fiber*> waiting_;
  std::vector<Fiber*> idle_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* running_ = nullptr;
  ucontext_t caller_{};
};

}  // namespace fake_cuda
