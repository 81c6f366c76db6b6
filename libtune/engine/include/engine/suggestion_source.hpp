#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tune/config.hpp>
#include <tune/ids.hpp>
#include <tune/objective.hpp>
#include <tune/result.hpp>
#include <tune/search_space.hpp>
#include <tune/searcher.hpp>

namespace tune::engine {

struct SuggestionOptions {
  std::optional<Objective> objective = {};  ///< The experiment's.
  std::uint64_t seed = 0;
  std::int64_t num_samples = 1;  ///< Multiplies the grid; -1: no end.
  std::vector<Json> points_to_evaluate = {};
  bool avoid_duplicates = true;
};

/// Turns a searcher's proposals into whole configurations: points of the user first, then the grid
/// axes × num_samples with the searcher's values, constants and `sample_from` filled in, duplicates
/// drawn again.
///
/// Each point takes one turn of its grid cell (the cell it names, else the next), so every cell has
/// num_samples turns in all, the points included. A cell whose free configurations are all used up
/// is passed over. Pure: the same calls give the same answers.
class SuggestionSource {
 public:
  /// @throws std::invalid_argument naming what cannot work: a domain that the searcher does not
  /// support, a point outside the space. The searcher is then left where it is.
  SuggestionSource(SearchSpace space, SuggestionOptions options,
                   std::unique_ptr<Searcher>&& searcher);
  ~SuggestionSource();

  /// Trials in all; empty if there is no end (num_samples -1).
  [[nodiscard]] std::optional<std::uint64_t> total() const;
  /// The configuration of the next trial. Ids come in ascending order; after Wait the same again.
  /// @throws std::runtime_error naming searcher, parameter and value if its answer does not fit the
  /// space, or naming the parameter whose sample_from function threw; whatever a searcher throws.
  /// `note`, if given, takes what the searcher has to say of a configuration.
  [[nodiscard]] Suggestion suggest(TrialId id, std::string* note = nullptr);
  /// What suggest() would answer, of a suggestion that is on record: what it was then has to be
  /// told by take_suggestion().
  [[nodiscard]] Suggestion ask_again(TrialId id);
  /// A suggestion of the past, in its turn: as if suggest() had given it, but nobody is asked.
  void take_suggestion(TrialId id, const Config& config);

  void on_trial_result(TrialId id, const Config& config, const Result& result);
  void on_trial_completed(TrialId id, const Config& config, const Result& last);
  void on_trial_failed(TrialId id, const Config& config, bool infeasible);

  [[nodiscard]] const Searcher& searcher() const;
  /// Everything that later suggestions depend on, the searcher's state included.
  [[nodiscard]] Json save() const;
  void restore(const Json& state);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tune::engine
