#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "runtime/gpu_probe.hpp"
#include "runtime/messages.hpp"

namespace tune::runtime {

/// The process of this worker is gone; when will its GPUs be free of it?
struct AwaitGpus {
  std::uint64_t worker = 0;
  std::int64_t pid = 0;
  std::vector<std::string> gpus;  ///< Their UUIDs.
};
struct LookAtGpus {};

/// The driver gives a process's memory on a GPU back some time after its end; whoever starts there
/// before may run out of it. So this actor looks until that process is on none of its GPUs, and
/// answers GpusFree: with a warning if that took too long. What the driver does not tell is free.
using GpuWatchActor = caf::typed_actor<caf::reacts_to<AwaitGpus>, caf::reacts_to<LookAtGpus>,
                                       caf::reacts_to<EndNode>>;

struct GpuWatch {
  struct Waiting {
    AwaitGpus what;
    std::chrono::steady_clock::time_point until;
  };
  GpuLibrary library;
  std::vector<Waiting> waiting;

  /// In words, who still holds what; empty if it is free.
  [[nodiscard]] std::string held(const AwaitGpus& what) const;
};

[[nodiscard]] GpuWatchActor::behavior_type watch_gpus(
    GpuWatchActor::stateful_pointer<GpuWatch> self, const AgentActor& agent);

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::AwaitGpus)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::LookAtGpus)
