#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "cuda_runtime.h"

namespace fake_cuda {

/// Runs a kernel: block after block, the threads of a block as fibers, all in an order of chance.
class KernelRunner {
 public:
  using SharedMemory = std::function<std::span<std::byte>()>;

  KernelRunner();
  KernelRunner(const KernelRunner&) = delete;
  KernelRunner& operator=(const KernelRunner&) = delete;

  /// Calls `thread` once for each thread. False: some of a block ended while others waited at a
  /// barrier for them, or shared memory was used that the launch did not ask for. Then the rest was
  /// not run.
  [[nodiscard]] bool run(const cudaLaunchConfig_t& config, const std::function<void()>& thread);
  /// Of the thread that runs: goes on when all others of its block came here, too.
  void wait();

  SharedMemory dynamic_shared;  ///< Where it lies; empty: there is none.

 private:
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack;
    uint3 index{};
  };

  [[nodiscard]] bool run_block(const cudaLaunchConfig_t& config);
  [[nodiscard]] bool run_threads(const dim3& threads);
  static void enter(unsigned upper, unsigned lower);
  void take_threads();
  [[nodiscard]] Fiber* idle_fiber();
  void prepare(Fiber& fiber);
  void resume(Fiber* fiber);

  std::minstd_rand chance_;
  const std::function<void()>* thread_ = nullptr;
  std::vector<unsigned> order_;  // of a block's threads
  std::size_t next_ = 0;         // of them
  std::size_t ended_ = 0;
  std::vector<Fiber*> waiting_;
  std::vector<Fiber*> idle_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* running_ = nullptr;
  ucontext_t caller_{};
};

}  // namespace fake_cuda
