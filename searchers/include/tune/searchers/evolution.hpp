#pragma once

#include <cstdint>
#include <memory>

#include <tune/searcher.hpp>

namespace tune {

struct EvolutionOptions {
  /// The paper's P: so many of the newest trials can be parents. At least 2.
  std::int64_t population_size = 50;
  /// The paper's S: the best of so many of them, drawn at random, is the parent. At least 1, at
  /// most population_size.
  std::int64_t sample_size = 10;
  /// How many parameters a child has otherwise than its parent; at least 1.
  std::int64_t mutations = 1;
  /// Standard deviation of a changed number, in units of its range; above 0, at most 1.
  double mutation_scale = 0.2;
};

/// Makes regularised evolution, also known as ageing evolution.
///
/// Real et al., "Regularized Evolution for Image Classifier Architecture Search", AAAI 2019,
/// algorithm 1: the first population_size trials are drawn at random; after that each is a changed
/// copy of the best of sample_size members, and the oldest member leaves, however good it is.
///
/// A change takes one active parameter, all equally likely: another of its options, or a number
/// normally distributed around the parent's, mirrored at the bounds, that is not the parent's (the
/// paper has options alone). If it is the key of a branch, all below it is drawn anew; what both
/// have stays. Asked again after a duplicate it changes one parameter more.
///
/// Asynchronous: a trial enters the population when it ends, and it is never waited for; the random
/// phase lasts until population_size trials have been proposed, and longer while no trial has
/// ended. Order: trials that completed, by their last value; those the scheduler stopped, by how
/// far they came and then their value; values that are not finite. Failed and infeasible trials and
/// those without a result do not enter. Equal ones: the newer wins.
///
/// O(parameters + sample_size) a suggestion; population_size trials are kept.
/// @throws std::invalid_argument naming an option out of range.
[[nodiscard]] std::unique_ptr<Searcher> evolution(const EvolutionOptions& options = {});

}  // namespace tune
