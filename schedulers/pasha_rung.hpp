#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/mode.hpp>

#include "ranked_values.hpp"

namespace tune::schedulers {

/// Where trials pause until they are promoted: all values that the rung ever got, parted into the
/// best floor(n / reduction_factor) and the rest, and who of the best still waits.
///
/// Equal values stand in the order of their trials. O(log n) an operation.
class PashaRung {
 public:
  PashaRung(double milestone, double reduction_factor, Mode mode);

  [[nodiscard]] double milestone() const { return milestone_; }
  /// Adds a value, which stays whatever becomes of its trial.
  void enter(TrialId id, double value);
  /// The trial, which entered with `value`, waits for its promotion.
  void wait(TrialId id, double value);
  /// It waits no longer: it was promoted or has ended.
  void leave(TrialId id);
  /// The best that waits, is among the best and `is_ready`. O(those that are not ready) more.
  [[nodiscard]] std::optional<TrialId> first_promotable(
      const std::function<bool(TrialId)>& is_ready) const;

  /// "rung 3: 0.5 ranks 4 of 9; the best 3 go on". @pre the value is in the rung
  [[nodiscard]] std::string describe(double value) const;
  /// "3: 9 values, 2 wait".
  [[nodiscard]] std::string describe() const;

  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  struct Entry {
    double value = 0;
    TrialId trial;
  };
  struct Before {
    Mode mode;
    bool operator()(const Entry& a, const Entry& b) const {
      if (is_better(mode, a.value, b.value)) return true;
      return !is_better(mode, b.value, a.value) && a.trial < b.trial;
    }
  };

  [[nodiscard]] bool is_among_best(const Entry& entry) const;
  void part_anew();

  double milestone_;
  double reduction_factor_;
  Before before_;
  RankedValues values_;
  // Multisets: a trial that was restarted from nothing enters once more.
  std::multiset<Entry, Before> best_;
  std::multiset<Entry, Before> rest_;
  std::map<TrialId, double> waiting_;
  std::set<Entry, Before> promotable_;  // those of best_ that wait
};

}  // namespace tune::schedulers
