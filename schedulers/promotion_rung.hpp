#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include <tune/ids.hpp>
#include <tune/json.hpp>
#include <tune/mode.hpp>

#include "rung_entry.hpp"

namespace tune::schedulers {

/// A rung whose trials wait until enough others have come to promote them.
///
/// The best floor(n / reduction_factor) of the n that ever came have a place. A value counts for
/// ever, whatever becomes of its trial. O(log n) an operation.
class PromotionRung {
 public:
  PromotionRung(double milestone, double reduction_factor, Mode mode);
  // An iterator of its own points into the entries; a moved set keeps it valid, a copied one not.
  PromotionRung(const PromotionRung&) = delete;
  PromotionRung& operator=(const PromotionRung&) = delete;
  PromotionRung(PromotionRung&&) = default;
  PromotionRung& operator=(PromotionRung&&) = delete;

  [[nodiscard]] double milestone() const { return milestone_; }
  /// Those that wait, the best first.
  [[nodiscard]] const std::set<RungEntry, EntryOrder>& waiting() const { return waiting_; }
  /// Adds a trial; one that does not wait only counts.
  void enter(const RungEntry& entry, bool waits);
  /// The trial, which has entered, waits from now on.
  void wait(const RungEntry& entry) { waiting_.insert(entry); }
  /// The best of those that wait, if it has a place.
  [[nodiscard]] std::optional<RungEntry> promotable() const;
  /// The best of those that wait, have a place and are ready. O(those that are not) more.
  [[nodiscard]] std::optional<RungEntry> promotable(
      const std::function<bool(TrialId)>& is_ready) const;
  /// It waits no longer: it was promoted or has ended.
  void release(const RungEntry& entry) { waiting_.erase(entry); }

  /// The evidence, for people: "rung 3: 0.5 is among the best 3 of 9, cut-off 0.7".
  [[nodiscard]] std::string explain(const RungEntry& entry) const;
  /// "3: 9 values, 2 wait, cut-off 0.7".
  [[nodiscard]] std::string describe() const;

  /// [value, trial, waits] of each, the best first.
  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  using Entries = std::multiset<RungEntry, EntryOrder>;  // a trial that starts anew comes again

  [[nodiscard]] bool has_place(const RungEntry& entry) const;

  double milestone_;
  double reduction_factor_;
  EntryOrder order_;
  Entries entries_;
  std::size_t places_ = 0;
  Entries::const_iterator last_place_ = {};  // valid with places_ above 0
  std::set<RungEntry, EntryOrder> waiting_;
};

}  // namespace tune::schedulers
