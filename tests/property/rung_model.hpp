#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tune/scheduler.hpp>

namespace tune::test {

/// What a scheduler with rungs does with a trial that comes to one.
enum class RungRule {
  none,      ///< It has none, or several brackets of them.
  stops,     ///< Ends it unless it is among the best max(1, floor(n / reduction_factor)).
  promotes,  ///< Pauses it until it is among the best floor(n / reduction_factor).
};

/// The rungs of one bracket as the naive keep them: all values, sorted anew for each question.
class RungModel {
 public:
  /// `options`: those of the scheduler, with max_t, grace_period and reduction_factor.
  RungModel(RungRule rule, const Json& options, Mode mode);

  // Each says what is wrong with a decision; empty: nothing.
  [[nodiscard]] std::string on_result(TrialId id, double time, double value, Decision decision);
  /// @pre `chosen` was paused
  [[nodiscard]] std::string on_promoted(TrialId id);
  /// The scheduler lets no paused trial run.
  [[nodiscard]] std::string on_nobody(const SchedulerContext& context) const;
  void on_ended(TrialId id) { waiting_.erase(id); }

 private:
  using Entry = std::pair<double, TrialId>;

  [[nodiscard]] std::size_t rank_of(std::size_t rung, const Entry& entry) const;
  [[nodiscard]] std::size_t places(std::size_t rung) const;
  [[nodiscard]] std::string promote(TrialId id, std::size_t rung, double value);

  RungRule rule_;
  Mode mode_;
  double max_t_;
  double reduction_factor_;
  bool is_progressive_;  // rungs are opened one by one
  std::vector<double> milestones_;
  std::vector<std::vector<Entry>> rungs_;
  std::map<TrialId, std::size_t> next_;
  std::map<TrialId, std::pair<std::size_t, double>> waiting_;  // rung and value
  std::set<std::pair<TrialId, std::size_t>> promoted_;
  std::size_t highest_ = 1;  // milestone that anybody was promoted to
};

}  // namespace tune::test
