#include <tune/schedulers/median_stopping.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/number_text.hpp"
#include "running_averages.hpp"

namespace tune {
namespace {

using core::number_text;
using schedulers::Curve;
using schedulers::RunningAverages;

[[noreturn]] void refuse_median_stopping(const std::string& what) {
  throw std::invalid_argument("median_stopping: " + what);
}

void check_median_stopping_options(const MedianStoppingOptions& options) {
  if (options.time_attr.empty()) {
    refuse_median_stopping("time_attr must name a field, is empty");
  }
  if (!options.metric.empty() && !options.mode) {
    refuse_median_stopping("metric is " + options.metric +
                           ", so mode must be min or max, is not set");
  }
  if (!(options.grace_period >= 0) || !std::isfinite(options.grace_period)) {
    refuse_median_stopping("grace_period must be at least 0, is " +
                           number_text(options.grace_period));
  }
  if (options.min_samples_required < 1) {
    refuse_median_stopping("min_samples_required must be at least 1, is " +
                           std::to_string(options.min_samples_required));
  }
  if (!(options.min_time_slice >= 0) || !std::isfinite(options.min_time_slice)) {
    refuse_median_stopping("min_time_slice must be at least 0, is " +
                           number_text(options.min_time_slice));
  }
}

class MedianStopping final : public TrialScheduler {
 public:
  explicit MedianStopping(MedianStoppingOptions options) : options_(std::move(options)) {
    check_median_stopping_options(options_);
  }

  void on_trial_added(SchedulerContext& context, const Trial& trial) override {
    // One that goes on after all has its curve; one that begins anew begins a new one, too.
    Progress& progress = progress_[trial.id()];
    if (!trial.last_result()) progress = {};
    progress.is_below_median = false;
    context.no_decision_before(trial.id(), options_.grace_period);
  }

  Decision on_trial_result(SchedulerContext& context, const Trial& trial,
                           const Result& result) override {
    const std::optional<double> time = result.number(options_.time_attr);
    if (!time) return Decision::proceed;
    if (!averages_) {
      averages_.emplace(options_.mode.value_or(context.mode()), options_.grace_period);
    }
    Progress& progress = progress_[trial.id()];
    leave_queues(trial.id(), progress);
    averages_->add(progress.curve, *time, result.target());
    if (*time < options_.grace_period || progress.is_below_median) return Decision::proceed;
    const double step = RunningAverages::step_at(*time);
    const std::size_t others = averages_->count_others(progress.curve, step);
    return others < static_cast<std::size_t>(options_.min_samples_required)
               ? without_samples(context, trial.id(), progress, *time, others)
               : judge(context, trial.id(), progress, *time, step);
  }

  void on_trial_completed(SchedulerContext&, const Trial& trial, const Result&) override {
    leave_queues(trial.id(), progress_[trial.id()]);
  }

  void on_trial_failed(SchedulerContext&, const Trial& trial) override {
    leave_queues(trial.id(), progress_[trial.id()]);
  }

  // Those below the median are the last: only when no other can run.
  std::optional<TrialId> choose_trial_to_run(SchedulerContext& context) override {
    if (!context.pending_trials().empty()) return *context.pending_trials().begin();
    // So many gave way that there will be enough to compare with: let them catch up.
    const bool are_enough =
        yielded_.size() > static_cast<std::size_t>(options_.min_samples_required);
    if (are_enough || context.new_trials() != NewTrials::possible) {
      if (const auto id = first_ready(context, yielded_)) return id;
    }
    if (context.new_trials() == NewTrials::possible) return std::nullopt;
    return first_ready(context, below_median_);
  }

  [[nodiscard]] bool needs_checkpoints() const override {
    return !options_.hard_stop || options_.min_time_slice > 0;
  }
  [[nodiscard]] std::string time_attr() const override { return options_.time_attr; }

  [[nodiscard]] std::optional<Objective> objective() const override {
    if (!options_.mode) return std::nullopt;
    return Objective{.metric = options_.metric, .mode = *options_.mode};
  }

  [[nodiscard]] Json save() const override {
    Json trials = Json::array();
    for (const auto& [id, progress] : progress_) {
      trials.push_back({id.value(), progress.curve.save(), progress.last_pause,
                        progress.is_below_median, yielded_.contains({progress.last_pause, id}),
                        below_median_.contains({progress.last_pause, id})});
    }
    return {{"mode", averages_ ? Json(to_string(averages_->mode())) : Json()},
            {"averages", averages_ ? averages_->save() : Json::array()},
            {"trials", std::move(trials)}};
  }

  void restore(const Json& state) override {
    averages_.reset();
    progress_.clear();
    yielded_.clear();
    below_median_.clear();
    if (!state.at("mode").is_null()) {
      averages_.emplace(state.at("mode") == "min" ? Mode::min : Mode::max, options_.grace_period);
      averages_->restore(state.at("averages"));
    }
    for (const Json& saved : state.at("trials")) {
      const TrialId id{saved.at(0).get<std::uint64_t>()};
      Progress& progress = progress_[id];
      progress.curve.restore(saved.at(1));
      progress.last_pause = saved.at(2).get<double>();
      progress.is_below_median = saved.at(3).get<bool>();
      if (saved.at(4).get<bool>()) yielded_.emplace(progress.last_pause, id);
      if (saved.at(5).get<bool>()) below_median_.emplace(progress.last_pause, id);
    }
  }

  [[nodiscard]] Json options() const override {
    Json json = {{"name", "median_stopping"},
                 {"time_attr", options_.time_attr},
                 {"grace_period", options_.grace_period},
                 {"min_samples_required", options_.min_samples_required},
                 {"min_time_slice", options_.min_time_slice},
                 {"hard_stop", options_.hard_stop}};
    if (!options_.metric.empty()) json["metric"] = options_.metric;
    if (options_.mode) json["mode"] = to_string(*options_.mode);
    return json;
  }

  [[nodiscard]] std::string describe() const override {
    std::string text =
        "median stopping after " + options_.time_attr + " " + number_text(options_.grace_period);
    if (!below_median_.empty()) {
      text += "; " + std::to_string(below_median_.size()) + " below the median";
    }
    if (!yielded_.empty()) text += "; " + std::to_string(yielded_.size()) + " gave way";
    return text;
  }

 private:
  struct Progress {
    Curve curve;
    double last_pause = 0;         // the time at which it last gave its slot away
    bool is_below_median = false;  // it was paused for it, and is not judged again
  };
  using Queue = std::set<std::pair<double, TrialId>>;  // paused ones, the least progress first

  Decision judge(SchedulerContext& context, TrialId id, Progress& progress, double time,
                 double step) {
    const double median = averages_->median_of_others(progress.curve, step);
    const double best = progress.curve.best().value_or(worst_value());
    if (!is_better(averages_->mode(), median, best)) return Decision::proceed;
    context.explain(id, "best value " + number_text(best) + " is worse than " +
                            number_text(median) + ", the median of the running averages of " +
                            std::to_string(averages_->count_others(progress.curve, step)) +
                            " others up to " + options_.time_attr + " " + number_text(step));
    if (options_.hard_stop) return Decision::stop;
    progress.is_below_median = true;
    progress.last_pause = time;
    below_median_.emplace(time, id);
    context.no_decision_before(id, std::numeric_limits<double>::infinity());
    return Decision::pause;
  }

  Decision without_samples(SchedulerContext& context, TrialId id, Progress& progress, double time,
                           std::size_t others) {
    const bool has_had_its_slice =
        options_.min_time_slice > 0 && time - progress.last_pause >= options_.min_time_slice;
    const bool do_others_wait = !context.pending_trials().empty() ||
                                context.new_trials() == NewTrials::possible ||
                                first_ready(context, yielded_).has_value();
    if (!has_had_its_slice || !do_others_wait) return Decision::proceed;
    context.explain(id, "gives way at " + options_.time_attr + " " + number_text(time) + ": only " +
                            std::to_string(others) + " of the " +
                            std::to_string(options_.min_samples_required) +
                            " others that are required have a value there");
    progress.last_pause = time;
    yielded_.emplace(time, id);
    return Decision::pause;
  }

  void leave_queues(TrialId id, const Progress& progress) {
    yielded_.erase({progress.last_pause, id});
    below_median_.erase({progress.last_pause, id});
  }

  // The first that has been saved and may be started. It stays in the queue until it reports, since
  // there may be no room for it now. O(running trials).
  static std::optional<TrialId> first_ready(const SchedulerContext& context, const Queue& queue) {
    for (const auto& [time, id] : queue) {
      const Trial* trial = context.find(id);
      if (trial != nullptr && trial->state() == TrialState::paused && !trial->waits_for_retry()) {
        return id;
      }
    }
    return std::nullopt;
  }

  MedianStoppingOptions options_;
  std::optional<RunningAverages> averages_;  // made with the first result, which tells the mode
  std::map<TrialId, Progress> progress_;     // of ended trials too: they may go on
  Queue yielded_;
  Queue below_median_;
};

}  // namespace

std::unique_ptr<TrialScheduler> median_stopping(const MedianStoppingOptions& options) {
  return std::make_unique<MedianStopping>(options);
}

}  // namespace tune
