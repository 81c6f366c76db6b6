#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <tune/error.hpp>
#include <tune/json.hpp>

#include "runtime/descriptor.hpp"
#include "runtime/frame.hpp"
#include "runtime/memory_fault.hpp"
#include "runtime/worker_bounds.hpp"

/// The guardian: a small process of its own that starts the worker processes of one agent, tells
/// how each ended, and leaves none behind. When the agent is gone, however it ended, it kills all
/// that descends from a worker, whatever session or group that has put itself into.
namespace tune::runtime {

/// How a worker shall be started.
struct SpawnRequest {
  std::uint64_t id = 0;  ///< Of the worker; never used again.
  WorkerBounds bounds;
};
/// Sends a signal to a worker and all of its process group.
struct KillRequest {
  std::uint64_t id = 0;
  int signal = 0;
};
using GuardianRequest = std::variant<SpawnRequest, KillRequest>;

struct WorkerSpawned {
  std::uint64_t id = 0;
  pid_t pid = 0;
};
/// No process came of it.
struct SpawnFailed {
  std::uint64_t id = 0;
  std::string error;
};
/// The worker is gone, and what it had started too or about to be.
struct WorkerExited {
  std::uint64_t id = 0;
  int status = 0;  ///< As of waitpid().
  MemoryEnd memory = MemoryEnd::kept;
};
/// How the memory of workers is limited here. Comes once, before the first that has a limit starts.
struct MemoryLimitFound {
  std::string text;
};
using GuardianReport = std::variant<WorkerSpawned, SpawnFailed, WorkerExited, MemoryLimitFound>;

[[nodiscard]] Json to_json(const GuardianRequest& request);
/// @throws std::exception for what is none.
[[nodiscard]] GuardianReport guardian_report_from_json(const Json& json);

/// "ended with exit code 3", "was killed by signal 11 (Segmentation fault)".
[[nodiscard]] std::string describe_exit(int status);

/// The variable in the environment of a worker, and of all that it starts, that holds its id.
inline constexpr char worker_variable[] = "TUNE_WORKER";
/// The descriptor at which guardian and workers find their socket.
inline constexpr int inherited_socket = 3;
/// The descriptor at which a guardian finds the lock that it holds as long as it lives.
inline constexpr int inherited_lock = 4;
inline constexpr char guardian_argument[] = "--tune-guardian";
inline constexpr char worker_argument[] = "--tune-worker";

struct GuardianProcess {
  Descriptor socket;  ///< The agent's end. Closing it ends the guardian and all workers.
  pid_t pid = 0;      ///< A child of this process, to be waited for.
};
/// Starts this program anew as a guardian. A worker's socket, stdout and stderr go with the request
/// for it, in this order, by send_all(). `lock`: the descriptor of a lock that shall be held until
/// all workers are gone, even if this process dies before; -1: none.
/// @throws std::system_error
[[nodiscard]] GuardianProcess start_guardian(int lock);

/// Serves as guardian until the agent is gone and nobody is left.
[[noreturn]] void serve_guardian();

}  // namespace tune::runtime
