#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include <tune/scheduler.hpp>

#include "engine/engine.hpp"

namespace tune::bench {

/// Whether one that ends makes room for a new trial.
enum class Newcomers { none, come };

/// An engine and all that it needs around it, in one loop: a crowd of trials that report one after
/// the other.
class EngineCrowd {
 public:
  /// Trials report `loss`, to be minimised, and can save.
  EngineCrowd(std::unique_ptr<TrialScheduler> scheduler, std::int64_t size, Newcomers newcomers);

  /// The next trial makes a step: one result to the engine, and whatever comes of it.
  void step();

  [[nodiscard]] std::int64_t starts() const { return starts_; }

 private:
  struct Running {
    engine::Launch launch;
    double level = 0;  // its loss comes down to this
    std::uint64_t sequence = 0;
    std::int64_t iteration = 0;
    bool saves = false;
    bool pauses = false;
    bool stops = false;
    bool waits = false;  // for a decision on `last`
    Result last;
  };

  void handle(engine::Event event);
  void carry_out();
  void launch(engine::Launch& command);
  void tell(Running& trial, engine::TrialReport report);
  void report(Running& trial);
  // Where orders are heeded: between two steps.
  void boundary(Running& trial);
  void end(Running& trial, engine::EndKind kind);
  [[nodiscard]] Running* find(TrialId trial, std::uint32_t incarnation);

  engine::Engine engine_;
  std::vector<engine::Command> commands_;
  std::deque<engine::Event> inbox_;
  std::vector<std::unique_ptr<Running>> running_;  // null: that place is free
  std::vector<std::size_t> free_places_;
  std::unordered_map<std::uint64_t, std::size_t> place_of_;  // by trial; only looked up
  std::size_t next_ = 0;
  std::int64_t starts_ = 0;
  double now_s_ = 0;
};

}  // namespace tune::bench
