#include "random_behaviour.hpp"

#include <array>
#include <cmath>
#include <string>

#include <tune/random.hpp>

#include "support/limits.hpp"

namespace tune::test {
namespace {

class RandomBehaviour final : public TrialBehaviour {
 public:
  explicit RandomBehaviour(const RandomBehaviourOptions& options) : options_(options) {}

  StepOutcome setup(const engine::Launch& launch) override {
    StepOutcome outcome;
    Random of_trial(options_.seed, "invalid", launch.trial.value());
    Random of_start(options_.seed, "setup", launch.trial.value(), launch.incarnation);
    outcome.seconds = 0.5 * of_start.uniform();
    if (of_trial.uniform() < options_.invalid) {
      outcome.kind = StepOutcome::Kind::invalid;
      outcome.message = "this configuration cannot work";
    } else if (of_start.uniform() < options_.setup_failure) {
      outcome.kind = StepOutcome::Kind::fail;
      outcome.message = "setup threw";
      outcome.is_silent = of_start.uniform() < 0.3;
    }
    return outcome;
  }

  std::string damage(const engine::Launch& launch) override {
    Random random(options_.seed, "damage", launch.trial.value(), launch.incarnation);
    if (random.uniform() >= options_.damage) return {};
    return launch.checkpoint->directory_name + " is damaged";
  }

  std::string load(const engine::Launch& launch) override {
    Random random(options_.seed, "load", launch.trial.value(), launch.incarnation);
    return random.uniform() < options_.load_failure ? "load_checkpoint threw" : "";
  }

  StepOutcome step(const engine::Launch& launch, std::int64_t iteration) override {
    StepOutcome outcome;
    Random of_start = at(launch, iteration, "step");
    outcome.seconds = 0.2 + of_start.uniform();
    Random of_trial(options_.seed, "length", launch.trial.value());
    const bool is_endless = of_trial.uniform() < options_.no_end;
    const auto length = 1 + static_cast<std::int64_t>(
                                of_trial.below(static_cast<std::uint64_t>(options_.max_length)));
    const bool ends_with_done = of_trial.uniform() < 0.5;
    if (!is_endless && iteration > length) {
      outcome.kind = StepOutcome::Kind::end;
      return outcome;
    }
    if (of_start.uniform() < options_.step_failure) {
      outcome.kind = StepOutcome::Kind::fail;
      outcome.message = "step " + std::to_string(iteration) + " threw";
      return outcome;
    }
    if (of_start.uniform() < options_.invalid_step) {
      outcome.kind = StepOutcome::Kind::invalid;
      outcome.message = "this configuration cannot work";
      return outcome;
    }
    outcome.save = of_start.uniform() < options_.own_save;
    outcome.done = !is_endless && ends_with_done && iteration == length;
    outcome.metrics = metrics(launch, iteration);
    return outcome;
  }

  std::string save(const engine::Launch& launch, std::int64_t iteration) override {
    Random random = at(launch, iteration, "save");
    return random.uniform() < options_.save_failure ? "save_checkpoint threw" : "";
  }

  int steps_before_it_obeys(const engine::Launch& launch) override {
    Random random(options_.seed, "slow", launch.trial.value(), ++orders_);
    return static_cast<int>(random.below(static_cast<std::uint64_t>(options_.max_slowness) + 1));
  }

  std::optional<double> dies_waiting(const engine::Launch& launch,
                                     std::int64_t iteration) override {
    Random random = at(launch, iteration, "wait");
    if (random.uniform() >= options_.dies_waiting) return std::nullopt;
    return 0.1 * random.uniform();
  }

  bool ignores_stop(const engine::Launch& launch) override {
    Random random(options_.seed, "deaf", launch.trial.value(), launch.incarnation);
    return random.uniform() < options_.never_stops;
  }

 private:
  [[nodiscard]] Random at(const engine::Launch& launch, std::int64_t iteration,
                          std::string_view purpose) const {
    return {options_.seed, purpose, launch.trial.value(),
            1000 * launch.incarnation + static_cast<std::uint64_t>(iteration)};
  }

  [[nodiscard]] Metrics metrics(const engine::Launch& launch, std::int64_t iteration) const {
    Random random(options_.seed, "score", launch.trial.value(),
                  static_cast<std::uint64_t>(iteration));
    const double score = random.uniform() + 0.1 * static_cast<double>(iteration);
    Metrics metrics = {{"loss", 1 / (1 + score)}};
    // A measure of progress of the user's own: now and then it stands still or goes back.
    metrics.set("epoch", iteration - static_cast<std::int64_t>(random.below(3)));
    if (random.uniform() < options_.nan_epoch) metrics.set("epoch", std::nan(""));
    if (random.uniform() < options_.missing) return metrics;
    metrics.set("score", score);
    if (random.uniform() < options_.not_finite) {
      metrics.set("score", std::array{test::inf, -test::inf, std::nan("")}[random.below(3)]);
    }
    if (random.uniform() < options_.text) metrics.set("score", "unavailable");
    return metrics;
  }

  RandomBehaviourOptions options_;
  std::uint64_t orders_ = 0;
};

}  // namespace

std::unique_ptr<TrialBehaviour> random_behaviour(const RandomBehaviourOptions& options) {
  return std::make_unique<RandomBehaviour>(options);
}

}  // namespace tune::test
