#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <tune/scheduler.hpp>

#include "ranked_trials.hpp"

namespace tune::schedulers {

/// The options that population schedulers share, see PbtOptions.
struct PopulationOptions {
  std::string name;  ///< The scheduler's own, for messages.
  std::string time_attr;
  std::string metric;
  std::optional<Mode> mode;
  double perturbation_interval = 60;
  double burn_in_period = 0;
  double quantile_fraction = 0.25;
  bool log_config = true;
  bool synch = false;
};

/// What PBT and PB2 have in common: who is compared with whom and when, who takes over from whom,
/// who runs when there are more members than slots. How a configuration is explored is a matter of
/// the derived class.
///
/// A member is a live trial. At its first result at or beyond the end of an interval it gets a
/// score and is ranked; a member of the bottom quantile takes over from a random one of the top
/// quantile that has a stored checkpoint and a finite score, and has no score until it reports
/// again. Asynchronous members give way there to those that have come less far. Synchronous ones
/// pause until all have come that can: a member that ends, or that no node can hold, is not waited
/// for.
///
/// O(log n) a result; a synchronous exchange costs that for each member.
class PopulationScheduler : public TrialScheduler {
 public:
  /// @throws std::invalid_argument naming an option out of range
  explicit PopulationScheduler(PopulationOptions options);

  void on_trial_added(SchedulerContext& context, const Trial& trial) override;
  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override;
  void on_trial_completed(SchedulerContext& context, const Trial& trial,
                          const Result& last) override;
  void on_trial_failed(SchedulerContext& context, const Trial& trial) override;
  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override;

  [[nodiscard]] bool needs_checkpoints() const override { return true; }
  [[nodiscard]] std::string time_attr() const override { return options_.time_attr; }
  [[nodiscard]] std::optional<Objective> objective() const override;
  [[nodiscard]] Json save() const override;
  void restore(const Json& state) override;
  /// Of the options that are shared.
  [[nodiscard]] Json options() const override;
  [[nodiscard]] std::string describe() const override;

 protected:
  /// The configuration with which `receiver` goes on from the checkpoint of `donor`.
  [[nodiscard]] virtual Config explore(const SchedulerContext& context, const Trial& receiver,
                                       const Trial& donor, Random& random) = 0;
  /// A member has got to the end of an interval.
  virtual void on_score(const SchedulerContext& context, const Trial& trial, double time,
                        double score);
  /// A member has ended.
  virtual void on_left(TrialId id);

  [[noreturn]] void refuse(const std::string& what) const;
  [[nodiscard]] Mode mode() const { return *mode_; }

 private:
  /// An exploit that was decided. Whether it took place the member's next start tells.
  struct Exchange {
    std::uint32_t incarnation = 0;  // of the receiver, before
    TrialId donor;
    Config config;
  };
  struct Standing {
    std::size_t rank = 0;  // how many are better
    std::size_t members = 0;
    std::size_t places = 0;  // in each quantile
  };
  enum class Place {
    training,
    waiting,  // paused, until the others have come
    ready,    // paused, may run again
  };
  struct Member {
    double due = 0;  // the end of its interval; asynchronous ones have their own
    double time = 0;
    std::optional<double> score;
    std::uint64_t draws = 0;  // how often chance was asked for it
    Place place = Place::training;
    std::optional<Exchange> exchange;
  };

  [[nodiscard]] std::optional<TrialId> first_interrupted(const SchedulerContext& context) const;
  [[nodiscard]] double first_due() const;
  [[nodiscard]] double due_after(double due, double time) const;
  [[nodiscard]] std::size_t quantile() const;
  void know_mode(const SchedulerContext& context);

  Decision end_interval(SchedulerContext& context, const Trial& trial, Member& member);
  Decision wait(SchedulerContext& context, TrialId id, Member& member);
  void exchange_all(SchedulerContext& context);
  bool exploit(SchedulerContext& context, const Trial& receiver, const Standing& standing);
  [[nodiscard]] const Trial* draw_donor(const SchedulerContext& context, std::size_t places,
                                        Random& random) const;
  void confirm(SchedulerContext& context, const Trial& trial, Member& member);

  void set_place(TrialId id, Member& member, Place place);
  void set_score(TrialId id, Member& member, double score);
  void clear_score(TrialId id, Member& member);
  void forget(SchedulerContext& context, const Trial& trial);
  [[nodiscard]] std::optional<TrialId> first_ready(const SchedulerContext& context) const;
  [[nodiscard]] bool are_all_there(const SchedulerContext& context);
  [[nodiscard]] Json save_member(TrialId id, const Member& member) const;
  void restore_member(const Json& saved);

  PopulationOptions options_;
  std::optional<Mode> mode_;  // known from the first result on
  std::map<TrialId, Member> members_;
  std::optional<RankedTrials> ranking_;         // of those with a score, made with the mode
  std::set<std::pair<double, TrialId>> ready_;  // the least progress first
  std::set<TrialId> waiting_;                   // synchronous
  std::set<TrialId> coming_;                    // synchronous: the others
  std::set<TrialId> saving_;                    // of waiting_: not seen paused yet
  double barrier_ = 0;                          // synchronous: the end of all intervals
  std::uint64_t exchanges_ = 0;
};

}  // namespace tune::schedulers
