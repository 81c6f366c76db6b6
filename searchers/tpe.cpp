#include <tune/searchers/tpe.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include "core/number_text.hpp"
#include "parzen_searcher.hpp"

namespace tune {
namespace {

using core::number_text;
using searchers::Observation;
using searchers::Observations;
using searchers::Rank;

[[noreturn]] void refuse_tpe(const std::string& what) {
  throw std::invalid_argument("tpe: " + what);
}

const TpeOptions& checked_tpe(const TpeOptions& options) {
  if (options.n_startup_trials < 0) {
    refuse_tpe("n_startup_trials must be at least 0, is " +
               std::to_string(options.n_startup_trials));
  }
  if (options.n_ei_candidates < 1) {
    refuse_tpe("n_ei_candidates must be at least 1, is " + std::to_string(options.n_ei_candidates));
  }
  if (!(options.gamma > 0 && options.gamma < 1)) {
    refuse_tpe("gamma must be above 0 and below 1, is " + number_text(options.gamma));
  }
  if (!(options.prior_weight > 0) || !std::isfinite(options.prior_weight)) {
    refuse_tpe("prior_weight must be above 0, is " + number_text(options.prior_weight));
  }
  if (options.max_kernels < 0) {
    refuse_tpe("max_kernels must be at least 0, is " + std::to_string(options.max_kernels));
  }
  return options;
}

class Tpe final : public searchers::ParzenSearcher {
 public:
  explicit Tpe(const TpeOptions& options)
      : ParzenSearcher({.name = "tpe",
                        .good_share = options.gamma,
                        .candidates = static_cast<std::size_t>(options.n_ei_candidates),
                        .prior_weight = options.prior_weight,
                        .multivariate = options.multivariate,
                        .max_kernels = static_cast<std::size_t>(options.max_kernels)}),
        options_(options) {}

  [[nodiscard]] bool wants_results() const override { return false; }

  [[nodiscard]] Json options() const override {
    return {{"name", "tpe"},
            {"n_startup_trials", options_.n_startup_trials},
            {"n_ei_candidates", options_.n_ei_candidates},
            {"gamma", options_.gamma},
            {"prior_weight", options_.prior_weight},
            {"multivariate", options_.multivariate},
            {"max_kernels", options_.max_kernels}};
  }

 protected:
  bool look(const Observations&, const searchers::EncodedSpace&) override { return false; }

  [[nodiscard]] std::optional<Rank> rank(const Observation& observation) const override {
    if (observation.is_running()) return std::nullopt;
    return searchers::final_rank(observation);
  }

  [[nodiscard]] bool is_random(const Observations& observations, Random&) const override {
    return std::cmp_less(observations.ended(), options_.n_startup_trials);
  }

 private:
  TpeOptions options_;
};

}  // namespace

std::unique_ptr<Searcher> tpe(const TpeOptions& options) {
  return std::make_unique<Tpe>(checked_tpe(options));
}

}  // namespace tune
