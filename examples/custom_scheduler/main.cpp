// A scheduler of one's own: it stops a trial that, at one milestone, is worse than the median of
// the trials that were there before it.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <tune/tune.hpp>

class MedianAtMilestone final : public tune::TrialScheduler {
 public:
  // Takes the options of make_scheduler("median_at_milestone", {...}).
  explicit MedianAtMilestone(const tune::Json& options) {
    for (const auto& [name, value] : options.items()) {
      if (name != "milestone")
        throw std::invalid_argument("unknown option " + name + ", want milestone");
      milestone_ = value.get<int>();
    }
    if (milestone_ < 1) throw std::invalid_argument("milestone must be at least 1");
  }

  // Until the milestone there is nothing to decide: the trial need not wait for us.
  void on_trial_added(tune::SchedulerContext& context, const tune::Trial& trial) override {
    context.no_decision_before(trial.id(), milestone_);
  }

  tune::Decision on_trial_result(tune::SchedulerContext& context, const tune::Trial& trial,
                                 const tune::Result& result) override {
    if (result.training_iteration != milestone_) return tune::Decision::proceed;
    // is_better() ranks values that are not finite too, so that one NaN spoils no comparison.
    const auto better = [&](double a, double b) { return tune::is_better(context.mode(), a, b); };
    const auto place = std::ranges::lower_bound(values_, result.target(), better);
    const auto rank = static_cast<std::size_t>(place - values_.begin());
    const std::size_t judged = values_.size();
    values_.insert(place, result.target());  // sorted, the best first
    if (judged >= 3 && rank > judged / 2) {
      context.explain(trial.id(), std::to_string(rank) + " of " + std::to_string(judged) +
                                      " trials were better at the milestone");
      ++stopped_;
      return tune::Decision::stop;
    }
    context.no_decision_before(trial.id(), std::numeric_limits<double>::infinity());
    return tune::Decision::proceed;
  }

  [[nodiscard]] bool needs_metric() const override { return true; }

  // All state, so that a snapshot can take the place of a replay.
  [[nodiscard]] tune::Json save() const override {
    tune::Json values = tune::Json::array();  // JSON has no NaN: null stands for what is not finite
    for (const double value : values_) {
      values.push_back(std::isfinite(value) ? tune::Json(value) : tune::Json());
    }
    return {{"values", values}, {"stopped", stopped_}};
  }

  void restore(const tune::Json& state) override {
    values_.clear();
    for (const tune::Json& value : state.at("values")) {
      values_.push_back(value.is_null() ? tune::worst_value() : value.get<double>());
    }
    stopped_ = state.at("stopped").get<int>();
  }

  [[nodiscard]] tune::Json options() const override {
    return {{"name", "median_at_milestone"}, {"milestone", milestone_}};
  }

  [[nodiscard]] std::string describe() const override {
    return "median at " + std::to_string(milestone_) + ": " + std::to_string(values_.size()) +
           " judged, " + std::to_string(stopped_) + " stopped";
  }

 private:
  int milestone_ = 4;
  std::vector<double> values_;
  int stopped_ = 0;
};
TUNE_REGISTER_SCHEDULER("median_at_milestone", MedianAtMilestone)

// Gradient descent on a parabola, as in the minimal example, in the form of a function.
void train(const tune::Config& config) {
  const auto lr = config["lr"].get<double>();
  double x = 0;
  for (int i = 0; i < 16; ++i) {
    x -= lr * 2 * (x - 3);
    tune::track::report({{"loss", (x - 3) * (x - 3)}});
  }
}

int main(int argc, char** argv) {
  tune::init(argc, argv);
  tune::Experiment experiment{
      .storage_path = "results",
      .space = {{"lr", tune::loguniform(1e-4, 1.0)}},
      .metric = "loss",
      .mode = tune::Mode::min,
      .num_samples = 20,
      .scheduler = tune::make_scheduler("median_at_milestone", {{"milestone", 4}}),
      .seed = 1,
  };
  const tune::ResultGrid results = tune::tune_run(train, experiment);
  int stopped = 0;
  for (const tune::TrialResult& trial : results) {
    std::cout << trial.name << ": " << trial.training_iteration << " iterations, loss "
              << trial.metrics.at("loss").as_double() << '\n';
    if (trial.training_iteration == 4) ++stopped;
  }
  std::cout << stopped << " of " << results.size() << " trials were stopped at the milestone\n"
            << "best " << results.best().config << '\n';
}
