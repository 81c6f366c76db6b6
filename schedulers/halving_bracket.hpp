#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "rung_entry.hpp"

namespace tune::schedulers {

/// How many trials a bracket begins with and where it compares them.
struct BracketShape {
  std::size_t size = 1;
  std::vector<double> milestones;  ///< Growing; the last is max_t.
};

/// One bracket of synchronous successive halving: its present rung, in which the best
/// max(1, floor(n / reduction_factor^k)) of its n trials go on to rung k once all have got there.
///
/// A trial that ends before is dropped, and the rung does not wait for it; the places stay as many
/// as they were, so that the next best takes its. O(log n) an operation, a halving O(n).
class HalvingBracket {
 public:
  HalvingBracket(const BracketShape& shape, double reduction_factor, Mode mode);

  // Until it is full or closed trials begin in the first rung.
  [[nodiscard]] bool is_open() const { return !closed_ && begun_ < shape_->size; }
  void begin_trial();
  void close() { closed_ = true; }

  /// Where the trials on their way are compared next.
  [[nodiscard]] double milestone() const { return shape_->milestones[rung_]; }
  [[nodiscard]] std::size_t rung() const { return rung_; }
  [[nodiscard]] std::size_t begun() const { return begun_; }
  [[nodiscard]] bool is_closed() const { return closed_; }
  /// One of those on their way has got to the milestone.
  void enter(const RungEntry& entry);
  /// One of those on their way has ended.
  void drop_running() { --running_; }
  /// One that has got there has ended.
  void drop(const RungEntry& entry) { entered_.erase(entry); }

  /// True if nobody is on the way and nobody will come.
  [[nodiscard]] bool is_complete() const { return !is_open() && running_ == 0; }
  /// True if there is nobody left to train.
  [[nodiscard]] bool is_over() const { return is_complete() && entered_.empty(); }

  /// What a halving makes of the trials of a rung, the best first.
  struct Halving {
    std::vector<RungEntry> kept;
    std::vector<RungEntry> dropped;
    std::string places;  ///< "the best 3 go on, cut-off 0.7"
  };
  /// Goes on to the next rung; those kept are on their way to it. @pre is_complete(), not is_over()
  [[nodiscard]] Halving halve();

  /// "rung 3: 4 of 9 are there".
  [[nodiscard]] std::string describe() const;
  /// Puts a saved state back, but for the trials: each begins again in it by resume_running() or
  /// resume_entered().
  void restore(std::size_t rung, std::size_t begun, bool closed);
  void resume_running() { ++running_; }
  void resume_entered(const RungEntry& entry) { entered_.insert(entry); }

 private:
  [[nodiscard]] std::size_t next_places() const;

  const BracketShape* shape_;
  double reduction_factor_;
  std::size_t rung_ = 0;
  std::size_t begun_ = 0;
  bool closed_ = false;
  std::size_t running_ = 0;  // on their way to the milestone
  std::set<RungEntry, EntryOrder> entered_;
};

}  // namespace tune::schedulers
