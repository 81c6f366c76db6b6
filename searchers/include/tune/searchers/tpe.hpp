#pragma once

#include <cstdint>
#include <memory>

#include <tune/searcher.hpp>

namespace tune {

/// The names are Optuna's and Hyperopt's where they have the option.
struct TpeOptions {
  std::int64_t n_startup_trials = 10;  ///< Drawn at random until so many have ended; at least 0.
  std::int64_t n_ei_candidates = 64;   ///< Compared for a suggestion; at least 1.
  double gamma = 0.15;                 ///< Share of the trials that are good; above 0, below 1.
  double prior_weight = 1;             ///< Of the uniform kernel; a trial has 1. Above 0.
  bool multivariate = true;            ///< Model parameters together; else each by itself.
  /// How many trials of the bad group have a kernel, spread evenly over their ranks; 0 is all. From
  /// some thousands on, 500 makes suggestions as good for a fraction of the time.
  std::int64_t max_kernels = 0;
};

/// Makes the tree-structured Parzen estimator.
///
/// Bergstra, Bardenet, Bengio and Kegl, "Algorithms for Hyper-Parameter Optimization", NeurIPS
/// 2011, section 4; Watanabe, "Tree-Structured Parzen Estimator: Understanding Its Algorithm
/// Components and Their Roles for Better Empirical Performance", 2023. The trials are split by
/// their losses into a good and a bad group; each becomes a mixture of kernels, one a trial; of the
/// candidates drawn from the good one that is suggested whose density is highest against the bad
/// one. Every domain is modelled where its values are equally likely; those with few values by the
/// integral of the kernel over each. A kernel is uniform in the parameters that its trial did not
/// have, so a tree of branches is one model; a name with the same domain in exclusive branches is
/// one parameter.
///
/// Rules. Good are the ceil(gamma n) best of n, at most 25. Trials that the scheduler stopped rank
/// after those that completed, by how far they came (in powers of 3) and then by loss. Failed and
/// infeasible ones, and those with NaN or infinity, are in the bad group; running ones too, so that
/// parallel suggestions differ.
///
/// Departures. Good kernels are weighted by the logarithm of their rank, and get narrower as trials
/// are added. The uniform kernel has the same share of both mixtures, or the search would scatter
/// as trials are added. In half of the suggestions in a space with branches (1/4 divided by the
/// number of choices where there are choices alone) the model is made of the trials of one option,
/// chosen by how many trials it had and how its best loss develops: plain TPE settles in the branch
/// that was good first.
///
/// O(n_ei_candidates * trials * parameters) a suggestion, with max_kernels in place of the trials.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<Searcher> tpe(const TpeOptions& options = {});

}  // namespace tune
