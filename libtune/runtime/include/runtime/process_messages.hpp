#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "runtime/guardian.hpp"
#include "runtime/messages.hpp"
#include "runtime/trial_run.hpp"

/// What the actors around worker processes tell each other; all of it stays within the process.
namespace tune::runtime {

// ---- A socket's broker and its owner ----

struct SocketBytes {
  std::uint64_t process = 0;
  std::string bytes;
};
struct SocketClosed {
  std::uint64_t process = 0;
};
/// To the broker: another SocketBytes may come. It has a few of them on their way at most, and then
/// leaves the rest in the socket.
struct SocketCredit {};
/// To the broker: write this.
struct SocketSend {
  std::string bytes;
};
/// To the broker: close the socket and end.
struct SocketEnd {};

// ---- The host of a worker process ----

/// The agent to a host: run this.
struct StartInWorker {
  TrialRun run;
};
/// What a process prints from now on is its trial's.
struct OutputReady {
  std::uint64_t process = 0;
};
/// What was read of the trial's output after its end.
struct OutputEnd {
  std::string stderr_end;
};
/// The agent to the host of a trial's parallel worker, whose trial is gone: its process is not
/// worth waiting for.
struct AbortWorker {
  TrialId trial;
  std::uint32_t incarnation = 0;
  std::size_t rank = 0;
};
/// Those that a host's process takes the place of are gone: it may start.
struct MayStart {};
/// The guardian ended, and took the workers along.
struct GuardianLost {};
/// What may be wrong if it had not even started the worker.
inline constexpr char lost_guardian_text[] =
    "the guardian process, which is this program started anew, ended before it had started a "
    "worker: is tune::init(argc, argv) the first line of main()?";
/// A host to itself: look at the times.
struct HostTimer {};

using HostActor = caf::typed_actor<
    caf::reacts_to<StartInWorker>, caf::reacts_to<MayStart>, caf::reacts_to<TrialOrders>,
    caf::reacts_to<TeamMail>, caf::reacts_to<AbortWorker>, caf::reacts_to<SocketBytes>,
    caf::reacts_to<SocketClosed>, caf::reacts_to<WorkerSpawned>, caf::reacts_to<SpawnFailed>,
    caf::reacts_to<WorkerExited>, caf::reacts_to<GuardianLost>, caf::reacts_to<OutputReady>,
    caf::reacts_to<OutputEnd>, caf::reacts_to<HostTimer>, caf::reacts_to<EndNode>>;

// ---- The guardian's actor ----

/// A host to the guardian: start a process; what becomes of it goes to `host`.
struct SpawnWorker {
  SpawnRequest request;
  std::shared_ptr<std::array<Descriptor, 3>> descriptors;  // the message's: socket, stdout, stderr
  HostActor host;
};

}  // namespace tune::runtime

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SocketBytes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SocketClosed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SocketCredit)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SocketSend)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SocketEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::StartInWorker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::AbortWorker)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::MayStart)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::OutputReady)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::OutputEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::GuardianLost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::HostTimer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::WorkerSpawned)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SpawnFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::WorkerExited)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::KillRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tune::runtime::SpawnWorker)
