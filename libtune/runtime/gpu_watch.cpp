#include "runtime/gpu_watch.hpp"

#include <algorithm>

#include <caf/all.hpp>

#include "actor_faults.hpp"

namespace tune::runtime {
namespace {

constexpr std::chrono::milliseconds look_interval{100};
constexpr std::chrono::seconds patience{10};

}  // namespace

std::string GpuWatch::held(const AwaitGpus& what) const {
  for (const std::string& gpu : what.gpus) {
    const auto processes = library.processes(gpu);
    if (!processes) continue;
    for (const GpuProcess& process : *processes) {
      if (process.pid != what.pid) continue;
      return gpu + " still has " + std::to_string(process.memory >> 20) + " MiB of process " +
             std::to_string(what.pid) + ", which is gone,";
    }
  }
  return {};
}

GpuWatchActor::behavior_type watch_gpus(GpuWatchActor::stateful_pointer<GpuWatch> self,
                                        const AgentActor& agent) {
  watch_for_faults(self);
  const auto look = [=] {
    std::vector<GpuWatch::Waiting>& waiting = self->state.waiting;
    std::erase_if(waiting, [&](const GpuWatch::Waiting& one) {
      const std::string held = self->state.held(one.what);
      const bool is_over = self->clock().now() >= one.until;
      if (!held.empty() && !is_over) return false;
      const std::string after = " after " + std::to_string(patience.count()) + " s";
      self->send(agent, GpusFree{one.what.worker, held.empty() ? "" : held + after});
      return true;
    });
    if (!waiting.empty()) self->delayed_send(self, look_interval, LookAtGpus{});
  };
  return {
      [=](const AwaitGpus& what) {
        self->state.waiting.push_back({what, self->clock().now() + patience});
        if (self->state.waiting.size() == 1) look();
      },
      [=](const LookAtGpus&) { look(); },
      [=](const EndNode&) { self->quit(); },
  };
}

}  // namespace tune::runtime
