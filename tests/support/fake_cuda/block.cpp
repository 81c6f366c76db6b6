#include "block.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace fake_cuda {

bool BlockRunner::run(const dim3& threads, const std::function<void()>& thread, Chance& chance) {
  thread_ = &thread;
  order_.resize(std::size_t{threads.x} * threads.y * threads.z);
  std::iota(order_.begin(), order_.end(), 0U);
  std::shuffle(order_.begin(), order_.end(), chance);
  next_ = 0;
  ended_ = 0;
  // A fiber takes one thread after another until one has to wait; then the next fiber does.
  while (next_ < order_.size()) resume(idle_fiber());
  while (!waiting_.empty()) {
    if (ended_ > 0) {
      waiting_.clear();  // their fibers stay where they are, for ever
      return false;
    }
    std::vector<Fiber*> released;
    released.swap(waiting_);
    std::shuffle(released.begin(), released.end(), chance);
    for (Fiber* const fiber : released) resume(fiber);
  }
  return true;
}

void BlockRunner::wait() {
  Fiber* const self = running_;
  self->index = threadIdx;
  waiting_.push_back(self);
  swapcontext(&self->context, &caller_);
  threadIdx = self->index;
}

void BlockRunner::take_threads() {
  while (next_ < order_.size()) {
    const unsigned i = order_[next_++];
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    (*thread_)();
    ++ended_;
  }
}

void BlockRunner::enter(unsigned upper, unsigned lower) {
  auto* const runner =
      reinterpret_cast<BlockRunner*>((std::uintptr_t{upper} << 32) | std::uintptr_t{lower});
  for (;;) {
    runner->take_threads();
    Fiber* const self = runner->running_;
    runner->idle_.push_back(self);
    swapcontext(&self->context, &runner->caller_);
  }
}

BlockRunner::Fiber* BlockRunner::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    prepare(*fibers_.back());
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void BlockRunner::prepare(Fiber& fiber) {
  constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  fiber.stack.reset(new std::byte[stack_bytes]);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = stack_bytes;
  // makecontext() passes on numbers of 32 bits.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&fiber.context, reinterpret_cast<void (*)()>(&BlockRunner::enter), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void BlockRunner::resume(Fiber* fiber) {
  running_ = fiber;
  swapcontext(&caller_, &fiber->context);
}

}  // namespace fake_cuda
