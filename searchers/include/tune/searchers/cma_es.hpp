#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <tune/json.hpp>
#include <tune/searcher.hpp>

namespace tune {

/// What CMA-ES does once it has converged.
enum class CmaRestarts {
  none,   ///< Draws on where it is.
  ipop,   ///< Starts anew elsewhere, each time with twice the population.
  bipop,  ///< The same in turn with small populations and small steps, for equal numbers of trials.
};

/// "none", "ipop" or "bipop".
[[nodiscard]] std::string_view to_string(CmaRestarts restarts);
/// @throws std::invalid_argument naming the text and what is allowed.
[[nodiscard]] CmaRestarts cma_restarts_from_string(std::string_view text);

/// A trial of another search.
struct CmaSourceTrial {
  Json config;
  double value = 0;  ///< Of the metric, compared by this experiment's mode.
};

struct CmaEsOptions {
  /// Standard deviation of the first draws, in units of a parameter's range (log domains: of the
  /// logarithm's). Above 0, at most 1.
  double sigma0 = 1.0 / 6;
  /// Where to start; a parameter that it leaves out starts in the middle of its domain.
  Json x0 = Json::object();
  /// Trials of a generation, at least 3; 0: 4 + floor(3 ln(parameters)).
  std::int64_t population_size = 0;
  CmaRestarts restarts = CmaRestarts::ipop;
  /// Draws of which the one is tried that a model of the last trials thinks best; 1: no model.
  std::int64_t candidates = 16;
  /// With more numeric parameters than this only their variances are adapted, not how they depend
  /// on each other.
  std::int64_t full_covariance_up_to = 100;
  /// Trials of an earlier search, on another data set say: it starts with the mean and spread of
  /// the best tenth. Not together with `x0`.
  std::vector<CmaSourceTrial> source = {};
};

/// Makes the covariance matrix adaptation evolution strategy.
///
/// Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv:1604.00772, 2016, with negative weights,
/// in the space of quantiles: every numeric domain is [0, 1] there. Draws outside are drawn again,
/// 100 times, then brought to the bound. Departures and additions:
///
/// - Asynchronous: the distribution moves on when as many trials have ended as a generation has,
///   whoever proposed them; more may be asked for meanwhile. A trial that was drawn from an older
///   distribution, or is a point of the user, counts in the generation in which it ends, its
///   distance bounded (Hansen, "Injecting External Solutions Into CMA-ES", 2011).
/// - Of `candidates` draws the one is tried that a Gaussian process puts first: Matern 5/2 in the
///   metric of the distribution, on the ranks of some 60 trials nearest to the mean. So it depends
///   on ranks alone, as CMA-ES does (compare Bajer et al., "Gaussian Process Surrogate Models for
///   the CMA Evolution Strategy", Evolutionary Computation, 2019).
/// - Integers, ordinals and quantised numbers: it learns from the values that trials had. A margin
///   keeps the neighbours of the mean's value in reach (Hamano et al., "CMA-ES with Margin", GECCO
///   2022, section 4).
/// - Options (choice, the key of a branch) are drawn by probabilities, one vector an independent
///   parameter, which move to the options of the better trials and stay above a bound (as Hamano et
///   al., "CatCMA", GECCO 2024, without its adaptive rate). A note with the first trial says so.
/// - Parameters whose branch is not taken count as drawn, so that nothing is learnt of them.
/// - Restarts: Auger and Hansen, CEC 2005 (ipop); Hansen, BBOB 2009 (bipop). Converged is when
///   the best values of the last 10 + 30 d / population generations differ by less than 1e-10 of
///   themselves, all deviations are below 1e-8, or the covariance's condition is above 1e14.
/// - `source`: Nomura et al., "Warm Starting CMA-ES for Hyperparameter Optimization", AAAI 2021.
///   Points of the user warm it too: they count in the first generation.
///
/// The order in a generation: trials that completed, by their last value; those the scheduler
/// stopped, by how far they came and then their value; values that are not finite; failed and
/// infeasible trials. Equal ones share their weights. A generation without a finite value changes
/// nothing. Running trials and those without a result are not looked at. Under a grid one
/// distribution serves all cells.
///
/// O(d^2) a suggestion, O(d^3) a generation, d numeric parameters; at most some 200 trials are
/// kept.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<Searcher> cma_es(const CmaEsOptions& options = {});

}  // namespace tune
