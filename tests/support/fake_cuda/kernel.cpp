#include "kernel.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace fake_cuda {

namespace {

std::minstd_rand::result_type seed() {
  const char* const given = std::getenv("TUNE_TEST_SEED");
  return given == nullptr ? 1 : std::strtoul(given, nullptr, 10);
}

}  // namespace

KernelRunner::KernelRunner() : chance_(seed()) {}

bool KernelRunner::run(const cudaLaunchConfig_t& config, const std::function<void()>& thread) {
  thread_ = &thread;
  gridDim = config.gridDim;
  blockDim = config.blockDim;
  std::vector<std::uint32_t> blocks(std::size_t{gridDim.x} * gridDim.y * gridDim.z);
  std::iota(blocks.begin(), blocks.end(), 0U);
  std::shuffle(blocks.begin(), blocks.end(), chance_);
  return std::all_of(blocks.begin(), blocks.end(), [&](std::uint32_t i) {
    blockIdx = {i % gridDim.x, i / gridDim.x % gridDim.y, i / gridDim.x / gridDim.y};
    return run_block(config);
  });
}

bool KernelRunner::run_block(const cudaLaunchConfig_t& config) {
  constexpr std::byte garbage{0xff};  // as a float, not a number
  constexpr std::size_t looked_at_behind = 4096;
  std::span<std::byte> shared = dynamic_shared ? dynamic_shared() : std::span<std::byte>();
  if (config.dynamicSmemBytes > shared.size()) return false;
  shared = shared.first(std::min(shared.size(), config.dynamicSmemBytes + looked_at_behind));
  std::fill(shared.begin(), shared.end(), garbage);
  if (!run_threads(config.blockDim)) return false;
  const std::span<std::byte> behind = shared.subspan(config.dynamicSmemBytes);
  return std::all_of(behind.begin(), behind.end(), [](std::byte b) { return b == garbage; });
}

bool KernelRunner::run_threads(const dim3& threads) {
  order_.resize(std::size_t{threads.x} * threads.y * threads.z);
  std::iota(order_.begin(), order_.end(), 0U);
  std::shuffle(order_.begin(), order_.end(), chance_);
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
    std::shuffle(released.begin(), released.end(), chance_);
    for (Fiber* const fiber : released) resume(fiber);
  }
  return true;
}

void KernelRunner::wait() {
  Fiber* const self = running_;
  self->index = threadIdx;
  waiting_.push_back(self);
  swapcontext(&self->context, &caller_);
  threadIdx = self->index;
}

void KernelRunner::take_threads() {
  while (next_ < order_.size()) {
    const unsigned i = order_[next_++];
    threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    (*thread_)();
    ++ended_;
  }
}

void KernelRunner::enter(unsigned upper, unsigned lower) {
  auto* const runner =
      reinterpret_cast<KernelRunner*>((std::uintptr_t{upper} << 32) | std::uintptr_t{lower});
  for (;;) {
    runner->take_threads();
    Fiber* const self = runner->running_;
    runner->idle_.push_back(self);
    swapcontext(&self->context, &runner->caller_);
  }
}

KernelRunner::Fiber* KernelRunner::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    prepare(*fibers_.back());
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void KernelRunner::prepare(Fiber& fiber) {
  constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  fiber.stack.reset(new std::byte[stack_bytes]);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = stack_bytes;
  // makecontext() passes on numbers of 32 bits.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&fiber.context, reinterpret_cast<void (*)()>(&KernelRunner::enter), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void KernelRunner::resume(Fiber* fiber) {
  running_ = fiber;
  swapcontext(&caller_, &fiber->context);
}

}  // namespace fake_cuda
