#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tune/json.hpp>
#include <tune/objective.hpp>
#include <tune/schedulers/asha.hpp>

namespace tune::schedulers {

/// What the options of ASHA say, checked and worked out: the same for both of its types.
class AshaPlan {
 public:
  /// @throws std::invalid_argument naming an option out of range.
  AshaPlan(std::string name, AshaOptions options);

  [[nodiscard]] const AshaOptions& options() const { return options_; }
  /// Those below max_t. Rung i of bracket s has milestone i + s.
  [[nodiscard]] const std::vector<double>& milestones() const { return milestones_; }
  /// HyperBand's, of each bracket.
  [[nodiscard]] const std::vector<double>& sizes() const { return sizes_; }
  /// The time of the next decision on a trial whose next milestone is this.
  [[nodiscard]] double decision_time(std::size_t next_milestone) const;
  /// The first milestone from `from` on that is beyond `time`.
  [[nodiscard]] std::size_t milestone_after(double time, std::size_t from) const;
  [[nodiscard]] std::string explain_end(double time) const;
  [[nodiscard]] Json options_json() const;
  /// What the saved state of a scheduler must have as many of. @throws std::invalid_argument
  void check_saved_count(const std::string& where, std::size_t saved, std::size_t made,
                         const std::string& what) const;
  [[noreturn]] void refuse_saved_trial(const Json& trial) const;

 private:
  std::string name_;
  AshaOptions options_;
  std::vector<double> milestones_;
  std::vector<double> sizes_;
};

/// The promotion type of ASHA.
[[nodiscard]] std::unique_ptr<TrialScheduler> asha_promotion(AshaPlan plan);

}  // namespace tune::schedulers
