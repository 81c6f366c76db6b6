#include <tune/searchers/bohb.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include "core/number_text.hpp"
#include "parzen_searcher.hpp"

namespace tune {
namespace {

using core::number_text;
using searchers::EncodedSpace;
using searchers::Observation;
using searchers::Observations;
using searchers::Rank;

[[noreturn]] void refuse_bohb(const std::string& what) {
  throw std::invalid_argument("bohb: " + what);
}

const BohbOptions& checked_bohb(const BohbOptions& options) {
  if (options.min_points_in_model < 0) {
    refuse_bohb("min_points_in_model must be at least 0, is " +
                std::to_string(options.min_points_in_model));
  }
  if (!(options.top_n_percent > 0 && options.top_n_percent < 100)) {
    refuse_bohb("top_n_percent must be above 0 and below 100, is " +
                number_text(options.top_n_percent));
  }
  if (options.num_samples < 1) {
    refuse_bohb("num_samples must be at least 1, is " + std::to_string(options.num_samples));
  }
  if (!(options.random_fraction >= 0 && options.random_fraction <= 1)) {
    refuse_bohb("random_fraction must be from 0 to 1, is " + number_text(options.random_fraction));
  }
  if (options.reduction_factor < 2) {
    refuse_bohb("reduction_factor must be at least 2, is " +
                std::to_string(options.reduction_factor));
  }
  return options;
}

class Bohb final : public searchers::ParzenSearcher {
 public:
  explicit Bohb(const BohbOptions& options)
      : ParzenSearcher({.name = "bohb",
                        .good_share = options.top_n_percent / 100,
                        .candidates = static_cast<std::size_t>(options.num_samples),
                        .reduction_factor = options.reduction_factor}),
        options_(options) {}

  [[nodiscard]] bool wants_results() const override { return true; }

  [[nodiscard]] Json options() const override {
    return {{"name", "bohb"},
            {"min_points_in_model", options_.min_points_in_model},
            {"top_n_percent", options_.top_n_percent},
            {"num_samples", options_.num_samples},
            {"random_fraction", options_.random_fraction},
            {"reduction_factor", options_.reduction_factor}};
  }

 protected:
  bool look(const Observations& observations, const EncodedSpace& space) override {
    enough_ = options_.min_points_in_model > 0
                  ? static_cast<std::size_t>(options_.min_points_in_model)
                  : space.size() + 1;
    const std::size_t before = level_;
    level_ = observations.highest_level(enough_);
    return level_ != before;
  }

  [[nodiscard]] std::optional<Rank> rank(const Observation& observation) const override {
    const std::optional<double> loss = Observations::loss_at(observation, level_);
    if (loss && std::isfinite(*loss)) return Rank{.loss = *loss};
    if (observation.is_running()) return std::nullopt;
    // Not completed, then it would have a loss here.
    return searchers::final_rank(observation);
  }

  [[nodiscard]] bool is_random(const Observations& observations, Random& random) const override {
    if (random.uniform() < options_.random_fraction) return true;
    std::size_t usable = 0;
    for (const Observation& observation : observations.all()) {
      usable += Observations::loss_at(observation, level_) ? 1 : 0;
    }
    return usable < enough_;
  }

 private:
  BohbOptions options_;
  std::size_t enough_ = 1;
  std::size_t level_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> bohb(const BohbOptions& options) {
  return std::make_unique<Bohb>(checked_bohb(options));
}

}  // namespace tune
