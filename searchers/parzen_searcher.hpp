#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tune/searcher.hpp>

#include "searchers/branch_choice.hpp"
#include "searchers/encoded_space.hpp"
#include "searchers/observations.hpp"
#include "searchers/parzen.hpp"
#include "searchers/ranked_points.hpp"

namespace tune::searchers {

/// What TPE and BOHB have in common.
struct ParzenOptions {
  std::string name;          // part of the keys of all draws
  double good_share = 0.15;  // of the trials with a rank
  std::size_t most_good = 25;
  std::size_t candidates = 64;
  double prior_weight = 1;
  bool multivariate = true;
  std::size_t max_kernels = 0;  // of the bad group; 0: all
  std::int64_t reduction_factor = 3;
};

/// Suggests what is more likely among good trials than among the others.
class ParzenSearcher : public Searcher {
 public:
  explicit ParzenSearcher(ParzenOptions options) : rules_(std::move(options)) {}

  void setup(const SearcherSetup& setup) override;
  Suggestion suggest(const SuggestionRequest& request) override;
  void on_trial_added(TrialId id, const Config& config) override;
  void on_trial_result(TrialId id, const Config& config, const Result& result) override;
  void on_trial_completed(TrialId id, const Config& config, const Result& last) override;
  void on_trial_failed(TrialId id, const Config& config, bool infeasible) override;
  [[nodiscard]] Json save() const override;
  void restore(const Json& state) override;

 protected:
  /// Looks at the observations before a suggestion. True if ranks of trials that nothing was told
  /// of have changed, too.
  virtual bool look(const Observations& observations, const EncodedSpace& space) = 0;
  /// The rank of a trial that has ended or has a value that counts; none of those still open.
  [[nodiscard]] virtual std::optional<Rank> rank(const Observation& observation) const = 0;
  /// True if this one is to be drawn from the space, without a model.
  [[nodiscard]] virtual bool is_random(const Observations& observations, Random& random) const = 0;

 private:
  using Numbers = std::vector<std::size_t>;  // of observations

  using Allows = std::function<bool(const Point&)>;  // by the constraints of the space

  struct Groups {
    Numbers good;
    Numbers bad;
    std::vector<double> bad_weights;
    std::size_t ended = 0;  // how many of the bad ones have ended, thinned or not
  };

  void note(TrialId id);
  void rank_changed();
  [[nodiscard]] Point propose(const Point& fixed, const Allows& allows, Random& random) const;
  [[nodiscard]] Point sample_allowed(const Point& known, const Allows& allows,
                                     Random& random) const;
  [[nodiscard]] Groups split(const ForcedKeys& keys) const;
  [[nodiscard]] Point draw_together(const Point& known, const Groups& groups, const Allows& allows,
                                    Random& random) const;
  [[nodiscard]] Point draw_each(const Point& known, const Groups& groups, const Allows& allows,
                                Random& random) const;
  [[nodiscard]] double draw_alone(std::size_t c, const Groups& groups, Random& random) const;
  [[nodiscard]] double bad_prior(const Groups& groups) const;
  [[nodiscard]] Point draw_point(const ParzenMixture& good, const Point& known,
                                 Random& random) const;
  [[nodiscard]] double draw_place(const ParzenMixture& mixture, std::size_t kernel, std::size_t c,
                                  const ParzenColumn& column, Random& random) const;
  [[nodiscard]] Numbers thinned(Numbers numbers) const;
  [[nodiscard]] std::vector<double> gather(const Numbers& numbers) const;

  ParzenOptions rules_;
  std::uint64_t seed_ = 0;
  const SearchSpace* given_ = nullptr;
  bool is_constrained_ = false;
  EncodedSpace space_;
  ParzenColumns columns_;
  Observations observations_;
  std::optional<RankedPoints> points_;
  std::vector<std::size_t> changed_;  // numbers of observations
};

}  // namespace tune::searchers
