#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tune/resources.hpp>

#include "runtime/core_map.hpp"
#include "runtime/worker_bounds.hpp"

namespace tune::runtime {

/// The cores among which trials are divided where this machine offers `capacity`; none if it offers
/// more than it has.
[[nodiscard]] std::vector<int> cores_to_divide(const ResourceAmounts& capacity);

/// Knows which worker serves which grant, and what of this machine each of them holds.
///
/// Cores are a worker's from assign() until it is free or gone. Devices and memory it may hold
/// until it is gone: who is bound otherwise and wants them starts after that.
class WorkerRoster {
 public:
  struct Choice {
    std::uint64_t worker = 0;  ///< Never used again once it is gone.
    bool is_new = false;
    std::vector<std::uint64_t> ends = {};       ///< Free until now, and to be ended.
    std::vector<std::uint64_t> waits_for = {};  ///< To be gone before a new one starts: `ends` too.
  };

  /// @param cores distinct
  /// @param program the program's own environment
  WorkerRoster(const std::vector<int>& cores, std::vector<std::string> program);

  /// The worker for a trial with this grant: the latest that is free and bound as it should be, or
  /// a new one. That takes the place of all free ones which hold a device of the grant; of another
  /// free one if none does, as there shall not be more than trials at a time.
  [[nodiscard]] Choice assign(const ResourceGrant& grant);
  /// Its trial has ended, and it can serve another.
  void on_free(std::uint64_t worker);
  /// Its process was reaped, but its devices may not be free of it yet.
  void on_reaped(std::uint64_t worker);
  /// Nothing is left of it.
  void on_gone(std::uint64_t worker);
  /// All that are free, which now are no longer: to be ended.
  [[nodiscard]] std::vector<std::uint64_t> retire_free();

  /// @pre `worker` is not gone
  [[nodiscard]] const WorkerBounds& bounds(std::uint64_t worker) const;
  [[nodiscard]] const CoreMap& cores() const { return cores_; }

 private:
  enum class State { busy, free, ending };
  struct Worker {
    WorkerBounds bounds;
    std::vector<int> gpu_ids;
    CoreGrant cores;  // none while it is free
    State state = State::busy;
  };

  [[nodiscard]] std::optional<std::uint64_t> take_free(const WorkerBounds& bounds,
                                                       std::int64_t cpu);
  void make_room(const ResourceGrant& grant, Choice& choice);
  void give_back_cores(Worker& worker);

  CoreMap cores_;
  std::vector<std::string> program_;
  std::map<std::uint64_t, Worker> workers_;
  std::uint64_t next_worker_ = 1;
};

}  // namespace tune::runtime
