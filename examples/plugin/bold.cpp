// A plugin with a scheduler, a searcher and, in the other source, a trainable.
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include <tune/plugin.hpp>
#include <tune/scheduler.hpp>
#include <tune/searcher.hpp>

namespace bold {

/// Stops a trial that is worse than the best one was at the same iteration, by more than `slack`.
class FallBehind final : public tune::TrialScheduler {
 public:
  explicit FallBehind(const tune::Json& options) {
    for (const auto& [name, value] : options.items()) {
      if (name != "slack") throw std::invalid_argument("fall_behind: unknown option " + name);
      slack_ = value.get<double>();
    }
  }

  tune::Decision on_trial_result(tune::SchedulerContext& context, const tune::Trial& trial,
                                 const tune::Result& result) override {
    const double value = result.target();
    std::optional<double>& best = best_[result.training_iteration];
    if (!best || tune::is_better(context.mode(), value, *best)) best = value;
    if (std::abs(value - *best) <= slack_) return tune::Decision::proceed;
    context.explain(trial.id(), std::to_string(value) + " is behind " + std::to_string(*best));
    return tune::Decision::stop;
  }

  [[nodiscard]] tune::Json save() const override {
    tune::Json state = tune::Json::array();
    for (const auto& [iteration, best] : best_) state.push_back({iteration, *best});
    return state;
  }
  void restore(const tune::Json& state) override {
    best_.clear();
    for (const tune::Json& entry : state) {
      best_[entry.at(0).get<std::int64_t>()] = entry.at(1).get<double>();
    }
  }
  [[nodiscard]] tune::Json options() const override {
    return {{"name", "fall_behind"}, {"slack", slack_}};
  }

 private:
  double slack_ = 0.1;
  std::map<std::int64_t, std::optional<double>> best_;  // by iteration
};

/// Tries the middle of the range of each number first, and then draws.
class MiddleFirst final : public tune::Searcher {
 public:
  void setup(const tune::SearcherSetup& setup) override {
    for (const tune::Json& parameter : setup.space->json()) {
      if (!parameter.contains("low")) {
        throw std::invalid_argument("middle_first: parameter " + parameter.at("name").dump() +
                                    " is no range");
      }
      ranges_[parameter.at("name")] = {parameter.at("low"), parameter.at("high")};
    }
  }
  tune::Suggestion suggest(const tune::SuggestionRequest& request) override {
    tune::Random random = request.random;
    tune::Json config = tune::Json::object();
    for (const auto& [name, range] : ranges_) {
      const double share = request.trial.value() == 0 ? 0.5 : random.uniform();
      config[name] = range.first + share * (range.second - range.first);
    }
    return tune::Config(config);
  }
  [[nodiscard]] bool needs_metric() const override { return false; }
  [[nodiscard]] tune::Json options() const override { return {{"name", "middle_first"}}; }

 private:
  std::map<std::string, std::pair<double, double>> ranges_;
};

}  // namespace bold

TUNE_PLUGIN("bold", "gives up early, starts in the middle") {
  using bold::FallBehind;
  using bold::MiddleFirst;
  TUNE_REGISTER_SCHEDULER("fall_behind", FallBehind, "stops what is behind by more than `slack`")
  TUNE_REGISTER_SEARCHER("middle_first", MiddleFirst, "the middle of all ranges, then random")
}
